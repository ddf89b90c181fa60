"""How a pass begins and how it ends: the CR taken apart, and the status, Events and next time put together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from .events import about_task
from .gates import size_hold
from .memory import JUDGED_ANEW, condition_of, merge_conditions, note, parse_state, render_status, status_patch
from .metrics import measured
from .model import Condition, Spec, State, Target, Task
from .proposal import how_to_answer
from .values import format_time, go_duration, items, mapping, parse_time, whole

_FIRST_RETRY = 5.0
# Of these the history tells by the proposal itself.
_OF_PROPOSALS = ("AwaitingApproval", "ApprovalDenied", "ApprovalExpired")
# Holds that follow every act as a matter of course; in the history they would push out what matters.
_ROUTINE = ("Cooldown", "RolloutInProgress", "NotBreached", "DiagnosisPending", *_OF_PROPOSALS)


@dataclass(frozen=True)
class Pass:
    """Everything a pass starts from."""

    task: Task
    raw_spec: Mapping[str, Any]
    old: Mapping[str, Any]
    """The status as it stands in the CR."""
    state: State
    now: datetime
    time_scale: float
    min_pod_age: float
    require_guard: bool
    operator_namespace: str
    ledger: str
    """Name of the ConfigMap, there."""
    act_seconds: float
    """How long an act has its place in it."""
    reads: Mapping[str, Any]

    @property
    def namespace(self) -> str:
        return self.task.namespace

    @property
    def history_limit(self) -> int:
        """Also where the rest of the spec cannot be worked on."""
        limit = self.raw_spec.get("historyLimit")
        return 10 if limit is None else whole(limit)

    def old_condition(self, name: str) -> Mapping[str, Any]:
        return condition_of(self.old, name)

    def is_fresh(self) -> bool:
        """Nothing that was counted so far stands: a new spec, a target just found, or the end of a pause."""
        return (
            self.state.observed_generation != self.task.generation
            or self.state.last_execution is None
            or self.old_condition("TargetFound").get("status") != "True"
            or self.old_condition("Suspended").get("status") != "False"
        )

    def is_stale(self, rivals: Sequence[Any]) -> bool:
        """Whether the tasks just read show this one gone, or in another version than the one the pass began with."""
        metas = [mapping(mapping(rival).get("metadata")) for rival in rivals]
        versions = [str(meta.get("resourceVersion")) for meta in metas if meta.get("uid") == self.task.uid]
        return versions != [self.task.resource_version]

    def merged(self, conditions: Iterable[Condition]) -> list[dict[str, Any]]:
        return merge_conditions(items(self.old.get("conditions")), conditions, self.task.generation, self.now)


def open_pass(world: Mapping[str, Any]) -> Pass:
    raw = mapping(world.get("task"))
    meta, status = mapping(raw.get("metadata")), mapping(raw.get("status"))
    now = parse_time(world.get("now"))
    if now is None:
        raise ValueError(f"now must be an RFC 3339 time, not {world.get('now')!r}")
    now = now.replace(microsecond=0)
    return Pass(
        task=Task(
            name=str(meta.get("name", "")),
            namespace=str(meta.get("namespace", "")),
            uid=str(meta.get("uid", "")),
            generation=whole(meta.get("generation")),
            resource_version=str(meta.get("resourceVersion", "")),
            annotations=mapping(meta.get("annotations")),
            seniority=(str(meta.get("creationTimestamp", "")), str(meta.get("name", ""))),
            deleting=bool(meta.get("deletionTimestamp")),
        ),
        raw_spec=mapping(world.get("spec")),
        old=status,
        state=parse_state(status, now),
        now=now,
        time_scale=float(world.get("time_scale") or 1),
        min_pod_age=float(world.get("min_pod_age", 60)) * float(world.get("time_scale") or 1),
        require_guard=world.get("require_guard") is not False,
        operator_namespace=str(world.get("operator_namespace", "")),
        ledger=str(world.get("ledger", "aitask-ledger")),
        act_seconds=float(world.get("act_seconds", 60)) * float(world.get("time_scale") or 1),
        reads=mapping(world.get("reads")),
    )


@dataclass(frozen=True)
class Ending:
    """How a pass ends where it does not end as usual."""

    phase: str = "Running"
    wait: float | None = None
    """Seconds to a retry that comes before the next evaluation."""
    waits_for_event: bool = False
    """Nothing but an edit changes anything: no next time."""
    events: Sequence[Any] = ()


def conclude(
    here: Pass,
    spec: Spec | None,
    state: State,
    target: Target | None,
    conditions: Iterable[Condition],
    ending: Ending = Ending(),
) -> dict[str, Any]:
    """The plan that ends a pass."""
    told = list(conditions)
    state, news = _news_of_proposals(here, state)
    state = _remember(here, state, told)
    status = status_of(here, state, target, told, ending.phase)
    ready = next((mapping(entry) for entry in status["conditions"] if entry["type"] == "Ready"), {})
    return {
        "next": "report",
        "status": status_patch(here.old, status),
        "events": [*ending.events, *news, *_of_diagnosis(here, state, told), *_transition(here, ready)],
        "requeue": "" if ending.waits_for_event else go_duration(_next_time(here, spec, state, ending.wait)),
        "metrics": measured(here.state, here.old_condition("ActionPermitted"), state, told, here.reads),
        "summary": _summary(here, status),
    }


def look_again(why: str, soon: str) -> dict[str, Any]:
    """Nothing is known that could be written down. Look again."""
    return {"next": "report", "status": {}, "events": [], "requeue": soon, "summary": why}


def status_of(
    here: Pass, state: State, target: Target | None, conditions: Sequence[Condition], phase: str
) -> dict[str, Any]:
    """The status that says all this."""
    standing = [Condition("Suspended", "False", "Active", "not suspended")] if phase != "Suspended" else []
    if target is not None:
        standing.append(Condition("TargetFound", "True", "Found", f"Deployment {target.name}"))
        standing.extend(_of_template(here, target))
    standing.extend(_of_no_diagnosis(here, state))
    until = state.next_action or _still_shown(here, conditions)
    upcoming = until if until and until > here.now else None
    state = replace(state, observed_generation=here.task.generation, next_action=upcoming)
    merged = here.merged([*standing, *conditions])
    return render_status(here.history_limit, state, target, phase, here.old, merged)


def _still_shown(here: Pass, conditions: Sequence[Condition]) -> datetime | None:
    """The time of a hold that promises nothing, as long as ActionPermitted goes on giving that hold."""
    held_anew = here.state.held_by in JUDGED_ANEW and all(entry.type != "ActionPermitted" for entry in conditions)
    return parse_time(here.old.get("nextActionTime")) if held_anew else None


def _of_template(here: Pass, target: Target) -> Iterator[Condition]:
    """What became of spec.template and spec.replicas; nothing where the task adopts its target."""
    hold = size_hold(here.raw_spec.get("replicas"), target, here.reads) if target.owned else None
    hold = target.unkept or hold
    if hold is not None:
        yield Condition("TemplateApplied", "False", hold.reason, hold.message)
    elif target.departed:
        text = f"an act has changed {target.name} since spec.template was applied; the next edit of it is applied again"
        yield Condition("TemplateApplied", "True", "ChangedByAct", text)
    elif target.template_hash and target.owned:
        yield Condition("TemplateApplied", "True", "Applied", f"Deployment {target.name} is as spec.template says")


def _of_no_diagnosis(here: Pass, state: State) -> Iterator[Condition]:
    """Where the wait for a model has ended without a verdict, nothing is pending any more."""
    if not state.diagnosis and here.old_condition("DiagnosisSucceeded").get("status") == "Unknown":
        yield Condition("DiagnosisSucceeded", "Unknown", "NotBreached", "no diagnosis is wanted any more")


def retry_wait(here: Pass, condition: str, interval: float) -> float:
    """As long as the trouble has lasted, at least 5 s and at most the interval: that doubles from try to try, and needs
    no counter that would have to be written each time."""
    entry = here.old_condition(condition)
    since = parse_time(entry.get("lastTransitionTime")) if entry.get("status") == "False" else None
    lasted = (here.now - since).total_seconds() if since else 0.0
    return min(max(_FIRST_RETRY * here.time_scale, lasted), interval)


def back_off(here: Pass, retries: int, interval: float) -> float:
    return float(min(_FIRST_RETRY * here.time_scale * 2 ** min(max(retries - 1, 0), 10), interval))


def spread(uid: str) -> float:
    """Up to 10 % more or less, always the same for one task, so that tasks made together do not run together."""
    return int(sha256(uid.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF * 0.2 - 0.1


def next_look(here: Pass, spec: Spec, state: State) -> datetime:
    """When the next evaluation is due: an interval after the last one, not after this pass, which an event may have
    brought about."""
    return (state.last_execution or here.now) + timedelta(seconds=spec.interval * (1 + spread(here.task.uid)))


def _next_time(here: Pass, spec: Spec | None, state: State, wait: float | None) -> float:
    interval = spec.interval if spec else 60.0
    pause = left = interval * (1 + spread(here.task.uid))
    if spec is not None:
        left = (next_look(here, spec, state) - here.now).total_seconds()
    if wait is not None:
        left = wait
    return max(min(left, pause), min(1.0, interval))


def _remember(here: Pass, state: State, conditions: Sequence[Condition]) -> State:
    """A change of state worth telling later goes into the history; equal neighbours are one entry."""
    by_type = {condition.type: condition for condition in conditions}
    ready, permitted = by_type.get("Ready"), by_type.get("ActionPermitted")
    sampled = by_type.get("MetricsAvailable")
    if ready is not None and ready.status == "False":
        cause = ready
    elif permitted is not None and permitted.status == "False" and permitted.reason not in _ROUTINE:
        cause = permitted
    elif sampled is not None and sampled.status == "False":
        cause = sampled
    else:
        return state
    if cause.reason == "DryRun":
        return state
    entry = {
        "time": format_time(here.now),
        "type": str(here.raw_spec.get("action", ""))[:32],
        "result": "Held",
        "reason": cause.reason,
        "observedValue": state.observed_value or None,
        "message": cause.message[:1024],
    }
    kept = {key: value for key, value in entry.items() if value is not None}
    return replace(state, history=note(state, kept, here.history_limit))


def _news_of_proposals(here: Pass, state: State) -> tuple[State, list[Any]]:
    """One Event and one entry in the history for each turn of a proposal; an approved one is told by its act."""
    before, after = here.state.proposal, state.proposal
    turns = [(after, str(after.get("state")))] if before != after else []
    if before.get("id") != after.get("id"):
        turns.insert(0, (before, "Superseded"))
    events = []
    for proposal, standing in turns:
        if standing not in _PROPOSAL_EVENTS or (standing == "Superseded" and before.get("state") != "Pending"):
            continue  # an answered proposal is not told to have lapsed
        reason, kind, words = _PROPOSAL_EVENTS[standing]
        text = f"{words} {proposal['parameters']} (proposal {proposal['id']})"
        if standing == "Pending":
            text = f"{text}: {how_to_answer(proposal)}"
        events.append(about_task(here.task, reason, text, kind, here.now, str(proposal["id"])))
        entry = {
            "id": proposal["id"],
            "time": format_time(here.now),
            "type": proposal["action"],
            "result": "Proposed" if standing == "Pending" else standing,
            "reason": reason,
            "message": text[:1024],
        }
        state = replace(state, history=note(state, entry, here.history_limit))
    return state, events


_PROPOSAL_EVENTS = {
    "Pending": ("ApprovalRequired", "Warning", "asks to"),
    "Denied": ("ApprovalDenied", "Normal", "will not"),
    "Expired": ("ApprovalExpired", "Warning", "nobody approved in time to"),
    "Superseded": ("ProposalSuperseded", "Normal", "no longer asks to"),
}
"""Reason and type of the Event, and its first words, by what the proposal has become."""


def _of_diagnosis(here: Pass, state: State, conditions: Iterable[Condition]) -> list[Any]:
    """One Event for each answer of a model that can be used, and for the first of several failures."""
    told = next((condition for condition in conditions if condition.type == "DiagnosisSucceeded"), None)
    if told is None or state.usage == here.state.usage:
        return []
    if told.status == "True":
        kind, reason = "Normal", "Diagnosed"
    elif state.usage.get("consecutiveFailures") == 1:
        kind, reason = "Warning", "DiagnosisFailed"
    else:
        return []
    text = told.message if told.status == "True" else f"{told.reason}: {told.message}"
    return [about_task(here.task, reason, text, kind, here.now, format_time(here.now))]


def _transition(here: Pass, ready: Mapping[str, Any]) -> list[Any]:
    """One Event when the task stops or starts again to work, none while it stays so."""
    before = here.old_condition("Ready")
    if ready.get("reason") == "Initializing":
        return []
    if ready.get("status") == "False" and before.get("reason") != ready.get("reason"):
        kind, reason = "Warning", str(ready["reason"])
    elif ready.get("status") == "True" and before.get("status") == "False":
        kind, reason = "Normal", "Recovered"
    else:
        return []
    return [about_task(here.task, reason, str(ready.get("message")), kind, here.now, format_time(here.now))]


def _summary(here: Pass, status: Mapping[str, Any]) -> str:
    by_type = {entry["type"]: entry for entry in status["conditions"]}
    ready, permitted = mapping(by_type.get("Ready")), mapping(by_type.get("ActionPermitted"))
    shown = permitted if ready.get("status") == "True" and permitted.get("message") else ready
    return f"{here.task.namespace}/{here.task.name} {shown.get('reason')}: {shown.get('message')}"
