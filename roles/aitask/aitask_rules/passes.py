"""One pass over one task, in the order of cost: what is known decides first, and says what to read next.

`plan_pass` is called with what is known so far and answers what comes next; the tasks of the role fetch or do it and
ask again. It computes everything anew each time from the same inputs, so that only reads and results travel between
the calls:

    peek      look whether the answer of a model has come
    observe   read the target (and, where `reads` says so, its pods and their metrics)
    own, take, apply, resize   bring about the target that the task owns (`upkeep`)
    permit    an act is wanted and nothing known forbids it, or the end of a breach is to be told: read the operator's
              configuration, and what `reads` says
    evidence, logs, ask   a model is to choose the act (`consult`): read what it is told, and send it the `question`,
              or take the answer to the last one
    rehearse  ask the server whether it would take the act
    admit     ask the ledger of acts the `question`
    act       write `intent`, then do the act, and send `notice` to the webhook if there is one
    deliver   send `notice` to the webhook
    report    write `status`, tell `events`, come back after `requeue` (empty: only an event brings the task back)
    stop      write nothing
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .act import build_act
from .consult import advised, consult, look_first, waiting
from .diagnosis import Verdict
from .evaluate import UNAVAILABLE_AFTER, Evaluation, Moment, evaluate, is_due
from .events import about_act
from .gates import first_hold, gates_after_reads, gates_before_reads, must_resize
from .model import Act, Condition, Hold, Spec, State, Target, Wish
from .notice import News, delivery_words, notice
from .outcome import REHEARSED, finish, held, intent, recover, rehearsal, rehearsed
from .permission import answered, has_read_all, is_informed, only_observes, question, soon, stopped
from .proposal import needs_approval, review, settle
from .report import Ending, Pass, conclude, look_again, next_look, open_pass, retry_wait
from .rests import (
    at_rest,
    at_zero,
    forbidden,
    initializing,
    no_target,
    paused,
    suspended,
    terminal,
    unawaited,
    unwanted,
)
from .sample import needed_reads, take_sample
from .spec import SpecError, parse_spec
from .target import parse_target
from .upkeep import bring_about, newest, news_of
from .values import first, items, mapping, parse_time, time_of_day

Plan = dict[str, Any]


def plan_pass(world: Mapping[str, Any]) -> Plan:
    """`world`: task (the CR), spec, now, time_scale, min_pod_age, reads (results of the read tasks and of the act)."""
    here = open_pass(world)
    if here.task.deleting:
        return {"next": "stop"}
    pause = paused(here)
    if pause is not None:
        return suspended(here, *pause)
    try:
        spec = parse_spec(here.raw_spec, here.time_scale)
    except SpecError as error:
        return terminal(here, error.reason, str(error))
    look = look_first(here, spec)
    if look is not None:
        return look
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
        return forbidden(here, spec)
    if found.get("api_found") is False:
        return look_again("the cluster does not say what it serves", "5s")
    deployment = newest(here, first(found))
    if not deployment and spec.template is None:
        return no_target(here, spec, "TargetNotFound", f"Deployment {spec.target} does not exist")
    target = parse_target(deployment, here.task.uid)
    if target.deleting:
        return no_target(here, spec, "TargetTerminating", f"Deployment {spec.target} is being deleted")
    if spec.template is None:
        return _with_target(here, spec, target)
    if deployment and not target.owned:
        text = f"Deployment {target.name} exists already; a task never takes over one it did not create"
        return terminal(here, "TargetExists", text)
    step = bring_about(here, spec, deployment)
    if isinstance(step, Hold):
        return _with_target(here, spec, replace(target, unkept=step))
    return step or _with_target(here, spec, target)


def _with_target(here: Pass, spec: Spec, target: Target) -> Plan:
    state = here.state
    renewed = state.target_uid not in ("", target.uid)
    if renewed:
        state = at_rest(state, ineffective=0)
    state, told = recover(here, spec, state, target)
    told = [*news_of(here, target), *told]
    state = review(state, here.task, target, here.now)
    moment = Moment(
        now=here.now,
        due=is_due(state.last_execution, spec.interval, here.now),
        fresh=renewed or here.is_fresh(),
        was_missing=here.old_condition("MetricsAvailable").get("status") == "False",
    )
    if moment.fresh:
        state = unawaited(state)
    if target.replicas == 0:
        return at_zero(here, spec, state, target, moment, told)
    sample = take_sample(spec, target, here.reads, here.now, here.min_pod_age)
    evaluation = evaluate(spec, state, target, sample, moment)
    plan = _decide(here, spec, target, evaluation, moment)
    return plan | {"events": [*told, *plan["events"]]} if "events" in plan else plan


def _decide(here: Pass, spec: Spec, target: Target, evaluation: Evaluation, moment: Moment) -> Plan:
    wants = evaluation.wants
    if wants and not moment.due and not moment.fresh and _acted_since_evaluation(evaluation.state):
        wants = ""  # one act for one evaluation; what it said still stands
    if wants == "Return":
        spec = replace(spec, decided_by=spec.decided_by or "rule")  # nothing is wrong, so there is no cause to ask for
    wish = Wish(spec, here.task, evaluation.state, target, wants, here.now, here.time_scale)
    wish = replace(wish, waits=waiting(here, wish))
    return _pursue(here, wish, evaluation, moment)


def _pursue(here: Pass, wish: Wish, evaluation: Evaluation, moment: Moment) -> Plan:
    spec = wish.spec
    if not wish.wants or (not spec.mutates and spec.on_change_only and _told(spec, evaluation.state)):
        return _nothing(here, spec, wish.target, evaluation, moment)
    hold = wish.waits or first_hold(gates_before_reads(wish))
    if hold is not None:
        return held(here, wish, evaluation, hold)
    if not _has_read(here, spec):
        return _permission(spec, wish.target)
    unsure = _unsure(here, spec)
    if unsure is not None:
        return unsure
    hold = first_hold(_gates(here, wish))
    if hold is not None:
        return held(here, wish, evaluation, hold)
    if spec.decided_by:
        return _act(here, wish, evaluation)
    verdict = consult(here, wish, evaluation)
    if not isinstance(verdict, Verdict):
        return verdict
    wish, evaluation = advised(here, wish, evaluation, verdict)
    plan = _pursue(here, wish, evaluation, moment)
    if plan["next"] == "report" and not plan["status"] and verdict.calls:
        # To look again must not forget an answer that was paid for.
        plan["status"] = {"diagnosis": {"waitingSince": None, **wish.state.diagnosis}, "usage": dict(wish.state.usage)}
    return plan


def _unsure(here: Pass, spec: Spec) -> Plan | None:
    """The end of the pass if what was read cannot be relied on."""
    if not spec.mutates:
        return None
    if here.is_stale(items(mapping(here.reads["rivals"]).get("resources"))):
        # The status this pass began with is not the newest: what it counted may be wrong.
        return look_again("looked at an old status", "2s")
    if mapping(here.reads.get("autoscalers")).get("api_found") is False:
        # Every cluster serves them; one that is about to fail does not say so.
        return look_again("the cluster does not say what it serves", "5s")
    return None


def _gates(here: Pass, wish: Wish) -> Iterator[Hold | None]:
    """Those for which something is read. A diagnosis may still end in a notification, which a faulty configuration does
    not stop."""
    yield stopped(here, mutates=wish.spec.mutates and bool(wish.spec.decided_by))
    if wish.spec.mutates:
        yield from gates_after_reads(wish, here.reads)


def _permission(spec: Spec, target: Target) -> Plan:
    """A notification needs no more than to know whether it may be told. What holds the size of a target that the task
    owns must not be forgotten by reading again."""
    sized = spec.template is not None and must_resize(spec.replicas, target)
    wanted = {
        "rivals": spec.mutates,
        "guard": spec.mutates or not spec.decided_by,
        "autoscalers": "scale" in spec.candidates or sized,
        "history": "rollback" in spec.candidates,
    }
    return _asking(**wanted)


def _has_read(here: Pass, spec: Spec) -> bool:
    """Whether what `_permission` asks for was read. To ask a model the guard counts as it does for an act."""
    enough = is_informed(here) if spec.decided_by else has_read_all(here)
    return enough and ("rivals" in here.reads or not spec.mutates)


def _asking(**wanted: bool) -> Plan:
    """Reads the operator's configuration, and these."""
    nothing = {"rivals": False, "guard": False, "autoscalers": False, "history": False}
    return {"next": "permit", "reads": nothing | wanted}


