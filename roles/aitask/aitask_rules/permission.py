"""Whether the operator as a whole lets a wanted act be done: its mode, the namespace, the guard, and the ledger.

Each is looked at only by a pass that wants an act. What cannot be read permits nothing.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Protocol

from .config import Config, ConfigError, read_config
from .gates import guard_absent
from .model import Act, Hold, Wish
from .rails import OBSERVE, OFF
from .report import Pass
from .values import first, go_duration, mapping, one_line, parse_time, time_of_day


class Place(Protocol):
    """What the operator as a whole is asked about: a pass over a task, a backup or a restore, with what it has read."""

    @property
    def namespace(self) -> str: ...
    @property
    def operator_namespace(self) -> str: ...
    @property
    def require_guard(self) -> bool: ...
    @property
    def reads(self) -> Mapping[str, Any]: ...


def settings_of(reads: Mapping[str, Any]) -> Mapping[str, Any]:
    """The result of the task that read the operator's configuration, whichever did in this pass."""
    return mapping(reads.get("settings") or reads.get("configuration"))


def is_informed(here: Place) -> bool:
    """Whether this pass has read what `stopped` looks at."""
    settings = settings_of(here.reads)
    return bool(settings) and ("namespace" in here.reads or not asks_for_labels(settings))


def has_read_all(here: Place) -> bool:
    """Whether this pass has read what `keeps_off` looks at."""
    return is_informed(here) and ("guard" in here.reads or not here.require_guard)


def stopped(here: Place, *, mutates: bool) -> Hold | None:
    """Why nothing may be done at all, whatever it is. A file with a fault stops what changes something (`mutates`)."""
    try:
        config = read_config(settings_of(here.reads))
    except ConfigError as error:
        if not mutates:
            return None
        text = f"the configuration of the operator cannot be used: {one_line(error, 700)}"
        return Hold("OperatorOff", f"{text}; nothing is changed until that is mended")
    if config.rails.mode == OFF:
        return Hold("OperatorOff", "the operator is switched off (mode: Off in its configuration)")
    return _elsewhere(here, config)


def _elsewhere(here: Place, config: Config) -> Hold | None:
    home, labels = here.namespace, config.rails.labels
    if config.rails.excludes(home, here.operator_namespace):
        text = f"the operator does nothing in namespace {home} (excludedNamespaces in its configuration)"
        return Hold("NamespaceExcluded", text)
    if not labels:
        return None
    has = mapping(mapping(first(here.reads.get("namespace")).get("metadata")).get("labels"))
    missing = [f"{name}={value}" for name, value in labels.items() if has.get(name) != value]
    if not missing:
        return None
    text = f"the operator acts in namespaces with labels (allowedNamespaces), and {home} has no {', '.join(missing)}"
    return Hold("NamespaceExcluded", one_line(text, 700))


def asks_for_labels(configuration: Mapping[str, Any]) -> bool:
    """Whether the namespace of the task has to be read, by the result of the task that reads the configuration."""
    try:
        return bool(read_config(configuration).rails.labels)
    except ConfigError:
        return False


def only_observes(here: Place) -> Hold | None:
    """Why nothing is changed and what would be is only told; the message goes on after "would ..., but"."""
    settings = settings_of(here.reads)
    absent = guard_absent(settings, here.reads, here.require_guard)
    if absent:
        return Hold("GuardAbsent", absent)
    if read_config(settings).rails.mode == OBSERVE:
        return Hold("ObserveMode", "the operator only observes (mode: Observe in its configuration)")
    return None


def keeps_off(here: Place) -> Hold | None:
    """Why even what the task owns is left as it is, and nothing is saved or restored."""
    return stopped(here, mutates=True) or only_observes(here)


def question(here: Pass, wish: Wish, act: Act) -> dict[str, Any]:
    """What the ledger is asked, as the options of its module."""
    rails, scale = read_config(settings_of(here.reads)).rails, here.time_scale
    return {
        "act": act.id,
        "task": f"{here.task.namespace}/{here.task.name}",
        "seconds": here.act_seconds,
        "hour": wish.hour,
        "concurrent": rails.concurrent,
        "hourly": rails.hourly,
        "hourly_in_namespace": rails.most_in_namespace,
        "storm_percent": rails.storm_percent,
        "storm_tasks": rails.storm_tasks,
        "storm_seconds": rails.storm_seconds * scale,
        "check_seconds": 10 * scale,
    }


def answered(here: Pass, answer: Mapping[str, Any]) -> Hold | None:
    """Why the ledger does not admit the act; None if it does. `answer` is the result of its module."""
    if answer.get("admitted") is True:
        return None
    until = parse_time(answer.get("until"))
    if until is None or answer.get("reason") not in ("GlobalLimit", "Storm"):
        return Hold("GlobalLimit", _unusable(here, answer))
    text = f"{one_line(answer.get('message'), 400)}, not before {time_of_day(until)}"
    return Hold(str(answer["reason"]), text, until)


def _unusable(here: Pass, answer: Mapping[str, Any]) -> str:
    where = f"-n {here.operator_namespace}"
    status, said = answer.get("status"), one_line(answer.get("msg") or "it gives no answer", 300)
    if status == 404:
        cure = f"it is not there; bring it back: kubectl {where} create configmap {here.ledger}"
    elif status == 403:
        cure = "the operator may not read or write it; install its Role (config/rbac/ledger_role.yaml)"
    elif status == 0:
        patch = """--type=merge -p '{"data":null}'"""
        cure = f"{said}; mend it, or empty it: kubectl {where} patch configmap {here.ledger} {patch}"
    else:
        cure = said
    return f"the ledger of acts (ConfigMap {here.ledger}) cannot be used, so nothing is changed: {cure}"


def soon(here: Pass) -> str:
    """1 to 5 seconds, another time for each task and each pass: who met at the ledger does not meet there again."""
    digest = sha256(f"{here.task.uid}|{here.task.resource_version}|{here.now}".encode()).hexdigest()
    return go_duration((1 + 4 * int(digest[:8], 16) / 0xFFFFFFFF) * here.time_scale)
