"""What would be done: the one act that a breach (or the way back from one) calls for, as a guarded patch."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from .changes import change_of, restart_at
from .model import Act, Change, Hold, Target, Task, Wish
from .owned import departure
from .target import LAST_ACTION, LAST_ACTION_TIME, patch_of_target
from .values import format_time, parse_time


def build_act(wish: Wish, left: Mapping[str, Any], replica_sets: Sequence[Any] = ()) -> Act | Hold:
    """`left` is lastAction as this pass found it, `replica_sets` what the selector of the target finds, for a rollback.

    It may be an intent that a crash left: the same act keeps its id and what it asks for, so that doing it again is no
    second act; the limits count from when it is done."""
    if not wish.spec.mutates:
        return _telling(wish)
    change = change_of(wish, replica_sets)
    if isinstance(change, Hold):
        return change
    identity = identity_of(wish.task, wish.target, wish.spec.action, change.origin, change.goal, "")
    if _is_left(wish, change, left):
        identity = str(left["id"])
        if wish.spec.action == "restart":
            change = restart_at(wish.target, str(left["to"]))
    return Act(id=identity, type=wish.spec.action, reason=wish.wants, time=wish.now, change=change)


def refusal(result: Mapping[str, Any]) -> str | None:
    """Why a write was refused, from the result of its task: Conflict, Forbidden, Invalid, ActionFailed; None if it was
    not."""
    if "result" in result:
        return None
    text = str(result.get("msg", ""))
    if "typed patch object" in text or "unable to convert unstructured object" in text:
        return "Invalid"  # an apply that names a field, or has a value, that the kind does not know: a 500 at times
    known = {"Conflict": "Conflict", "Forbidden": "Forbidden", "Unprocessable Entity": "Invalid"}
    return known.get(str(result.get("reason")), "ActionFailed")


def patch_of(target: Target, act: Act) -> dict[str, Any]:
    """The resourceVersion makes it an act on exactly what was looked at (it pins the uid too); the id in the same patch
    makes it known afterwards."""
    notes = {LAST_ACTION: act.id, LAST_ACTION_TIME: format_time(act.time), **departure(target, act.type)}
    return patch_of_target(target, act.change.body, notes, resourceVersion=target.resource_version)


def identity_of(task: Task, target: Target, *words: str) -> str:
    """Shortened to 16 hexadecimal digits: people read it, and type it to approve."""
    parts = (task.uid, target.uid, str(target.generation), *words)
    return sha256("|".join(parts).encode()).hexdigest()[:16]


def _telling(wish: Wish) -> Act:
    action = wish.spec.action
    identity = identity_of(wish.task, wish.target, action, "", action, format_time(wish.now))
    change = Change(origin="", goal=action, body=None, words="notified", intends="notify")
    return Act(id=identity, type=action, reason=wish.wants, time=wish.now, change=change)


def _is_left(wish: Wish, change: Change, left: Mapping[str, Any]) -> bool:
    """Whether this act was meant to be done before. A restart's goal is the time at which it was decided."""
    target = wish.target
    return (
        left.get("result") == "Started"
        and left.get("type") == wish.spec.action
        and left.get("targetUID") == target.uid
        and left.get("targetGeneration") == target.generation
        and left.get("from") == change.origin
        and (wish.spec.action == "restart" or left.get("to") == change.goal)
        and parse_time(left.get("time")) is not None
    )
