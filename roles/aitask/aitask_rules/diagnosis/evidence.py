"""The evidence: what the cluster says about the target, as short sentences, bounded, without a name or a secret.

Taken are, in this order: the metric, the Deployment (conditions, numbers, the acts of the task), its pods and how their
containers ended, what they ask for, the revisions, the newest events, and, where the task asks for logs, their last
lines and what containers said as they ended. Never taken are Secrets, ConfigMaps, environment, commands, annotations
and labels. Times are left out and numbers that move are told roughly, so that the same trouble gives the same evidence.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ..model import SYMBOLS, UTILISATION
from ..rollback import own_revisions, revision_of
from ..values import first, items, mapping, parse_quantity, whole
from .pods import about, name_of, own_pods, pod_lines, statuses_of
from .redact import Redactor
from .settings import Facts
from .text import clipped

MAX_BYTES = 8192
"""Of all items together, in UTF-8."""
MAX_ITEMS = 80
_LONGEST = 300
_UNREAD = 4000
"""More of one text is not even looked at."""
_EVENTS = 10
_LOG_LINES = 50


def redactor_for(facts: Facts) -> Redactor:
    """It knows the names of what was read. The uid of the task is in no evidence, and nobody can guess it."""
    return Redactor(facts.task.uid, dict(_names(facts)))


def collect(facts: Facts, redactor: Redactor) -> tuple[str, ...]:
    """`e1 …`, `e2 …`: redacted, each on one line. What does not fit is left out from the end; of logs, the oldest."""
    lines = [_line(text, redactor) for text in _sentences(facts)]
    kept = _fitting(list(dict.fromkeys(lines)), MAX_BYTES)
    room = MAX_BYTES - sum(map(_size, kept))
    kept += reversed(_fitting(_logs(facts, redactor)[::-1], room, MAX_ITEMS - len(kept)))
    return tuple(f"e{number} {text}" for number, text in enumerate(kept, 1))


def _line(text: str, redactor: Redactor) -> str:
    return clipped(" ".join(redactor.redact(clipped(text, _UNREAD)).split()), _LONGEST)


def _size(line: str) -> int:
    return len(line.encode()) + len("e99 ") + 1


def _fitting(lines: Sequence[str], room: int, most: int = MAX_ITEMS) -> list[str]:
    kept: list[str] = []
    for line in lines[: max(most, 0)]:
        room -= _size(line)
        if room < 0:
            break
        kept.append(line)
    return kept


def _sentences(facts: Facts) -> Iterator[str]:
    deployment = first(facts.reads.get("deployment"))
    yield _metric(facts)
    yield from _deployment(deployment)
    yield from _acts(facts)
    yield from pod_lines(_pods(facts), with_logs=_asks_for_logs(facts))
    yield from _resources(facts)
    yield from _revisions(facts)
    yield from _events(facts)


def _asks_for_logs(facts: Facts) -> bool:
    return facts.spec.diagnose is not None and facts.spec.diagnose.include_logs


def _metric(facts: Facts) -> str:
    spec = facts.spec
    value = _rough(facts.state.observed_value)
    limit = f"breached is {SYMBOLS[spec.comparison]} {spec.threshold}"
    unit = " percent of the requests" if spec.metric in UTILISATION else ""
    where = f" of container {spec.container}" if spec.container else ""
    return f"metric {spec.metric}{where} is {f'about {value}{unit}' if value else 'unknown'}; {limit}"


def _rough(value: str) -> str:
    """One digit that counts, as a load moves by some percent from sample to sample; empty if there is no value."""
    number = parse_quantity(value)
    return "" if number is None else f"{float(f'{float(number):.1g}'):g}"


def _deployment(raw: Mapping[str, Any]) -> Iterator[str]:
    spec, status = mapping(raw.get("spec")), mapping(raw.get("status"))
    wanted = 1 if spec.get("replicas") is None else whole(spec.get("replicas"))
    counts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    told = ", ".join(f"{name.removesuffix('Replicas')} {whole(status.get(name))}" for name in counts)
    paused = "; its rollout is paused" if spec.get("paused") is True else ""
    yield f"deployment {name_of(raw)} wants {wanted} replicas: {told}{paused}"
    conditions = [mapping(entry) for entry in items(status.get("conditions"))]
    for entry in sorted(conditions, key=lambda entry: str(entry.get("type"))):
        yield f"condition {entry.get('type')} is {entry.get('status')}, {entry.get('reason')}: {entry.get('message')}"


def _acts(facts: Facts) -> Iterator[str]:
    last = facts.state.last_action
    if last.get("type") and last.get("result") in ("Succeeded", "Failed"):
        yield f"the last act of this task, {last['type']} from {last.get('from')} to {last.get('to')}: {last['result']}"
    if facts.state.ineffective:
        yield f"acts in a row without effect: {facts.state.ineffective}"


def _pods(facts: Facts) -> list[Mapping[str, Any]]:
    return own_pods(facts.reads.get("pods"), facts.target)


def _resources(facts: Facts) -> Iterator[str]:
    for container in facts.target.containers:
        resources = mapping(container.get("resources"))
        told = [
            f"{kind} {resource} {mapping(resources.get(kind))[resource]}"
            for kind in ("requests", "limits") for resource in sorted(mapping(resources.get(kind)))
        ]  # fmt: skip
        told = told or ["no requests and no limits"]
        yield f"container {container.get('name')} of image {container.get('image')}: {', '.join(told)}"


def _revisions(facts: Facts) -> Iterator[str]:
    for found in _sets(facts):
        revision = revision_of(found)
        images = ", ".join(f"{entry.get('name')} {entry.get('image')}" for entry in _containers(found))
        current = " (current)" if str(revision) == facts.target.revision else ""
        yield f"revision {revision}{current} has images: {images}"


def _containers(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Of the pod template of a ReplicaSet."""
    template = mapping(mapping(found.get("spec")).get("template"))
    return [mapping(entry) for entry in items(mapping(template.get("spec")).get("containers"))]


