"""What becomes of a wanted act: held, intended, done, failed, or found again after a crash."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from .act import patch_of, refusal
from .answers import is_terminating, server_words
from .evaluate import Evaluation
from .events import about_act, about_task
from .gates import cooldown, hourly, later
from .memory import note, recent, status_patch
from .model import Act, Condition, Hold, Spec, State, Target, Verdict, Wish
from .notice import News, delivery_words, notice
from .proposal import carried_out
from .report import Ending, Pass, back_off, conclude, next_look, status_of
from .target import LAST_ACTION, parse_target
from .values import format_time, mapping, one_line, parse_time, time_of_day

REHEARSED = "rehearsed-"
"""Begins the id of a notification that a dry run did not send: it is none for anybody else."""
_EVENTS = {
    "scale": "Scaled",
    "restart": "Restarted",
    "rollback": "RolledBack",
    "patchResources": "ResourcesRaised",
    "notify": "ThresholdBreached",
}


def held(here: Pass, wish: Wish, evaluation: Evaluation, hold: Hold) -> dict[str, Any]:
    state = replace(evaluation.state, next_action=hold.until or evaluation.state.next_action)
    message = f"{evaluation.measured}, {hold.message}"
    if hold.until is None and hold.wait is None:
        message += f", next look {time_of_day(next_look(here, wish.spec, state))}"
    conditions = [
        *_ready(here, evaluation, state),
        Condition("ActionPermitted", "False", hold.reason, message),
    ]
    return conclude(here, wish.spec, state, wish.target, conditions, Ending(wait=hold.wait))


def rehearsal(wish: Wish, act: Act) -> dict[str, Any]:
    """The very patch, but the server is asked only whether it would take it: quotas, webhooks and policies say no
    before anything is written down."""
    return {"next": "rehearse", "definition": patch_of(wish.target, act)}


def intent(here: Pass, wish: Wish, evaluation: Evaluation, act: Act) -> dict[str, Any]:
    """The act, and the status that says it is about to be done."""
    spec = wish.spec
    plan: dict[str, Any] = {"next": "act", "how": "patch", "notice": {}}
    if act.mutates:
        plan["definition"] = patch_of(wish.target, act)
    else:
        text = f"{evaluation.measured} on {wish.target.name}"
        if wish.cause:
            text += f"; a model takes this for the cause: {wish.cause}"
        plan["definition"] = about_act(here.task, wish.target, _EVENTS[act.type], text, "Warning", act.time, act.id)
        plan["how"] = "notify"
        if spec.webhook:
            news = News("Breached", act.id, text, act.time)
            plan["notice"] = notice(spec, here.task, wish.target, evaluation.state, news)
    # The template that is left is written before the act: after a crash nobody would know it.
    state = leaving(evaluation.state, act)
    state = replace(state, last_action=_entry(wish, evaluation, act, "Started", act.reason))
    permitted = Condition("ActionPermitted", "True", "Permitted", evaluation.measured)
    conditions = [*_ready(here, evaluation, state), permitted]
    plan["intent"] = status_patch(here.old, status_of(here, state, wish.target, conditions, "Running"))
    return plan


def leaving(state: State, act: Act) -> State:
    """With the pod template that a rollback leaves among those that are never gone back to."""
    if not act.change.leaves:
        return state
    return replace(state, rolled_back_from=tuple(dict.fromkeys([*state.rolled_back_from, act.change.leaves])))


def rehearsed(
    here: Pass, wish: Wish, evaluation: Evaluation, act: Act, result: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The end of the pass if the server would not take the act, or if a rehearsal is all that is asked for."""
    failure = _failure(act, result, mapping(result.get("result"))) if act.mutates else None
    if failure is not None:
        return _failed(here, wish, evaluation, act, failure, str(result.get("msg", "")), rehearsed=True)
    if not wish.spec.dry_run:
        return None
    message = f"{evaluation.measured}, dry run: would have {act.change.words}"
    entry = _entry(wish, evaluation, act, "DryRun", act.reason, message)
    state = replace(evaluation.state, last_action=entry, retries=0, next_action=None)
    state = replace(state, history=note(state, entry, wish.spec.history_limit))
    if not act.mutates:
        state = replace(state, told=f"{REHEARSED}{act.id}")
    conditions = [*_ready(here, evaluation, state), Condition("ActionPermitted", "False", "DryRun", message)]
    return conclude(here, wish.spec, state, wish.target, conditions)


