"""What would be done: the one act that a breach (or the way back from one) calls for, as a guarded patch."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from .changes import change_of
from .model import Act, Change, Hold, Target, Task, Wish
from .target import LAST_ACTION, LAST_ACTION_TIME
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
    goal, identity = change.goal, _identity(wish, change.origin, change.goal)
    intent = _left_intent(wish, change, left)
    if intent is not None:
        identity, goal, time = intent
        again = change_of(wish, replica_sets, time)
        change = change if isinstance(again, Hold) else again
    return Act(
        id=identity, type=wish.spec.action, reason=wish.wants, origin=change.origin, goal=goal, time=wish.now,
        patch=patch_of(wish.target, identity, wish.now, change.body),
        words=change.words, intends=change.intends, leaves=change.leaves,
    )  # fmt: skip


def patch_of(target: Target, identity: str, time: datetime, body: Any) -> dict[str, Any]:
    """The resourceVersion makes it an act on exactly what was looked at (it pins the uid too); the id in the same patch
    makes it known afterwards."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": target.name,
            "namespace": target.namespace,
            "resourceVersion": target.resource_version,
            "annotations": {LAST_ACTION: identity, LAST_ACTION_TIME: format_time(time)},
        },
        "spec": body,
    }


def identity_of(task: Task, target: Target, *words: str) -> str:
    """Shortened to 16 hexadecimal digits: people read it, and type it to approve."""
    parts = (task.uid, target.uid, str(target.generation), *words)
    return sha256("|".join(parts).encode()).hexdigest()[:16]


def _identity(wish: Wish, origin: str, goal: str) -> str:
    return identity_of(wish.task, wish.target, wish.spec.action, origin, goal, "")


def _telling(wish: Wish) -> Act:
    action = wish.spec.action
    identity = identity_of(wish.task, wish.target, action, "", action, format_time(wish.now))
    return Act(
        id=identity, type=action, reason=wish.wants, origin="", goal=action, time=wish.now, patch=None,
        words="notified", intends="notify",
    )  # fmt: skip


def _left_intent(wish: Wish, change: Change, left: Mapping[str, Any]) -> tuple[str, str, datetime] | None:
    """Id, goal and time of an act that was meant to be done, and would be the same one now."""
    target = wish.target
    same = (
        left.get("result") == "Started"
        and left.get("type") == wish.spec.action
        and left.get("targetUID") == target.uid
        and left.get("targetGeneration") == target.generation
        and left.get("from") == change.origin
        and (wish.spec.action == "restart" or left.get("to") == change.goal)
    )
    time = parse_time(left.get("time"))
    return (str(left["id"]), str(left["to"]), time) if same and time is not None else None
