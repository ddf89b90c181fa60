"""Approval: a person says yes to one act, on the target as it stood when the act was proposed.

A proposal lives in the status and is answered by the annotation aiops.example.com/approve: its id approves it, `deny:`
and its id denies it. It is Pending until then, or until it can no longer be done as it was proposed:

    Expired      nobody answered in time; asked again after policy.cooldownSeconds, should the breach last
    Denied       stands until the breach is over, or the spec or the target is changed
    Superseded   the breach is over, the spec or the target was changed, or another act is called for now
    Approved     done
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from .act import identity_of
from .model import Act, Hold, State, Target, Task, Wish
from .values import format_time, parse_time, time_of_day

APPROVE = "aiops.example.com/approve"
OPEN = ("Pending", "Denied", "Expired")


def needs_approval(wish: Wish) -> bool:
    """A rehearsal changes nothing and needs none."""
    asked = wish.spec.approval == "Always" or (wish.spec.approval == "OnDiagnosis" and wish.spec.decided_by == "model")
    return asked and wish.spec.mutates and not wish.spec.dry_run


def review(state: State, task: Task, target: Target, now: datetime) -> State:
    """What has become of the proposal since it was written: it was for this spec and this target, and has its time."""
    proposal = state.proposal
    if proposal.get("state") not in OPEN:
        return state
    same_target = state.target_uid in ("", target.uid) and proposal.get("targetGeneration") == target.generation
    if state.observed_generation != task.generation or not same_target:
        return _turned(state, "Superseded")
    expires = parse_time(proposal.get("expiresAt"))
    if proposal.get("state") == "Pending" and (expires is None or now >= expires):
        return _turned(state, "Expired")
    return state


def withdraw(state: State) -> State:
    """No act is wanted any more; the next breach is asked about anew, also after a denial."""
    return _turned(state, "Superseded") if state.proposal.get("state") in OPEN else state


def carried_out(state: State, identity: str) -> State:
    """The act with this id is done; if it was a proposal, it is no more."""
    return _turned(state, "Approved") if state.proposal.get("id") == identity else state


def settle(wish: Wish, act: Act) -> tuple[State, Act | Hold]:
    """The state with the proposal that this act needs, and the act if it is approved, else why it waits."""
    proposal = wish.state.proposal
    standing = str(proposal.get("state", ""))
    if standing not in OPEN or proposal.get("parameters") != act.change.intends:
        return _propose(wish, act)
    identity, answer = str(proposal.get("id")), str(wish.task.annotations.get(APPROVE, ""))
    if standing == "Denied":
        return wish.state, _denied(act, identity)
    if standing == "Expired":
        again = (parse_time(proposal.get("expiresAt")) or wish.now) + timedelta(seconds=wish.spec.cooldown)
        if wish.now >= again:
            return _propose(wish, act)
        text = f"nobody approved {identity} in time to {act.change.intends}, asks again at {time_of_day(again)}"
        return wish.state, Hold("ApprovalExpired", text, again)
    if answer == identity:
        return wish.state, replace(act, id=identity)
    if answer == f"deny:{identity}":
        return _turned(wish.state, "Denied"), _denied(act, identity)
    return wish.state, _awaited(wish.state.proposal, answer)


def _propose(wish: Wish, act: Act) -> tuple[State, Hold]:
    """The time is part of the id, so that no approval of an earlier proposal counts for this one."""
    created = format_time(wish.now)
    proposal = {
        "id": identity_of(wish.task, wish.target, "proposal", act.type, act.change.intends, created),
        "action": act.type,
        "parameters": act.change.intends[:1024],
        "targetGeneration": wish.target.generation,
        "createdAt": created,
        "expiresAt": format_time(wish.now + timedelta(seconds=wish.spec.approval_timeout)),
        "state": "Pending",
    }
    return replace(wish.state, proposal=proposal), _awaited(proposal, str(wish.task.annotations.get(APPROVE, "")))


def _awaited(proposal: Mapping[str, Any], answer: str) -> Hold:
    text = f"asks to {proposal['parameters']}: {how_to_answer(proposal)}"
    if answer:
        text += f" (it says {answer[:64]!r}, which is no answer to this proposal)"
    return Hold("AwaitingApproval", text)


def how_to_answer(proposal: Mapping[str, Any]) -> str:
    until = parse_time(proposal["expiresAt"])
    before = f" before {format_time(until)}" if until else ""
    return f"annotate the task {APPROVE}={proposal['id']}{before}, or deny:{proposal['id']}"


def _denied(act: Act, identity: str) -> Hold:
    text = f"proposal {identity} to {act.change.intends} was denied"
    return Hold("ApprovalDenied", f"{text}; stands until the breach is over, or the spec or the target is changed")


def _turned(state: State, standing: str) -> State:
    return replace(state, proposal={**state.proposal, "state": standing})
