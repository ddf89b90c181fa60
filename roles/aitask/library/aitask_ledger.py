#!/usr/bin/python
"""Asks the ledger of acts whether one more may be done, and writes it down before it is.

The ledger is one ConfigMap for all tasks of an operator: `{acts: [{id, task, until}], stormUntil, storms, checkedAt}`
as JSON. An act takes a place until `until`, so that a crash frees it, and counts for the hour that begins there: when
it is done is not known, but not later. A write is guarded by the resourceVersion; what was not written is not admitted.
All in one file, for a role's module_utils would make every module of every run slow.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

DOCUMENTATION = r"""
module: aitask_ledger
short_description: Ask whether one more act may be done
description:
  - Admits an act and writes it into the ledger, or says what holds it. In check mode nothing is written.
  - What cannot be read, understood or written fails. All durations are in seconds.
options:
  name: {type: str, default: aitask-ledger, description: Name of the ConfigMap.}
  namespace: {type: str, required: true, description: Its namespace.}
  watched: {type: list, elements: str, default: [], description: Namespaces whose tasks are counted; none is all.}
  act: {type: str, required: true, description: Identity of the act; the same one is admitted again.}
  task: {type: str, required: true, description: "Namespace and name of the task, with a slash between."}
  now: {type: str, required: true, description: "The present time, RFC 3339."}
  seconds: {type: float, default: 60, description: How long an act takes a place.}
  hour: {type: float, default: 3600, description: What the hourly limits count.}
  concurrent: {type: int, default: 3, description: Places.}
  hourly: {type: int, default: 30, description: Acts in an hour.}
  hourly_in_namespace: {type: int, description: Acts in an hour in the namespace of the task; no limit if left out.}
  storm_percent: {type: int, default: 30, description: It is a storm if more than this share of all tasks is breached.}
  storm_tasks: {type: int, default: 5, description: Fewer breached tasks are no storm.}
  storm_seconds: {type: float, default: 600, description: "How long a storm holds acts, after it was seen last."}
  check_seconds: {type: float, default: 10, description: How old the count of breached tasks may be.}
extends_documentation_fragment: [kubernetes.core.k8s_auth_options]
author: [The aitask-operator authors]
"""
EXAMPLES = r"""
- name: Ask
  aitask_ledger:
    namespace: aitask-operator-system
    act: 1f0c6d52a0b94e37
    task: shop/web-busy
    now: "2026-01-31T10:00:00Z"
