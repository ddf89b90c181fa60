"""One pass over one task, in the order of cost: what is known decides first, and says what to read next.

`plan_pass` is called with what is known so far and answers what comes next; the tasks of the role fetch or do it and
ask again. It computes everything anew each time from the same inputs, so that only reads and results travel between
the calls:

    observe   read the target (and, where `reads` says so, its pods and their metrics)
    permit    an act is wanted and nothing known forbids it: read rivals and autoscalers
    act       write `intent`, then do `act`
    report    write `status`, tell `events`, come back after `requeue` (empty: only an event brings the task back)
    stop      write nothing
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .act import build_act
from .evaluate import UNAVAILABLE_AFTER, Evaluation, Moment, evaluate, is_due
from .events import about_act
from .gates import Wish, approval, available, first_hold, gates_after_reads, gates_before_reads
from .model import Act, Condition, Hold, Spec, State, Target
from .outcome import finish, held, intent, recover
from .report import Ending, Pass, conclude, open_pass, retry_wait
from .sample import needed_reads, take_sample
from .spec import SpecError, parse_spec
from .target import parse_target
from .values import items, mapping, parse_time

Plan = dict[str, Any]


def plan_pass(world: Mapping[str, Any]) -> Plan:
    """`world`: task (the CR), spec, now, time_scale, min_pod_age, reads (results of the read tasks and of the act)."""
    here = open_pass(world)
    if here.task.deleting:
        return {"next": "stop"}
    paused = _paused(here)
    if paused is not None:
        return _suspended(here, *paused)
    try:
        spec = parse_spec(here.raw_spec, here.time_scale)
    except SpecError as error:
        return _terminal(here, error.reason, str(error))
    found = mapping(here.reads.get("deployment"))
    if not found:
        return {"next": "observe", "reads": needed_reads(spec)}
    return _observed(here, spec, found)


def report_failure(world: Mapping[str, Any], where: str, message: str) -> Mapping[str, Any]:
    """What the status says when the role itself failed: the task that failed, and why."""
    here = open_pass(world)
    text = f"{where}: {' '.join(message.split())}"[:900]
    ready = Condition("Ready", "False", "InternalError", text)
    return {"conditions": [entry for entry in here.merged([ready]) if entry["type"] == "Ready"]}


def _observed(here: Pass, spec: Spec, found: Mapping[str, Any]) -> Plan:
    if "resources" not in found:
        return _forbidden(here, spec)
    deployments = items(found["resources"])
    if not deployments:
        return _no_target(here, spec, "TargetNotFound", f"Deployment {spec.target} does not exist")
    target = parse_target(mapping(deployments[0]), here.task.uid)
    if target.deleting:
        return _no_target(here, spec, "TargetTerminating", f"Deployment {spec.target} is being deleted")
    if spec.has_template and not target.owned:
        text = f"Deployment {target.name} exists already; a task never takes over one it did not create"
        return _terminal(here, "TargetExists", text)
    return _with_target(here, spec, target)


def _with_target(here: Pass, spec: Spec, target: Target) -> Plan:
    state = here.state
    renewed = state.target_uid not in ("", target.uid)
    if renewed:
        state = replace(state, breached=False, breaches=0, ineffective=0, verdict=None, healthy_since=None)
    state, told = recover(here, spec, state, target)
    moment = Moment(
        now=here.now,
        due=is_due(state.last_execution, spec.interval, here.now),
        fresh=renewed or here.is_fresh(),
        was_missing=here.old_condition("MetricsAvailable").get("status") == "False",
    )
    if target.replicas == 0:
        return _at_zero(here, spec, state, target, moment, told)
    sample = take_sample(spec, target, here.reads, here.now, here.min_pod_age)
    evaluation = evaluate(spec, state, target, sample, moment)
    plan = _decide(here, spec, target, evaluation, moment)
    return plan | {"events": [*told, *plan["events"]]} if "events" in plan else plan


def _decide(here: Pass, spec: Spec, target: Target, evaluation: Evaluation, moment: Moment) -> Plan:
    wants = evaluation.wants
    if wants and not moment.due and not moment.fresh and _acted_since_evaluation(evaluation.state):
        wants = ""  # one act for one evaluation; what it said still stands
    elif wants and spec.action == "notify" and spec.on_change_only and _told(here, evaluation):
        wants = ""
    if not wants:
        return _nothing(here, spec, target, evaluation, moment)
    wish = Wish(spec, here.task, evaluation.state, target, wants, here.now, here.time_scale)
    hold = first_hold(gates_before_reads(wish))
    if hold is not None:
        return held(here, wish, evaluation, hold)
    if spec.mutates and "act" not in here.reads:
        if "rivals" not in here.reads:
            return {"next": "permit", "autoscalers": spec.action == "scale"}
        rivals = items(mapping(here.reads["rivals"]).get("resources"))
        if here.is_stale(rivals):
            # The status this pass began with is not the newest: what it counted may be wrong. Look again.
            return {"next": "report", "status": {}, "events": [], "requeue": "2s", "summary": "looked at an old status"}
        scalers = items(mapping(here.reads.get("autoscalers")).get("resources"))
        hold = first_hold(gates_after_reads(wish, rivals, scalers))
    return _act(here, wish, evaluation) if hold is None else held(here, wish, evaluation, hold)


def _act(here: Pass, wish: Wish, evaluation: Evaluation) -> Plan:
    act: Act | Hold = build_act(wish.spec, wish.task, wish.target, here.state, wish.wants, wish.now)
    hold = act if isinstance(act, Hold) else approval(wish)
    if hold is not None or isinstance(act, Hold):
        return held(here, wish, evaluation, hold or Hold("AwaitingApproval", ""))
    if "act" not in here.reads:
        return intent(here, wish, evaluation, act)
    return finish(here, wish, evaluation, act, mapping(here.reads["act"]))


def _nothing(here: Pass, spec: Spec, target: Target, evaluation: Evaluation, moment: Moment) -> Plan:
    state = evaluation.state
    conditions = list(evaluation.conditions.values())
    missing = "MetricsAvailable" in evaluation.conditions and state.missing > 0
    if moment.due or moment.fresh or evaluation.conditions:
        if missing:
            text = f"{evaluation.measured}; nothing is done without data"
        elif state.breached and spec.action == "notify" and state.breaches >= spec.consecutive:
            text = f"{evaluation.measured}; told already"
        elif state.breached:
            text = f"{evaluation.measured}; an act needs {spec.consecutive} breached samples in a row"
        else:
            text = evaluation.measured
        conditions.append(_unavailable(spec) or Condition("ActionPermitted", "Unknown", "NotBreached", text))
        upcoming = state.next_action if state.next_action and state.next_action > here.now else None
        state = replace(state, retries=0, next_action=upcoming)
    wait = None
    if state.missing and spec.on_missing == "Hold":
        wait = retry_wait(here, "MetricsAvailable", spec.interval)
    ready = _ready(here, spec, state, evaluation.measured, conditions)
    return conclude(
        here, spec, state, target, ready, Ending(wait=wait, events=_all_clear(here, spec, target, evaluation))
    )


def _unavailable(spec: Spec) -> Condition | None:
    """Whoever asks for an act that this version lacks learns it at once, not at the first breach."""
    hold = available(spec)
    return Condition("ActionPermitted", "False", hold.reason, hold.message) if hold else None


def _all_clear(here: Pass, spec: Spec, target: Target, evaluation: Evaluation) -> list[Any]:
    """A notification that the breach is over, where there was one that it had begun."""
    now = evaluation.conditions.get("ThresholdBreached")
    if spec.action != "notify" or now is None or now.status != "False" or not _told(here, evaluation):
        return []
    key = str(evaluation.state.last_action.get("id", ""))
    return about_act(here.task, target, "ThresholdCleared", evaluation.measured, "Normal", here.now, key)


def _ready(here: Pass, spec: Spec, state: State, measured: str, conditions: list[Condition]) -> Iterator[Condition]:
    yield from conditions
    if state.missing and spec.on_missing == "Hold":
        if state.missing >= UNAVAILABLE_AFTER:
            yield Condition("Ready", "False", "MetricsUnavailable", f"{measured} ({UNAVAILABLE_AFTER} times in a row)")
        elif state.sample_time is None:
            yield Condition("Ready", "Unknown", "Initializing", measured)
    elif conditions or here.old_condition("Ready").get("status") != "True":
        yield Condition("Ready", "True", "Evaluated", measured)


def _acted_since_evaluation(state: State) -> bool:
    done = state.last_action.get("result") in ("Succeeded", "DryRun")
    time = parse_time(state.last_action.get("time"))
    return done and time is not None and state.last_execution is not None and time >= state.last_execution


def _told(here: Pass, evaluation: Evaluation) -> bool:
    """Whether this breach was reported: a notification is no older than the breach."""
    last, breach = evaluation.state.last_action, here.old_condition("ThresholdBreached")
    since = str(breach.get("lastTransitionTime", "")) if breach.get("status") == "True" else "~"
    done = last.get("type") == "notify" and last.get("result") in ("Succeeded", "DryRun")
    return done and str(last.get("time", "")) >= since


def _paused(here: Pass) -> tuple[str, str] | None:
    if here.raw_spec.get("suspend") is True:
        return "SpecSuspend", "spec.suspend is true; nothing is read and nothing is done"
    note = here.task.annotations.get("aiops.example.com/paused")
    if note is None or note == "false":
        return None
    text = "annotation aiops.example.com/paused is set; nothing is read and nothing is done"
    return "Annotation", text if note == "true" else f"{text} (its value is neither true nor false)"


def _suspended(here: Pass, reason: str, message: str) -> Plan:
    state = replace(
        here.state, breached=False, breaches=0, missing=0, retries=0, verdict=None, healthy_since=None, next_action=None
    )
    if state.last_execution is None:
        ready = Condition("Ready", "Unknown", "Initializing", f"never evaluated; {message}")
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


def _terminal(here: Pass, reason: str, message: str) -> Plan:
    """Only an edit helps, and an edit is an event: no requeue."""
    state = replace(here.state, breached=False, breaches=0, verdict=None, healthy_since=None, next_action=None)
    conditions = [
        Condition("Ready", "False", reason, message),
        Condition("ThresholdBreached", "Unknown", "NoData", message),
        Condition("ActionPermitted", "Unknown", "NotBreached", message),
    ]
    return conclude(here, None, state, None, conditions, Ending("Failed", waits_for_event=True))


def _forbidden(here: Pass, spec: Spec) -> Plan:
    text = f"the operator may not read Deployment {spec.target}"
    conditions = [
        Condition("Ready", "False", "Forbidden", text),
        Condition("ActionPermitted", "Unknown", "NotBreached", text),
    ]
    return conclude(here, spec, here.state, None, conditions, Ending(wait=retry_wait(here, "Ready", spec.interval)))


def _no_target(here: Pass, spec: Spec, reason: str, text: str) -> Plan:
    if spec.has_template:
        text += "; making one from spec.template is not available in this version"
    state = replace(
        here.state, breached=False, breaches=0, missing=0, retries=0, verdict=None, healthy_since=None,
        observed_value="", next_action=None,
    )  # fmt: skip
    conditions = [
        Condition("Ready", "False", "TargetNotFound", text),
        Condition("TargetFound", "False", reason, text),
        Condition("MetricsAvailable", "False", "NoData", text),
        Condition("ThresholdBreached", "Unknown", "NoData", text),
        Condition("ActionPermitted", "Unknown", "NotBreached", text),
    ]
    wait = retry_wait(here, "TargetFound", spec.interval)
    return conclude(here, spec, state, None, conditions, Ending("Pending", wait))


def _at_zero(here: Pass, spec: Spec, state: State, target: Target, moment: Moment, told: list[Any]) -> Plan:
    """Somebody switched the target off: that is no fault, there is nothing to measure and nothing to do."""
    text = f"{target.name} is scaled to 0 by hand, and left there"
    state = replace(state, breached=False, breaches=0, missing=0, verdict=None, healthy_since=None, observed_value="")
    if moment.due or moment.fresh:
        state = replace(state, last_execution=here.now)
    conditions = [
        Condition("Ready", "True", "Evaluated", text),
        Condition("MetricsAvailable", "False", "NoReadyPods", text),
        Condition("ThresholdBreached", "Unknown", "NoData", text),
        Condition("ActionPermitted", "False", "ScaledToZero", text),
    ]
    return conclude(here, spec, state, target, conditions, Ending(events=told))