def _act(here: Pass, wish: Wish, evaluation: Evaluation) -> Plan:
    """Gates are open. Approval, rehearsal, ledger, intent and act, each one step further than what was read so far."""
    act: Act | Hold = build_act(
        wish, here.state.last_action, items(mapping(here.reads.get("history")).get("resources"))
    )
    if isinstance(act, Act) and wish.spec.mutates and not wish.spec.dry_run:
        observed = only_observes(here)
        if observed is not None:
            act = replace(observed, message=f"would {act.change.intends}, but {observed.message}")
        elif needs_approval(wish):
            state, act = settle(wish, act)
            wish, evaluation = replace(wish, state=state), replace(evaluation, state=state)
    if isinstance(act, Hold):
        return held(here, wish, evaluation, act)
    if "act" in here.reads:
        return finish(here, wish, evaluation, act, mapping(here.reads["act"]))
    if act.mutates and "rehearsal" not in here.reads:
        return rehearsal(wish, act)
    ended = rehearsed(here, wish, evaluation, act, mapping(here.reads.get("rehearsal")))
    return ended or _admit(here, wish, evaluation, act)


def _admit(here: Pass, wish: Wish, evaluation: Evaluation, act: Act) -> Plan:
    """The last step before the intent: from here on the act has a place among those of all tasks."""
    if not act.mutates:
        return intent(here, wish, evaluation, act)
    if "admission" not in here.reads:
        return {"next": "admit", "question": question(here, wish, act)}
    answer = mapping(here.reads["admission"])
    if answer.get("conflict") is True:
        return look_again("another task has just written the ledger", soon(here))
    hold = answered(here, answer)
    return intent(here, wish, evaluation, act) if hold is None else held(here, wish, evaluation, hold)


