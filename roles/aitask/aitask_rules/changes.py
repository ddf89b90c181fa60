"""What each action would change of the target as it stands, or why it would change nothing."""

from collections.abc import Sequence
from typing import Any

from .model import DOWN, UP, Change, Hold, Scale, Target, Wish
from .resources import raise_resources
from .rollback import roll_back
from .target import RESTARTED_AT
from .values import format_time


def change_of(wish: Wish, replica_sets: Sequence[Any]) -> Change | Hold:
    """`replica_sets` are what a rollback can go back to."""
    if wish.spec.action == "scale":
        return _scale(wish)
    wanted = _OF_THE_TEMPLATE[wish.spec.action]
    if wish.target.paused:
        return Hold("TargetPaused", f"the rollout of {wish.target.name} is paused; resume it to let the task {wanted}")
    if wish.spec.action == "rollback":
        return roll_back(wish, replica_sets)
    if wish.spec.action == "patchResources":
        return raise_resources(wish)
    return restart_at(wish.target, format_time(wish.now))


_OF_THE_TEMPLATE = {"restart": "restart it", "rollback": "roll it back", "patchResources": "change its resources"}


def restart_at(target: Target, moment: str) -> Change:
    """`moment`: the time of the decision, as it is to stand on the pod template."""
    return Change(
        origin=target.restarted_at[:128] or "never",  # anything may stand there; the CRD bounds what we write
        goal=moment,
        body={"template": {"metadata": {"annotations": {RESTARTED_AT: moment}}}},
        words=f"restarted {target.name}",
        intends=f"restart {target.name}",
    )


def _scale(wish: Wish) -> Change | Hold:
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
