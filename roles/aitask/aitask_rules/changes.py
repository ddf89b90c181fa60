"""What each action would change of the target as it stands, or why it would change nothing."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from .model import DOWN, UP, Change, Hold, Scale, Wish
from .resources import raise_resources
from .rollback import roll_back
from .target import RESTARTED_AT
from .values import format_time


def change_of(wish: Wish, replica_sets: Sequence[Any], time: datetime | None = None) -> Change | Hold:
    """`time` is that of the decision, if it was made in an earlier pass."""
    if wish.spec.action in _TEMPLATE_ACTIONS and wish.target.paused:
        wanted = _TEMPLATE_ACTIONS[wish.spec.action]
        return Hold("TargetPaused", f"the rollout of {wish.target.name} is paused; resume it to let the task {wanted}")
    if wish.spec.action == "rollback":
        return roll_back(wish, replica_sets)
    return _PLAIN[wish.spec.action](wish, time or wish.now)


_TEMPLATE_ACTIONS = {"restart": "restart it", "rollback": "roll it back", "patchResources": "change its resources"}


def _restart(wish: Wish, time: datetime) -> Change:
    name, moment = wish.target.name, format_time(time)
    return Change(
        origin=wish.target.restarted_at[:128] or "never",  # anything may stand there; the CRD bounds what we write
        goal=moment,
        body={"template": {"metadata": {"annotations": {RESTARTED_AT: moment}}}},
        words=f"restarted {name}",
        intends=f"restart {name}",
    )


def _scale(wish: Wish, _: datetime) -> Change | Hold:
    scale, now = wish.spec.scale, wish.target.replicas
    goal = next_replicas(now, scale, DOWN if wish.wants == "Return" else scale.direction)
    if isinstance(goal, Hold):
        return goal
    return Change(
        origin=str(now),
        goal=str(goal),
        body={"replicas": goal},
        words=f"scaled {now} -> {goal}",
        intends=f"scale {wish.target.name} {now} -> {goal}",
    )


def _raise(wish: Wish, _: datetime) -> Change | Hold:
    return raise_resources(wish)


_PLAIN: dict[str, Callable[[Wish, datetime], Change | Hold]] = {
    "scale": _scale,
    "restart": _restart,
    "patchResources": _raise,
}


def next_replicas(current: int, scale: Scale, direction: str) -> int | Hold:
    """One step, cut at the limits. Never from 0, and never against the direction: above maxReplicas nothing scales up,
    and a way down that one step cannot bring within the limits is a person's decision."""
    if current == 0:
        return Hold("ScaledToZero", "scaled to 0 by hand, and left there")
    if direction == UP:
        if current >= scale.maximum:
            return Hold("AtMaximum", f"{current} replicas, maxReplicas is {scale.maximum}")
        return max(scale.minimum, min(scale.maximum, current + scale.step))
    if current <= scale.minimum:
        return Hold("AtMinimum", f"{current} replicas, minReplicas is {scale.minimum}")
    goal = max(scale.minimum, current - scale.step)
    if goal > scale.maximum:
        text = f"{current} replicas, and a step of {scale.step} leaves more than maxReplicas {scale.maximum}"
        return Hold("AtMaximum", f"{text}; scale it by hand or raise one of them")
    return goal