def finish(here: Pass, wish: Wish, evaluation: Evaluation, act: Act, result: Mapping[str, Any]) -> dict[str, Any]:
    """`result` comes from the module. Its ok proves nothing (a vanished target is ok), the id on the target does."""
    after = mapping(result.get("result"))
    failure = _failure(act, result, after)
    # Also after a failure, which may be no more than a lost answer.
    evaluation = replace(evaluation, state=leaving(evaluation.state, act))
    if failure is not None:
        return _failed(here, wish, evaluation, act, failure, str(result.get("msg", "")))
    state = _done(wish.spec, evaluation.state, act.id, act.time, act.reason, here.time_scale)
    said = wait_words(replace(wish, state=state))
    told_webhook = "" if wish.spec.mutates else delivery_words(wish.spec, here.task.namespace, here.reads)
    message = f"{evaluation.measured}, {act.change.words}{told_webhook}{said}"
    entry = _entry(wish, evaluation, act, "Succeeded", act.reason, message)
    state = replace(
        state, last_action=entry, history=note(state, entry, wish.spec.history_limit), next_action=_until(wish, state)
    )
    told = []
    if wish.spec.mutates:
        told = about_act(here.task, wish.target, _EVENTS[act.type], message, "Normal", act.time, act.id)
        unasked = wish.spec.action in ("scale", "restart")  # the others have the consent of the task's author
        if unasked and wish.target.gitops and not state.gitops_warned:
            told.append(_gitops_warning(here, wish))
            state = replace(state, gitops_warned=True)
    target = parse_target(after, here.task.uid) if wish.spec.mutates else wish.target
    conditions = [
        *_ready(here, evaluation, state),
        Condition("ActionPermitted", "True", "Permitted", message),
    ]
    return conclude(here, wish.spec, state, target, conditions, Ending(events=told))


def _gitops_warning(here: Pass, wish: Wish) -> dict[str, Any]:
    text = (
        f"{wish.target.gitops} manages {wish.target.name}: what its repository says about replicas or pod annotations"
    )
    text += " wins at the next sync"
    return about_task(here.task, "GitOpsManaged", text, "Warning", here.now, wish.target.uid)


def recover(here: Pass, spec: Spec, state: State, target: Target) -> tuple[State, list[Any]]:
    """An intent without a result is what a crash leaves, and a failed act may have arrived all the same: its answer was
    lost. The target knows; the id is compared, never computed again, for the target's generation has moved since."""
    last = dict(state.last_action)
    time = parse_time(last.get("time"))
    if last.get("result") not in ("Started", "Failed") or time is None:
        return state, []
    if last.get("type") == "notify" or not last.get("id") or target.last_action != last["id"]:
        return (_interrupted(here, spec, state, target, time) if last["result"] == "Started" else state), []
    message = f"{last.get('message', '')}, found done after an interruption"
    entry = {**last, "result": "Succeeded", "message": message[:1024]}
    state = _done(spec, state, str(last["id"]), min(time, here.now), str(last.get("reason", "")), here.time_scale)
    state = replace(state, last_action=entry, history=note(state, entry, spec.history_limit))
    reason = _EVENTS.get(str(last.get("type")), "Acted")
    return state, about_act(here.task, target, reason, message, "Normal", time, str(last["id"]))


def _interrupted(here: Pass, spec: Spec, state: State, target: Target, time: datetime) -> State:
    text = "interrupted before it was done; decided again"
    entry = {**state.last_action, "result": "Failed", "reason": "Interrupted", "message": text}
    state = replace(state, last_action=entry, history=note(state, entry, spec.history_limit))
    mutated = entry.get("type") != "notify" and target.generation != entry.get("targetGeneration")
    if not mutated or target.uid != entry.get("targetUID"):
        return state
    # It may have been done, and somebody have acted since: it counts for the hourly limit.
    times = sorted([*state.act_times, min(time, here.now)])
    return replace(state, act_times=recent(times, here.now, 3600 * here.time_scale))


