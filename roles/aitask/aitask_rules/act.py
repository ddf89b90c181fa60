"""What would be done: the one act that a breach (or the way back from one) calls for, as a guarded patch."""

from hashlib import sha256
from typing import Any

from .model import DOWN, UP, Act, Hold, Scale, Spec, State, Target, Task
from .target import LAST_ACTION, LAST_ACTION_TIME, RESTARTED_AT
from .values import format_time, parse_time

AVAILABLE = ("scale", "restart", "notify")


def build_act(spec: Spec, task: Task, target: Target, state: State, wants: str, now: Any) -> Act | Hold:
    """`state.last_action` may be an intent that a crash left: the same act keeps its id and its time, so that doing it
    again is no second act."""
    if spec.action == "scale":
        goal = next_replicas(target.replicas, spec.scale, DOWN if wants == "Return" else spec.scale.direction)
        if isinstance(goal, Hold):
            return goal
        origin, aim = str(target.replicas), str(goal)
    elif spec.action == "restart":
        if target.paused:
            return Hold("TargetPaused", f"the rollout of {target.name} is paused; resume it to let it restart")
        origin, aim = target.restarted_at or "never", format_time(now)
    else:
        origin, aim = "", spec.action
    left = _left_intent(spec, target, state, origin, aim)
    if left is not None:
        identity, aim, time = left
    else:
        time = now
        identity = _identity(task, target, spec.action, origin, aim, format_time(now) if not spec.mutates else "")
    words = {"scale": f"scaled {origin} -> {aim}", "restart": f"restarted {target.name}", "notify": "notified"}
    return Act(
        id=identity, type=spec.action, reason=wants, origin=origin, goal=aim, time=time,
        patch=_patch(spec, target, identity, aim, format_time(time)) if spec.mutates else None,
        words=words[spec.action],
    )  # fmt: skip


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


def _left_intent(spec: Spec, target: Target, state: State, origin: str, aim: str) -> tuple[str, str, Any] | None:
    left = state.last_action
    same = (
        spec.mutates
        and left.get("result") == "Started"
        and left.get("type") == spec.action
        and left.get("targetUID") == target.uid
        and left.get("targetGeneration") == target.generation
        and left.get("from") == origin
        and (spec.action == "restart" or left.get("to") == aim)
    )
    time = parse_time(left.get("time"))
    return (str(left["id"]), str(left["to"]), time) if same and time is not None else None


def _identity(task: Task, target: Target, action: str, origin: str, aim: str, extra: str) -> str:
    """Shortened to 16 hexadecimal digits: people read it, and will type it to approve."""
    parts = (task.uid, target.uid, str(target.generation), action, origin, aim, extra)
    return sha256("|".join(parts).encode()).hexdigest()[:16]


def _patch(spec: Spec, target: Target, identity: str, aim: str, time: str) -> dict[str, Any]:
    """The resourceVersion makes it an act on exactly what was looked at (it pins the uid too); the id in the same patch
    makes it known afterwards."""
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": target.name,
            "namespace": target.namespace,
            "resourceVersion": target.resource_version,
            "annotations": {LAST_ACTION: identity, LAST_ACTION_TIME: time},
        },
    }
    if spec.action == "scale":
        body["spec"] = {"replicas": int(aim)}
    else:
        body["spec"] = {"template": {"metadata": {"annotations": {RESTARTED_AT: aim}}}}
    return body
