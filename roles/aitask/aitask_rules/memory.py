"""The status of the CR, read as `State` and written back.

Only what the CRD declares is written (the rest would be pruned silently), and only keys of this role: the conditions of
the runtime and fields of other writers stay as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from .model import Condition, State, Target, Verdict
from .values import format_time, items, mapping, parse_time, whole

TOP = (
    "phase", "lastExecutionTime", "observedGeneration", "observedValue", "breached", "breaches", "ineffectiveActions",
    "nextActionTime", "replicas", "selector", "target", "state", "proposal", "diagnosis", "usage", "lastAction",
    "history", "conditions",
)  # fmt: skip
OWN_CONDITIONS = (
    "Ready", "Suspended", "TargetFound", "MetricsAvailable", "ThresholdBreached", "ActionPermitted",
    "DiagnosisSucceeded", "TemplateApplied",
)  # fmt: skip
JUDGED_ANEW = ("ApprovalExpired", "GlobalLimit", "Storm")
"""Holds whose time is no cooldown of this task: each pass judges them anew."""
_TEMPLATES = 10
_MESSAGE = 1024


def parse_state(status: Mapping[str, Any], now: datetime) -> State:
    """A stored time in the future (the clock was set back) counts as now, so that nothing waits longer than it says."""

    def past(value: Any) -> datetime | None:
        moment = parse_time(value)
        return None if moment is None else min(moment, now)

    kept, verdict = mapping(status.get("state")), mapping(mapping(status.get("state")).get("verdictPending"))
    acts = sorted(moment for entry in items(kept.get("actTimes")) if (moment := past(entry)) is not None)
    return State(
        observed_generation=whole(status.get("observedGeneration")),
        last_execution=past(status.get("lastExecutionTime")),
        observed_value=str(status.get("observedValue") or ""),
        breached=status.get("breached") is True,
        breaches=whole(status.get("breaches")),
        ineffective=whole(status.get("ineffectiveActions")),
        next_action=_promised(status, now),
        held_by=str(condition_of(status, "ActionPermitted").get("reason", "")),
        target_uid=str(mapping(status.get("target")).get("uid") or ""),
        sample_time=past(kept.get("sampleTime")),
        healthy_since=past(kept.get("healthySince")),
        missing=whole(kept.get("missingSamples")),
        retries=whole(kept.get("retries")),
        act_times=tuple(acts),
        verdict=Verdict(str(verdict["id"]), whole(verdict.get("samples"))) if verdict.get("id") else None,
        rolled_back_from=tuple(str(entry) for entry in items(kept.get("rolledBackFrom"))),
        gitops_warned=kept.get("gitopsWarned") is True,
        told=str(kept.get("told") or ""),
        proposal=mapping(status.get("proposal")),
        diagnosis=mapping(status.get("diagnosis")),
        usage=mapping(status.get("usage")),
        last_action=mapping(status.get("lastAction")),
        history=tuple(mapping(entry) for entry in items(status.get("history"))),
    )


def _promised(status: Mapping[str, Any], now: datetime) -> datetime | None:
    """What the status promises of the next act. A time of JUDGED_ANEW is only shown: kept here, it would hold the task
    by itself as soon as another condition stands in the place of the one that gave it."""
    if _was_later(status, now) or condition_of(status, "ActionPermitted").get("reason") in JUDGED_ANEW:
        return None
    return parse_time(status.get("nextActionTime"))


def _was_later(status: Mapping[str, Any], now: datetime) -> bool:
    """The clock was set back since this was written: what it promises may lie anywhere."""
    written = parse_time(status.get("lastExecutionTime"))
    return written is not None and written > now


def condition_of(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The condition of this type in a status; empty if there is none."""
    conditions = (mapping(entry) for entry in items(status.get("conditions")))
    return next((entry for entry in conditions if entry.get("type") == kind), {})