def _events(facts: Facts) -> Iterator[str]:
    """The last ten different ones about the Deployment and what it made; the task's own are no evidence."""
    listed = [mapping(entry) for entry in items(mapping(facts.reads.get("events")).get("resources"))]
    about_us = [event for event in listed if _is_about(facts, mapping(event.get("involvedObject")))]
    newest = sorted(about_us, key=_latest, reverse=True)[: 5 * _EVENTS]
    told = sorted(newest, key=_identity)
    groups = [(key, sum(map(_times, group))) for key, group in groupby(told, key=_identity)]
    order = list(dict.fromkeys(_identity(event) for event in newest))[:_EVENTS]
    for key, times in sorted(entry for entry in groups if entry[0] in order):
        kind, name, reason, level, message = key
        yield f"event {level} {reason} on {kind.lower()} {name}, times: {about(times)}: {message}"


def _identity(event: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    who = mapping(event.get("involvedObject"))
    level = "warning" if event.get("type") == "Warning" else "normal"
    message = clipped(str(event.get("message", "")), _UNREAD)
    return str(who.get("kind")), str(who.get("name")), str(event.get("reason")), level, message


def _is_about(facts: Facts, who: Mapping[str, Any]) -> bool:
    name, kind = str(who.get("name", "")), who.get("kind")
    if kind == "Deployment":
        return name == facts.target.name
    sets = {name_of(found) for found in _sets(facts)}
    if kind == "ReplicaSet":
        return name in sets
    pods = {name_of(pod) for pod in _pods(facts)}
    return kind == "Pod" and (name in pods or name.rpartition("-")[0] in sets)


def _sets(facts: Facts) -> list[Mapping[str, Any]]:
    return own_revisions(items(mapping(facts.reads.get("history")).get("resources")), facts.target.uid)


def _latest(event: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    series = mapping(event.get("series")).get("lastObservedTime")
    times = (series, event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp"))
    return str(next((time for time in times if time), "")), _identity(event)


def _times(event: Mapping[str, Any]) -> int:
    return max(whole(event.get("count")), whole(mapping(event.get("series")).get("count")), 1)


def _logs(facts: Facts, redactor: Redactor) -> list[str]:
    """Redacted as a whole, for a key may take many lines; each line once."""
    text = mapping(facts.reads.get("logs")).get("log")
    lines = text.splitlines()[-_LOG_LINES:] if isinstance(text, str) else []
    whole_text = redactor.redact("\n".join(clipped(line, _UNREAD // 4) for line in lines))
    told = (" ".join(line.split()) for line in whole_text.splitlines())
    return [clipped(f"log: {line}", _LONGEST) for line in dict.fromkeys(told) if line]


def _names(facts: Facts) -> Iterator[tuple[str, str]]:
    """Name to kind. Container names come back in an answer, so none may be hidden by another kind."""
    pods = _pods(facts)
    for event in items(mapping(facts.reads.get("events")).get("resources")):
        who = mapping(mapping(event).get("involvedObject"))
        if who.get("kind") == "Pod" and _is_about(facts, who):
            yield str(who.get("name")), "pod"
    for pod in pods:
        status = mapping(pod.get("status"))
        yield str(mapping(pod.get("spec")).get("nodeName") or ""), "node"
        yield from ((str(status.get(field) or ""), "ip") for field in ("podIP", "hostIP"))
        yield name_of(pod), "pod"
        yield from ((str(entry.get("image") or ""), "image") for entry in statuses_of(pod))
        yield from ((str(entry.get("name") or ""), "container") for entry in statuses_of(pod))
    yield from ((str(entry.get("image") or ""), "image") for entry in facts.target.containers)
    for found in _sets(facts):
        yield name_of(found), "replicaset"
        yield from ((str(entry.get("image") or ""), "image") for entry in _containers(found))
    yield from ((facts.task.name, "task"), (facts.target.namespace, "namespace"), (facts.target.name, "deployment"))
    yield from ((str(entry.get("name")), "container") for entry in facts.target.containers)