def _nothing(here: Pass, spec: Spec, target: Target, evaluation: Evaluation, moment: Moment) -> Plan:
    state = evaluation.state
    over = _is_over(here, evaluation)
    if over and not is_informed(here):
        return _asking()
    # Where nothing may be told, the end is not told later either: `told` is empty now, and the next breach is news.
    over = over and stopped(here, mutates=False) is None
    if over and spec.webhook and "webhooks" not in here.reads:
        news = News("Cleared", here.state.told, evaluation.measured, here.now)
        return {"next": "deliver", "notice": notice(spec, here.task, target, state, news)}
    conditions = list(evaluation.conditions.values())
    missing = "MetricsAvailable" in evaluation.conditions and state.missing > 0
    if moment.due or moment.fresh or evaluation.conditions:
        if missing:
            text = f"{evaluation.measured}; nothing is done without data{_looks(here, spec, state)}"
        elif state.breached and spec.action == "notify" and state.breaches >= spec.consecutive:
            text = f"{evaluation.measured}; told already"
        elif state.breached:
            text = f"{evaluation.measured}; an act needs {spec.consecutive} breached samples in a row"
            text += _looks(here, spec, state)
        else:
            text = evaluation.measured
        conditions.append(Condition("ActionPermitted", "Unknown", "NotBreached", text))
        state = replace(state, retries=0)
        if not state.breached and (not missing or spec.on_missing == "Healthy"):
            state = unwanted(state)
    wait = None
    if state.missing and spec.on_missing == "Hold":
        wait = retry_wait(here, "MetricsAvailable", spec.interval)
    ready = _ready(here, spec, state, evaluation.measured, conditions)
    told = _all_clear(here, spec, target, evaluation) if over else []
    return conclude(here, spec, state, target, ready, Ending(wait=wait, events=told))


def _looks(here: Pass, spec: Spec, state: State) -> str:
    return f", next look {time_of_day(next_look(here, spec, state))}"


def _is_over(here: Pass, evaluation: Evaluation) -> bool:
    """Whether this pass sees the end of a breach that was told."""
    now = evaluation.conditions.get("ThresholdBreached")
    told = here.state.told not in ("", evaluation.state.told) and not here.state.told.startswith(REHEARSED)
    return now is not None and now.status == "False" and told


def _all_clear(here: Pass, spec: Spec, target: Target, evaluation: Evaluation) -> list[Any]:
    """A notification that the breach is over, where there was one that it had begun."""
    text = evaluation.measured + delivery_words(spec, here.task.namespace, here.reads)
    return about_act(here.task, target, "ThresholdCleared", text, "Normal", here.now, here.state.told)


def _ready(here: Pass, spec: Spec, state: State, measured: str, conditions: list[Condition]) -> Iterator[Condition]:
    yield from conditions
    if state.missing and spec.on_missing == "Hold":
        if state.missing >= UNAVAILABLE_AFTER:
            yield Condition("Ready", "False", "MetricsUnavailable", f"{measured} ({UNAVAILABLE_AFTER} times in a row)")
        elif state.sample_time is None or _has_ended(here.old_condition("Ready")):
            yield initializing(here, measured)
    elif conditions or here.old_condition("Ready").get("status") != "True":
        yield Condition("Ready", "True", "Evaluated", measured)


def _has_ended(ready: Mapping[str, Any]) -> bool:
    """Whether what it says is over, now that there is a target to look at. A refused act is not, for want of data."""
    return ready.get("status") == "False" and ready.get("reason") not in ("ActionFailed", "Forbidden")


def _acted_since_evaluation(state: State) -> bool:
    done = state.last_action.get("result") in ("Succeeded", "DryRun")
    time = parse_time(state.last_action.get("time"))
    return done and time is not None and state.last_execution is not None and time >= state.last_execution


def _told(spec: Spec, state: State) -> bool:
    """Whether the present breach was reported; what was only rehearsed counts for a rehearsal."""
    return bool(state.told) and (spec.dry_run or not state.told.startswith(REHEARSED))
