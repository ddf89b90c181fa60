"""The gates before an act. Each is one question about one reason to wait; the first that says so decides.

The cheap ones come first and need nothing but what is known already; the dear ones (`gates_after_reads`) look at what
is read only when an act is wanted: the rivals, the autoscalers and the guard.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from .config import ConfigError, read_config
from .memory import condition_of, recent
from .model import Hold, Target, Wish
from .spec import SpecError, parse_spec
from .values import items, mapping, parse_time, time_of_day, whole

GUARD = "aitask-guard.aiops.example.com"
ALLOW_GITOPS = "aiops.example.com/allow-gitops"
# A rival with one of these reasons is about to act or waits for the same things as we do; one that cannot act at all
# (at its limit, ineffective, a dry run) holds nobody.
_CONTENDING = {
    "Permitted", "Cooldown", "HourlyLimit", "GlobalLimit", "Storm", "RolloutInProgress", "TargetConflict",
    "AwaitingApproval", "DiagnosisPending",
}  # fmt: skip


def first_hold(gates: Iterator[Hold | None]) -> Hold | None:
    return next((hold for hold in gates if hold is not None), None)


def gates_before_reads(wish: Wish) -> Iterator[Hold | None]:
    if wish.spec.candidates == ("none",):
        yield _nothing_to_do(wish)
    if wish.spec.mutates:
        yield _rollout(wish)
        yield later(hourly(wish), cooldown(wish, wish.spec.cooldown))
        yield _verdict(wish)
        yield _ineffective(wish)
        yield _gitops(wish)
    else:
        yield hourly(wish)


def _nothing_to_do(wish: Wish) -> Hold:
    if wish.spec.decided_by == "model":
        return Hold("NothingAdvised", "the model advises to do nothing")
    return Hold("DiagnosisFailed", "diagnose.fallbackAction is none; nothing is done")


def later(one: Hold | None, other: Hold | None) -> Hold | None:
    """The hold that ends later; the first of two that end together."""
    holds = [hold for hold in (one, other) if hold is not None and hold.until is not None]
    return max(holds, key=lambda hold: hold.until or datetime.min, default=None)


def gates_after_reads(wish: Wish, reads: Mapping[str, Any]) -> Iterator[Hold | None]:
    """`reads` holds the results of the read tasks under `rivals`, `autoscalers`, `scaledobjects` and `guard`."""
    others = [rival for rival in map(mapping, _found(reads, "rivals")) if _is_rival(rival, wish)]
    yield cooldown(wish, max([wish.spec.cooldown, *(_cooldown_of(rival, wish.time_scale) for rival in others)]))
    yield _conflict(wish, others)
    if wish.spec.candidates == ("scale",):
        yield autoscaled(wish.target.name, reads)


def autoscaled(target: str, reads: Mapping[str, Any]) -> Hold | None:
    """Who else sets the replicas of the Deployment `target`, by the reads `autoscalers` and `scaledobjects`."""
    # Also a paused one: KEDA deletes its autoscaler then, and makes it again when it goes on.
    kinds = (("HorizontalPodAutoscaler", "autoscalers"), ("ScaledObject", "scaledobjects"))
    return first_hold(_autoscaler(target, kind, _found(reads, name)) for kind, name in kinds)


def guard_absent(settings: Mapping[str, Any], reads: Mapping[str, Any], required: bool) -> str:
    """Why the guard does not stand, so that the operator only observes; empty if it does, or need not.

    `required` is what whoever runs the role says, `settings` the configuration of the operator as it was read."""
    if not required or _found(reads, "guard") or not _requires_guard(settings):
        return ""
    text = f"the admission guard {GUARD} is not installed, so anyone could act through a task on what he may not touch"
    return f"{text}; install config/guard, or set requireGuard: false"


def _requires_guard(settings: Mapping[str, Any]) -> bool:
    """Only a configuration without a fault can do without it."""
    try:
        return read_config(settings).require_guard
    except ConfigError:
        return True


def _found(reads: Mapping[str, Any], name: str) -> Sequence[Any]:
    return items(mapping(reads.get(name)).get("resources"))


def _rollout(wish: Wish) -> Hold | None:
    if not wish.target.is_unsettled_for(wish.spec):
        return None
    return Hold("RolloutInProgress", f"waits for the rollout: {wish.target.rollout}")


def _gitops(wish: Wish) -> Hold | None:
    """What lies in a repository comes back at the next sync, and then both fight; replicas are mostly left out."""
    if wish.spec.action not in ("rollback", "patchResources") or not wish.target.gitops:
        return None
    if wish.task.annotations.get(ALLOW_GITOPS) == "true":
        return None
    text = f"{wish.target.gitops} manages {wish.target.name} and would undo this"
    return Hold("GitOpsManaged", f'{text}; change it in its repository, or annotate the task {ALLOW_GITOPS}: "true"')


def cooldown(wish: Wish, seconds: float) -> Hold | None:
    """Counts from the last act on the target, whoever did it, and from the last of this task if the target is new.

    What was promised once stands: a shorter cooldown is for the next act."""
    ends = [min(time, wish.now) + timedelta(seconds=seconds) for time in _acts(wish) if time is not None]
    promised = _promised(wish)
    until = max([*ends, *([promised] if promised else [])], default=wish.now)
    if until <= wish.now:
        return None
    return Hold("Cooldown", f"next action not before {time_of_day(until)}", until)


def _acts(wish: Wish) -> Iterator[datetime | None]:
    yield wish.state.done_at()
    foreign = wish.target.last_action_time
    is_foreign = wish.target.last_action != wish.state.last_action.get("id")
    # Of an own act the status knows the time as well, corrected if the clock was set back since. A foreign one that
    # lies ahead is waited for once, from the first pass that saw it; it must not begin anew with each.
    if is_foreign and foreign is not None and (foreign <= wish.now or wish.state.held_by != "Cooldown"):
        yield foreign
    if wish.spec.dry_run and wish.state.last_action.get("dryRun"):
        yield parse_time(wish.state.last_action.get("time"))


def _promised(wish: Wish) -> datetime | None:
    """The time that the status gives for the next act, unless the clock was set back since it was written."""
    last = parse_time(wish.state.last_action.get("time"))
    return None if last is not None and last > wish.now else wish.state.next_action


def _verdict(wish: Wish) -> Hold | None:
    """Else a short cooldown would start the next act before anyone knows whether the last one helped."""
    verdict = wish.state.verdict
    if verdict is None or wish.wants != "Breached":
        return None
    seen = f"{verdict.samples}/{wish.spec.consecutive} samples"
    return Hold("Cooldown", f"waits to see whether the last act helps ({seen})")


def hourly(wish: Wish) -> Hold | None:
    acts = recent(wish.state.act_times, wish.now, wish.hour)
    if len(acts) < wish.spec.per_hour:
        return None
    until = acts[len(acts) - wish.spec.per_hour] + timedelta(seconds=wish.hour)
    text = f"{len(acts)} acts in the last hour, maxActionsPerHour is {wish.spec.per_hour}"
    return Hold("HourlyLimit", f"{text}, next action not before {time_of_day(until)}", until)


def _ineffective(wish: Wish) -> Hold | None:
    if wish.wants != "Breached" or wish.state.ineffective < wish.spec.max_ineffective:
        return None
    text = f"{wish.state.ineffective} acts in a row did not end the breach"
    return Hold("Ineffective", f"{text}; no further act before a healthy sample")


def _conflict(wish: Wish, others: Sequence[Mapping[str, Any]]) -> Hold | None:
    """Of those that want to act the oldest does; a task that is not breached holds nothing."""
    older = sorted(rank for rival in others if (rank := _seniority(rival)) < wish.task.seniority and _contends(rival))
    return Hold("TargetConflict", f"the older task {older[0][1]} wants to act on {wish.target.name}") if older else None


def _seniority(rival: Mapping[str, Any]) -> tuple[str, str]:
    meta = mapping(rival.get("metadata"))
    return (str(meta.get("creationTimestamp", "")), str(meta.get("name", "")))


def _contends(rival: Mapping[str, Any]) -> bool:
    meta, status = mapping(rival.get("metadata")), mapping(rival.get("status"))
    try:
        spec = parse_spec(mapping(rival.get("spec")))
    except SpecError:
        return False
    if not spec.mutates or spec.suspend or spec.dry_run or meta.get("deletionTimestamp"):
        return False
    if mapping(meta.get("annotations")).get("aiops.example.com/paused") not in (None, "false"):
        return False
    if condition_of(status, "Ready").get("status") == "False" or status.get("phase") == "Failed":
        return False  # it cannot act, whatever it wants
    sampled = condition_of(status, "MetricsAvailable").get("status") == "True"
    permitted = condition_of(status, "ActionPermitted").get("reason")
    established = status.get("breached") is True and whole(status.get("breaches")) >= spec.consecutive
    return established and sampled and permitted in _CONTENDING


def _cooldown_of(rival: Mapping[str, Any], time_scale: float) -> float:
    try:
        spec = parse_spec(mapping(rival.get("spec")), time_scale)
    except SpecError:
        return 0.0
    return spec.cooldown if spec.mutates else 0.0


def size_hold(replicas: Any, target: Target, reads: Mapping[str, Any]) -> Hold | None:
    """Why `spec.replicas` (None if it is not set) is not applied to the target that the task owns."""
    hold = autoscaled(target.name, reads) if must_resize(replicas, target) else None
    return hold and Hold(hold.reason, f"replicas {replicas} is not applied, {hold.message}")


def must_resize(replicas: Any, target: Target) -> bool:
    """Whether `spec.replicas` has another value than the one applied last. Unchanged, it is never applied again: what
    an act, an autoscaler or a person set since stays."""
    return replicas is not None and target.requested_replicas != str(replicas)


def _autoscaler(target: str, kind: str, found: Sequence[Any]) -> Hold | None:
    for entry in map(mapping, found):
        goal = mapping(mapping(entry.get("spec")).get("scaleTargetRef"))
        # A ScaledObject may leave the kind out.
        if goal.get("kind", "Deployment") == "Deployment" and goal.get("name") == target:
            name = mapping(entry.get("metadata")).get("name")
            return Hold("AutoscalerPresent", f"{kind} {name} scales {target}")
    return None


def _is_rival(rival: Mapping[str, Any], wish: Wish) -> bool:
    same_target = mapping(rival.get("spec")).get("targetDeployment") == wish.target.name
    return same_target and mapping(rival.get("metadata")).get("uid") != wish.task.uid
