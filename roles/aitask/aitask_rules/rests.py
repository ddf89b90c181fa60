"""Passes that end before anything is measured: paused, wrong, not allowed, without a target, or with one at zero."""

from dataclasses import replace
from typing import Any

from .evaluate import Moment
from .model import Condition, Spec, State, Target
from .proposal import withdraw
from .report import Ending, Pass, conclude, retry_wait

Plan = dict[str, Any]


def paused(here: Pass) -> tuple[str, str] | None:
    if here.raw_spec.get("suspend") is True:
        return "SpecSuspend", "spec.suspend is true; nothing is read and nothing is done"
    note = here.task.annotations.get("aiops.example.com/paused")
    if note is None or note == "false":
        return None
    text = "annotation aiops.example.com/paused is set; nothing is read and nothing is done"
    return "Annotation", text if note == "true" else f"{text} (its value is neither true nor false)"


def suspended(here: Pass, reason: str, message: str) -> Plan:
    state = at_rest(here.state, missing=0, retries=0)
    if state.last_execution is None:
        ready = initializing(here, f"never evaluated; {message}")
    else:
        ready = Condition("Ready", "True", "Evaluated", message)
    conditions = [
        Condition("Suspended", "True", reason, message),
        Condition("MetricsAvailable", "Unknown", "Suspended", message),
        Condition("ThresholdBreached", "Unknown", "NoData", message),
        Condition("ActionPermitted", "Unknown", "NotBreached", message),
        ready,
    ]
    return conclude(here, None, state, None, conditions, Ending("Suspended", waits_for_event=True))


def initializing(here: Pass, message: str) -> Condition:
    """Ready before the first value: unknown, or still not so after a fault that was told, as its end is too."""
    was_not = here.old_condition("Ready").get("status") == "False"
    return Condition("Ready", "False" if was_not else "Unknown", "Initializing", message)


def terminal(here: Pass, reason: str, message: str) -> Plan:
    """Only an edit helps, and an edit is an event: no requeue."""
    state = at_rest(here.state)
    conditions = [
        Condition("Ready", "False", reason, message),
        Condition("ThresholdBreached", "Unknown", "NoData", message),
        Condition("ActionPermitted", "Unknown", "NotBreached", message),
    ]
    return conclude(here, None, state, None, conditions, Ending("Failed", waits_for_event=True))


def forbidden(here: Pass, spec: Spec) -> Plan:
    text = f"the operator may not read Deployment {spec.target}"
    conditions = [
        Condition("Ready", "False", "Forbidden", text),
        Condition("ActionPermitted", "Unknown", "NotBreached", text),
    ]
    # An edit that was not evaluated yet must not be forgotten: nothing counted or approved so far is for it.
    state = at_rest(here.state) if here.is_fresh() else here.state
    return conclude(here, spec, state, None, conditions, Ending(wait=retry_wait(here, "Ready", spec.interval)))


def no_target(here: Pass, spec: Spec, reason: str, text: str, ready: str = "TargetNotFound") -> Plan:
    """`reason` is that of TargetFound, `ready` that of Ready."""
    text += f"; looked for again at least every {spec.interval:g} s"
    state = at_rest(here.state, missing=0, retries=0, observed_value="")
    conditions = [
        Condition("Ready", "False", ready, text),
        Condition("TargetFound", "False", reason, text),
        Condition("MetricsAvailable", "False", "NoData", text),
        Condition("ThresholdBreached", "Unknown", "NoData", text),
        Condition("ActionPermitted", "Unknown", "NotBreached", text),
    ]
    wait = retry_wait(here, "TargetFound", spec.interval)
    return conclude(here, spec, state, None, conditions, Ending("Pending", wait))


def at_zero(here: Pass, spec: Spec, state: State, target: Target, moment: Moment, told: list[Any]) -> Plan:
    """Somebody switched the target off: that is no fault, there is nothing to measure and nothing to do."""
    text = f"{target.name} is scaled to 0 by hand, and left there"
    state = at_rest(state, missing=0, observed_value="")
    if moment.due or moment.fresh:
        state = replace(state, last_execution=here.now)
    conditions = [
        Condition("Ready", "True", "Evaluated", text),
        Condition("MetricsAvailable", "False", "NoReadyPods", text),
        Condition("ThresholdBreached", "Unknown", "NoData", text),
        Condition("ActionPermitted", "False", "ScaledToZero", text),
    ]
    return conclude(here, spec, state, target, conditions, Ending(events=told))


def at_rest(state: State, **changes: Any) -> State:
    """Nothing is counted any more, and nothing that was proposed will be done. An act whose effect was not seen yet
    counts as ineffective, so that a pause is no way round the limit; the next healthy sample forgives it."""
    unseen = 1 if state.verdict is not None else 0
    rested = replace(
        unwanted(state), breached=False, breaches=0, verdict=None, ineffective=state.ineffective + unseen,
        healthy_since=None, told="",
    )  # fmt: skip
    return replace(rested, **changes)


def unwanted(state: State) -> State:
    """No act is wanted any more: nothing that was proposed will be done, and nobody waits for a model."""
    return unawaited(withdraw(state))


def unawaited(state: State) -> State:
    """Who asks a model from now on waits from now on; what an earlier breach or spec waited for does not count."""
    return replace(state, diagnosis={}) if state.diagnosis.get("waitingSince") else state