def render_status(
    history_limit: int,
    state: State,
    target: Target | None,
    phase: str,
    old: Mapping[str, Any],
    conditions: Sequence[Any],
) -> dict[str, Any]:
    """The whole status of this role. Without a target the one last seen stays: it says whom the last act hit."""
    rendered: dict[str, Any] = {
        "phase": phase,
        "lastExecutionTime": _moment(state.last_execution),
        "observedGeneration": state.observed_generation,
        "observedValue": state.observed_value or None,
        "breached": state.breached,
        "breaches": state.breaches,
        "ineffectiveActions": state.ineffective,
        "nextActionTime": _moment(state.next_action),
        "replicas": target.actual_replicas if target else old.get("replicas"),
        "selector": target.selector[:1024] if target else old.get("selector"),
        "target": _target(target) if target else old.get("target"),
        "state": {
            **{key: value for key, value in mapping(old.get("state")).items() if key not in _STATE},
            "sampleTime": _moment(state.sample_time),
            "healthySince": _moment(state.healthy_since),
            "missingSamples": state.missing,
            "retries": state.retries,
            "actTimes": [format_time(moment) for moment in state.act_times],
            "verdictPending": {"id": state.verdict.id, "samples": state.verdict.samples} if state.verdict else None,
            "rolledBackFrom": list(state.rolled_back_from[-_TEMPLATES:]) or None,
            "gitopsWarned": state.gitops_warned or None,
            "told": state.told or None,
        },
        "proposal": dict(state.proposal) or None,
        "diagnosis": dict(state.diagnosis) or None,
        "usage": dict(state.usage) or None,
        "lastAction": dict(state.last_action) or None,
        "history": [dict(entry) for entry in state.history[:history_limit]],
        "conditions": list(conditions),
    }
    status: dict[str, Any] = _without_none(rendered)
    return status


_STATE = (
    "sampleTime", "healthySince", "missingSamples", "retries", "actTimes", "verdictPending", "rolledBackFrom",
    "gitopsWarned", "told",
)  # fmt: skip


def _target(target: Target) -> dict[str, Any]:
    return {
        "uid": target.uid,
        "generation": target.generation,
        "revision": target.revision or None,
        "replicas": target.replicas,
        "owned": target.owned,
    }


def merge_conditions(
    old: Iterable[Any], new: Iterable[Condition], generation: int, now: datetime
) -> list[dict[str, Any]]:
    """By type, in their old order, others untouched; lastTransitionTime moves only with status."""
    merged = {str(mapping(entry).get("type")): dict(mapping(entry)) for entry in old}
    for condition in new:
        before = merged.get(condition.type, {})
        kept = before.get("lastTransitionTime") if before.get("status") == condition.status else None
        merged[condition.type] = {
            "type": condition.type,
            "status": condition.status,
            "observedGeneration": generation,
            "lastTransitionTime": kept or format_time(now),
            "reason": condition.reason,
            "message": condition.message[:_MESSAGE],
        }
    return list(merged.values())


def status_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON merge patch from old to new, empty if nothing differs. It repeats all of `new`, so that it is right on top
    of an older status as well."""
    known = {key: old[key] for key in TOP if key in old}
    gone = _gone(known, new)
    if _plain(known) == _plain(new):
        return {}
    patch = _join(dict(new), gone)
    # k8s_status merges them by type; repeating those of others could undo what these have said since.
    patch["conditions"] = [entry for entry in new["conditions"] if entry["type"] in OWN_CONDITIONS]
    return patch


def _plain(value: Any) -> Any:
    """Without empty objects: one whose fields were all removed means the same as none."""
    if isinstance(value, Mapping):
        plain = {key: _plain(inner) for key, inner in value.items()}
        return {key: inner for key, inner in plain.items() if inner != {}}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _gone(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Nulls for what is to be removed. An object is emptied field by field: operator_sdk.util from Galaxy fails on a
    null in the place of an object."""
    gone: dict[str, Any] = {}
    for key, value in old.items():
        if isinstance(value, Mapping):
            inner = _gone(value, mapping(new.get(key)))
            if inner:
                gone[key] = inner
        elif key not in new:
            gone[key] = None
    return gone


def _join(new: dict[str, Any], gone: Mapping[str, Any]) -> dict[str, Any]:
    for key, value in gone.items():
        new[key] = _join(dict(mapping(new.get(key))), value) if isinstance(value, Mapping) else value
    return new


def note(state: State, entry: Mapping[str, Any], limit: int) -> tuple[Mapping[str, Any], ...]:
    """History with one more entry on top; an equal neighbour is left as it is, an entry of the same act is replaced."""
    same = ("type", "result", "reason") if not entry.get("id") else ("id", "result", "reason")
    if state.history and all(state.history[0].get(key) == entry.get(key) for key in same):
        return state.history[:limit]
    older = [e for e in state.history if not entry.get("id") or e.get("id") != entry["id"]]
    return (entry, *older)[:limit]


def recent(times: Sequence[datetime], now: datetime, hour: float) -> tuple[datetime, ...]:
    """The acts that the hourly limit counts; a task may have 60 an hour at most."""
    return tuple(moment for moment in times if moment > now - timedelta(seconds=hour))[-60:]


def _moment(value: datetime | None) -> str | None:
    return None if value is None else format_time(value)


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value