"""
RETURN = r"""
admitted: {returned: success, type: bool, description: Whether the act may be done now.}
conflict: {returned: success, type: bool, description: Whether somebody else wrote the ledger meanwhile; ask again.}
reason: {returned: success, type: str, description: "GlobalLimit or Storm, if the act is held."}
message: {returned: success, type: str, description: "What holds it, with the numbers."}
until: {returned: success, type: str, description: "When it may be asked again, RFC 3339."}
"""

KEY = "ledger.json"
_LONGEST = 512 * 1024
_PAGE = 500
_IN_NAMESPACE = "maxActionsPerNamespacePerHour"
_FIELDS = {"acts", "stormUntil", "storms", "checkedAt", "breached", "tasks"}
_OPTIONS: dict[str, dict[str, Any]] = {
    "name": {"type": "str", "default": "aitask-ledger"},
    "namespace": {"type": "str", "required": True},
    "watched": {"type": "list", "elements": "str", "default": []},
    **{name: {"type": "str", "required": True} for name in ("act", "task", "now")},
    "seconds": {"type": "float", "default": 60},
    "hour": {"type": "float", "default": 3600},
    "concurrent": {"type": "int", "default": 3},
    "hourly": {"type": "int", "default": 30},
    "hourly_in_namespace": {"type": "int"},
    "storm_percent": {"type": "int", "default": 30},
    "storm_tasks": {"type": "int", "default": 5},
    "storm_seconds": {"type": "float", "default": 600},
    "check_seconds": {"type": "float", "default": 10},
}


class LedgerError(ValueError):
    """The ledger cannot be used; the message names the field and the cure."""


@dataclass(frozen=True)
class Entry:
    """One act that was admitted."""

    id: str
    task: str
    until: datetime


@dataclass(frozen=True)
class Ledger:
    """What is written down. A storm is everywhere (`storm_until`), or in single namespaces."""

    acts: tuple[Entry, ...] = ()
    storm_until: datetime | None = None
    storms: tuple[tuple[str, datetime], ...] = ()
    checked_at: datetime | None = None
    breached: int = 0
    tasks: int = 0


@dataclass(frozen=True)
class Answer:
    """Whether the act may be done, and the ledger to be written before; `until` is when what holds it ends."""

    ledger: Ledger | None
    admitted: bool = True
    reason: str = ""
    message: str = ""
    until: datetime | None = None


Asked = Mapping[str, Any]
Count = Callable[[], tuple[Mapping[str, int], int]]
"""Breached tasks by namespace, and the number of all tasks."""


def parse_ledger(data: Any, asked: Asked, now: datetime) -> Ledger:
    """From `data` of the ConfigMap; none at all is a ledger without entries. Raises LedgerError."""
    if not data:
        return Ledger()
    text = data.get(KEY)
    if text is None:
        raise LedgerError(f"it has no key {KEY}")
    if len(text) > _LONGEST:
        raise LedgerError(f"{KEY} is longer than {_LONGEST} characters")
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raise LedgerError(f"{KEY} is no JSON") from None
    if not isinstance(raw, dict) or not raw.keys() <= _FIELDS:
        raise LedgerError(f"{KEY} must be a mapping with no other fields than {', '.join(sorted(_FIELDS))}")
    acts, storms = raw.get("acts", []), raw.get("storms", {})
    if not isinstance(acts, list) or not isinstance(storms, dict):
        raise LedgerError("acts must be a list, and storms a mapping of namespaces to times")
    storm = timedelta(seconds=asked["storm_seconds"])
    return Ledger(
        tuple(_entry(entry, number, now + timedelta(seconds=asked["seconds"])) for number, entry in enumerate(acts)),
        _time(raw["stormUntil"], "stormUntil", now + storm) if raw.get("stormUntil") is not None else None,
        tuple((name, _time(time, f"storms.{name[:63]}", now + storm)) for name, time in sorted(storms.items())),
        _time(raw["checkedAt"], "checkedAt", None) if raw.get("checkedAt") is not None else None,
        *(_number(raw.get(name, 0), name) for name in ("breached", "tasks")),
    )


def _entry(raw: Any, number: int, latest: datetime) -> Entry:
    good = isinstance(raw, dict) and raw.keys() == {"id", "task", "until"}
    if not good or not all(isinstance(raw[name], str) and 0 < len(raw[name]) <= 400 for name in raw):
        raise LedgerError(f"acts[{number}] must have id, task and until, each a text, and nothing else")
    return Entry(raw["id"], raw["task"], _time(raw["until"], f"acts[{number}].until", latest))


def _number(raw: Any, name: str) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0:
        return raw
    raise LedgerError(f"{name} must be a whole number, at least 0")


def _time(raw: Any, name: str, latest: datetime | None) -> datetime:
    """A time that lies further ahead than any that is written (the clock was set back) counts as the latest such."""
    try:
        moment = datetime.fromisoformat(raw)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise LedgerError(f"{name} must be a time, as in 2026-01-31T10:00:00Z") from None
    return moment if latest is None else min(moment, latest)


def render_ledger(ledger: Ledger) -> str:
    """The text below KEY."""
    whole = {
        "acts": [{"id": entry.id, "task": entry.task, "until": stamp(entry.until)} for entry in ledger.acts],
        "stormUntil": stamp(ledger.storm_until) if ledger.storm_until else None,
        "storms": {name: stamp(until) for name, until in ledger.storms},
        "checkedAt": stamp(ledger.checked_at) if ledger.checked_at else None,
        "breached": ledger.breached,
        "tasks": ledger.tasks,
    }
    return json.dumps(whole)


def stamp(moment: datetime) -> str:
    """Rounded up to the second: a place is not freed before its time."""
    full = moment.replace(microsecond=0)
    return (full if full == moment else full + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def decide(ledger: Ledger, asked: Asked, now: datetime, count: Count) -> Answer:
    """`count` is asked only if the last count is too old, or lies ahead."""
    ledger = _current(ledger, asked, now)
    if any(entry.id == asked["act"] and entry.until > now for entry in ledger.acts):
        return Answer(None)  # stands there already
    age = None if ledger.checked_at is None else (now - ledger.checked_at).total_seconds()
    if age is None or not 0 <= age <= asked["check_seconds"]:
        ledger = _counted(ledger, asked, now, *count())
    held = _storm(ledger, asked) or _limit(ledger, asked, now)
    if held is not None:
        return held
    entry = Entry(asked["act"], asked["task"], now + timedelta(seconds=asked["seconds"]))
    # The same act whose time was over was never done: it counts from now.
    others = tuple(other for other in ledger.acts if other.id != entry.id)
    return Answer(replace(ledger, acts=(*others, entry)))


def _current(ledger: Ledger, asked: Asked, now: datetime) -> Ledger:
    """Without what has expired."""
    begin = now - timedelta(seconds=asked["hour"])
    return replace(
        ledger,
        acts=tuple(entry for entry in ledger.acts if entry.until > begin),
        storm_until=ledger.storm_until if ledger.storm_until and ledger.storm_until > now else None,
        storms=tuple((name, until) for name, until in ledger.storms if until > now),
    )


def _counted(ledger: Ledger, asked: Asked, now: datetime, breached: Mapping[str, int], tasks: int) -> Ledger:
    until = now + timedelta(seconds=asked["storm_seconds"])
    everywhere, places = find_storms(breached, tasks, asked["storm_percent"], asked["storm_tasks"])
    return replace(
        ledger,
        checked_at=now,
        breached=sum(breached.values()),
        tasks=tasks,
        storm_until=until if everywhere else ledger.storm_until,
        storms=tuple(sorted({**dict(ledger.storms), **dict.fromkeys(places, until)}.items())),
    )


def find_storms(breached: Mapping[str, int], tasks: int, percent: int, least: int) -> tuple[bool, list[str]]:
    """Whether there is a storm everywhere, and the namespaces that have one of their own: one with more than half of
    all breached tasks is its own trouble, and the others are judged without it."""
    rest, places = Counter(dict(breached)), list[str]()
    while (number := sum(rest.values())) >= max(least, 1) and number * 100 > percent * tasks:
        name, most = max(rest.items(), key=lambda item: (item[1], item[0]))
        if most * 2 <= number:
            return True, places
        places.append(name)
        del rest[name]
    return False, places


def _storm(ledger: Ledger, asked: Asked) -> Answer | None:
    home = asked["task"].partition("/")[0]
    local = dict(ledger.storms).get(home)
    until = max((time for time in (ledger.storm_until, local) if time is not None), default=None)
    if until is None:
        return None
    where = "" if ledger.storm_until else f" in namespace {home}"
    text = f"storm{where}: {ledger.breached} of {ledger.tasks} tasks were breached when last counted"
    return Answer(ledger, False, "Storm", text, until)


def _limit(ledger: Ledger, asked: Asked, now: datetime) -> Answer | None:
    home = asked["task"].partition("/")[0]
    acts = [entry for entry in ledger.acts if entry.id != asked["act"]]
    near = [entry for entry in acts if entry.task.partition("/")[0] == home]
    for entries, limit, later, text in (
        ([e for e in acts if e.until > now], asked["concurrent"], 0.0, "acts are under way, maxConcurrentActions"),
        (acts, asked["hourly"], asked["hour"], "acts in the last hour, the operator's maxActionsPerHour"),
        (near, asked["hourly_in_namespace"], asked["hour"], f"acts in {home} in the last hour, {_IN_NAMESPACE}"),
    ):
        if limit is not None and len(entries) >= limit:
            ends = sorted(entry.until for entry in entries)[len(entries) - limit] + timedelta(seconds=later)
            return Answer(ledger, False, "GlobalLimit", f"{len(entries)} {text} is {limit}", ends)
    return None


class Cluster:
    """What is asked of the API server."""

    def __init__(self, module: Any) -> None:
        from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client

        self._client = get_api_client(module)
        self._asked = module.params

    def read(self) -> dict[str, Any]:
        """The ConfigMap."""
        where = {"name": self._asked["name"], "namespace": self._asked["namespace"]}
        found: dict[str, Any] = self._client.get(self._client.resource("ConfigMap", "v1"), **where).to_dict()
        return found

    def write(self, ledger: dict[str, Any]) -> bool:
        """Put it; False if somebody else has since it was read."""
        from kubernetes.dynamic.exceptions import ConflictError

        try:
            self._client.replace(self._client.resource("ConfigMap", "v1"), ledger, namespace=self._asked["namespace"])
        except ConflictError:
            return False
        return True

    def count(self) -> tuple[Mapping[str, int], int]:
        """See Count."""
        places = self._asked["watched"] or [None]
        breached = Counter(_home(task) for place in places for task in self._breached(place) if _is_counted(task))
        return breached, sum(self._number(place) for place in places)

    def _number(self, namespace: str | None) -> int:
        """Of one object the server says how many are behind it."""
        page = self._page(namespace, limit=1)
        meta = page["metadata"]
        return len(page["items"]) + int(meta["remainingItemCount"] if meta.get("continue") else 0)

    def _breached(self, namespace: str | None) -> Iterable[dict[str, Any]]:
        from kubernetes.dynamic.exceptions import BadRequestError

        try:
            yield from self._pages(namespace, field_selector="status.breached=true")
        except BadRequestError:  # before Kubernetes 1.31 nothing is selected by a field of a custom resource
            yield from (task for task in self._pages(namespace) if (task.get("status") or {}).get("breached") is True)

    def _pages(self, namespace: str | None, **query: Any) -> Iterable[dict[str, Any]]:
        position = None
        while True:
            page = self._page(namespace, limit=_PAGE, _continue=position, **query)
            yield from page["items"]
            position = page["metadata"].get("continue")
            if not position:
                return

    def _page(self, namespace: str | None, **query: Any) -> dict[str, Any]:
        resource = self._client.resource("AITask", "aiops.example.com/v1")
        page: dict[str, Any] = self._client.get(resource, namespace=namespace, **query).to_dict()
        return page


def _home(task: Mapping[str, Any]) -> str:
    return str(task["metadata"]["namespace"])


def _is_counted(task: Mapping[str, Any]) -> bool:
    """Those that rest, rehearse, or only tell something do no harm."""
    spec = task.get("spec") or {}
    actions = [spec.get("action")]
    if str(actions[0]).replace("-", "").replace("_", "").lower() == "diagnose":
        diagnose = spec.get("diagnose") or {}
        actions = [diagnose.get("fallbackAction") or "notify", *(diagnose.get("allowedActions") or [])]
    rests = spec.get("suspend") or spec.get("dryRun")
    return not rests and any(str(action).lower() not in ("notify", "none") for action in actions)


def main() -> None:
    from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
    from ansible_collections.kubernetes.core.plugins.module_utils.k8s.core import AnsibleK8SModule

    module = AnsibleK8SModule(argument_spec={**_OPTIONS, **AUTH_ARG_SPEC}, supports_check_mode=True)
    try:
        result = ask(Cluster(module), module.params, module.check_mode)
    except LedgerError as error:
        module.fail_json(msg=str(error), status=0)
    except Exception as error:  # the client's errors, which carry the server's words
        module.fail_json(msg=str(error), status=getattr(error, "status", None) or 500)
    module.exit_json(**result)


def ask(cluster: Any, asked: Asked, check_mode: bool = False) -> dict[str, Any]:
    """The result of the module. What holds an act is said also where somebody else has just written."""
    now, begin = _time(asked["now"], "now", None), monotonic()
    found = cluster.read()
    answer = decide(parse_ledger(found.get("data"), asked, now), asked, now, cluster.count)
    data = found.get("data") if answer.ledger is None else {KEY: render_ledger(answer.ledger)}
    changed = data != found.get("data")
    written = not changed or check_mode or cluster.write({**found, "data": data})
    # Who stood still since its clock was read would act when its place is free again.
    written = written and monotonic() - begin <= asked["seconds"] / 2
    return {
        "changed": changed and written,
        "admitted": answer.admitted and written,
        "conflict": answer.admitted and not written,
        "reason": answer.reason,
        "message": answer.message,
        "until": stamp(answer.until) if answer.until else "",
    }


if __name__ == "__main__":
    main()
