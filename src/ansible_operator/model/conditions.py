"""The runtime's own status conditions: Running, Successful, Failure (contract 4.6).

Each function takes the conditions as they stand in the cluster and gives them as they should stand. Conditions of
others are never touched. Times are RFC 3339 texts, given by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from ansible_operator.model.events import Outcome, Stats

Condition = Mapping[str, Any]
Change = Callable[[Iterable[Condition]], list[Condition]]

RUNNING, SUCCESSFUL, FAILURE = "Running", "Successful", "Failure"
RUNNING_MESSAGE = "Running reconciliation"
AWAITING_MESSAGE = "Awaiting next reconciliation"
SUCCEEDED_MESSAGE = "Last reconciliation succeeded"


def rfc3339(moment: datetime) -> str:
    """A time in UTC to the second, with Z."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def completion(moment: datetime) -> str:
    """The Go operator's own layout for ``ansibleResult.completion``: microseconds without trailing zeros, +00:00."""
    fraction = f"{moment.microsecond:06d}".rstrip("0")
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{fraction}" if fraction else "") + "+00:00"


def started(conditions: Iterable[Condition], now: str, generation: int) -> list[Condition]:
    """A run begins. Only Running changes, the verdict on the last run stays as it is."""
    return _put(conditions, _condition(RUNNING, "True", "Running", RUNNING_MESSAGE, generation), now)


def ended(conditions: Iterable[Condition], outcome: Outcome, now: datetime, generation: int) -> list[Condition]:
    """A run has ended, well or not."""
    time = rfc3339(now)
    result = _ansible_result(outcome.stats, now)
    if outcome.succeeded:
        running = _condition(RUNNING, "True", "Successful", AWAITING_MESSAGE, generation, result)
        successful = _condition(SUCCESSFUL, "True", "Successful", SUCCEEDED_MESSAGE, generation)
        failure = _condition(FAILURE, "False", "Failed", "", generation)
        return _put(_put(_put(conditions, running, time), successful, time), failure, time)
    return failed(conditions, outcome.message, time, generation, result)


def failed(
    conditions: Iterable[Condition], message: str, now: str, generation: int, result: Mapping[str, Any] | None = None
) -> list[Condition]:
    """A run failed, or could not even start; then there is no ``result``."""
    running = _condition(RUNNING, "False", "Running", RUNNING_MESSAGE, generation)
    failure = _condition(FAILURE, "True", "Failed", message, generation, result)
    successful = _condition(SUCCESSFUL, "False", "Successful", "", generation)
    return _put(_put(_put(conditions, running, now), failure, now), successful, now)


def only_failure(conditions: Iterable[Condition], message: str, now: str, generation: int) -> list[Condition]:
    """The role owns the status, but could not report: only Failure is ours."""
    return _put(conditions, _condition(FAILURE, "True", "Failed", message, generation), now)


def without_failure(conditions: Iterable[Condition]) -> list[Condition]:
    """The role owns the status and reports again: our Failure goes."""
    return [condition for condition in conditions if not _is(condition, FAILURE)]


def has_failure(conditions: Iterable[Condition]) -> bool:
    """Whether our Failure stands."""
    return any(_is(condition, FAILURE) for condition in conditions)


def _is(condition: Condition, kind: str) -> bool:
    """A role may have written anything into the list; only what has the form of a condition can be ours."""
    return isinstance(condition, Mapping) and condition.get("type") == kind


def _ansible_result(stats: Stats, now: datetime) -> dict[str, Any]:
    return {
        "ok": stats.ok,
        "changed": stats.changed,
        "skipped": stats.skipped,
        "failures": stats.failures,
        "completion": completion(now),
    }


def _condition(
    kind: str, status: str, reason: str, message: str, generation: int, result: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    condition = {"type": kind, "status": status, "reason": reason, "message": message}
    if generation:
        condition["observedGeneration"] = generation  # type: ignore[assignment]
    return {**condition, "ansibleResult": dict(result)} if result else condition


def _put(conditions: Iterable[Condition], new: Mapping[str, Any], now: str) -> list[Condition]:
    """Replace the condition of that type and move it to the end; the time moves only with the status."""
    existing = list(conditions)
    old = next((condition for condition in existing if _is(condition, new["type"])), None)
    unchanged = old is not None and old.get("status") == new["status"]
    time = old.get("lastTransitionTime") if old is not None and unchanged else None
    others = [condition for condition in existing if old is None or condition is not old]
    return [*others, {**new, "lastTransitionTime": time or now}]