def wait_words(wish: Wish) -> str:
    until = _until(wish, wish.state)
    return f", next action not before {until.strftime('%H:%M:%SZ')}" if until is not None else ""


def _until(wish: Wish, state: State) -> datetime | None:
    """When the limits let the next act through, as far as they are known now."""
    after = replace(wish, state=state)
    hold = later(hourly(after), cooldown(after, wish.spec.cooldown) if wish.spec.mutates else None)
    return hold.until if hold is not None else None


def _done(spec: Spec, state: State, identity: str, time: datetime, reason: str, time_scale: float) -> State:
    times = recent(sorted([*state.act_times, time]), time, 3600 * time_scale)
    state = carried_out(replace(state, act_times=times, retries=0), identity)
    if not spec.mutates:
        return replace(state, told=identity)
    if reason == "Return":
        return replace(state, healthy_since=time)
    return replace(state, verdict=Verdict(identity, 0))


def _failure(act: Act, result: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    refused = refusal(result)
    if refused is not None:
        terminating = is_terminating(str(result.get("msg", "")))
        return (None if not act.mutates else "ActionFailed") if terminating else refused
    if not act.mutates:
        return None
    notes = mapping(mapping(after.get("metadata")).get("annotations"))
    return None if notes.get(LAST_ACTION) == act.id else "TargetNotFound"


def _failed(
    here: Pass, wish: Wish, evaluation: Evaluation, act: Act, reason: str, text: str, *, rehearsed: bool = False
) -> dict[str, Any]:
    retries = evaluation.state.retries + 1
    message = f"{evaluation.measured}, {act.type} failed: {one_line(server_words(text), 400) or reason}"
    entry = _entry(wish, evaluation, act, "Failed", reason, message)
    state = replace(evaluation.state, last_action=entry, retries=retries)
    permitted = Condition("ActionPermitted", "True", "Permitted", message)
    wait = back_off(here, retries, wish.spec.interval)
    if reason in ("Conflict", "TargetNotFound"):
        # The target moved under the act. Nothing is wrong: look again.
        conditions = [*_ready(here, evaluation, state), permitted]
        return conclude(here, wish.spec, state, wish.target, conditions, Ending(wait=wait))
    state = replace(state, history=note(state, entry, wish.spec.history_limit))
    ready = Condition("Ready", "False", "Forbidden" if reason == "Forbidden" else "ActionFailed", message)
    conditions = [*evaluation.conditions.values(), permitted, ready]
    if reason == "Invalid" and rehearsed:
        # The server was asked and will always say no.
        return conclude(here, wish.spec, state, wish.target, conditions, Ending("Failed", waits_for_event=True))
    return conclude(here, wish.spec, state, wish.target, conditions, Ending(wait=wait))


def _ready(here: Pass, evaluation: Evaluation, state: State) -> list[Condition]:
    """Ready, unless acts have been failing: that stays until one succeeds or none is wanted."""
    conditions = list(evaluation.conditions.values())
    failing = state.retries > 0 and here.old_condition("Ready").get("reason") in ("ActionFailed", "Forbidden")
    if not failing and (conditions or here.old_condition("Ready").get("status") != "True"):
        conditions.append(Condition("Ready", "True", "Evaluated", evaluation.measured))
    return conditions


def _entry(wish: Wish, evaluation: Evaluation, act: Act, result: str, reason: str, message: str = "") -> dict[str, Any]:
    entry = {
        "id": act.id,
        "time": format_time(act.time),
        "type": act.type,
        "result": result,
        "reason": reason,
        "observedValue": evaluation.state.observed_value or None,
        "from": act.change.origin or None,
        "to": act.change.goal if act.mutates else None,
        "targetUID": wish.target.uid,
        "targetGeneration": wish.target.generation,
        "resourceVersion": wish.target.resource_version,
        "dryRun": wish.spec.dry_run,
        "decidedBy": wish.spec.decided_by,
        "message": (message or evaluation.measured)[:1024],
    }
    return {key: value for key, value in entry.items() if value is not None}
