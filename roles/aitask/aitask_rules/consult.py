"""Action diagnose within a pass: whether a model has to be asked, what is read for it, and what comes of its verdict.

What is sent and how an answer is judged is the matter of `diagnosis`. Here is when: only for an act that is wanted and
that no gate holds; not while a proposal waits for a person, not where the evidence is what it was at the last answer,
and not beyond the budget. No pass waits for an answer: the question goes out as a letter, and a later pass finds what
came back.
"""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from .config import Provider
from .diagnosis import (
    DIAGNOSED,
    Facts,
    Question,
    Verdict,
    ask,
    cached,
    judge,
    log_source,
    read_usage,
    refuse,
    render_diagnosis,
    standing,
    with_choice,
)
from .evaluate import Evaluation, is_due
from .gates import guard_absent
from .model import Condition, Diagnose, Hold, Spec, State, Wish
from .permission import settings_of
from .proposal import OPEN
from .providers import choose_provider
from .report import Pass, look_again
from .values import format_time, go_duration, items, mapping, parse_time, whole

_RETRY, _LONGEST_RETRY = 5.0, 30.0
"""Seconds until it is asked again whether the provider is free: as long as was waited already, between these. To ask
takes a pass with all its reads."""
_LOOK, _LONGEST_LOOK = 2.0, 10.0
"""Seconds until it is looked again whether an answer has come: a tenth of what was waited already, between these."""
_LATE = 60.0
"""Seconds that an answer may lie beyond its time; what was asked before is no matter of today."""


def look_first(here: Pass, spec: Spec) -> dict[str, Any] | None:
    """Before anything else is read: whether the answer to an earlier question has come. If not the pass ends here, as
    it found everything, unless an evaluation is due."""
    if spec.decided_by or here.state.diagnosis.get("reason") != "Pending":
        return None
    if "peeked" not in here.reads:
        return {"next": "peek"}
    if not _is_under_way(here) or here.is_fresh() or is_due(here.state.last_execution, spec.interval, here.now):
        return None
    return look_again("waits for the answer of a model", go_duration(_next_look(here, here.state)))


def waiting(here: Pass, wish: Wish) -> Hold | None:
    """That the answer has not come yet; None if it has, or none is to come, or it was for another spec."""
    return _await(here, _of(wish), wish.state) if _is_under_way(here) and wish.state.diagnosis else None


def _is_under_way(here: Pass) -> bool:
    return mapping(here.reads.get("peeked")).get("held") == "Pending"


def consult(here: Pass, wish: Wish, evaluation: Evaluation) -> Verdict | dict[str, Any]:
    """The verdict, or what has to be read or sent first, as a plan."""
    diagnose = _of(wish)
    facts = Facts(here.task, wish.spec, wish.target, evaluation.state, here.reads)
    if wish.state.proposal.get("state") in OPEN:
        found = standing(diagnose, facts, wish.state.diagnosis)
        if found is not None:
            return found
    provider = choose_provider(settings_of(here.reads), "llm", diagnose.provider, here.namespace)
    if isinstance(provider, str):
        return refuse(diagnose, "ProviderNotFound", provider)
    absent = guard_absent(settings_of(here.reads), here.reads, here.require_guard)
    if absent:
        # Else whoever may write a task could read, in the answer, what he has no right to read.
        return refuse(diagnose, "GuardAbsent", absent)
    return _missing(here, diagnose, facts) or _answer(here, diagnose, facts, provider)


def _missing(here: Pass, diagnose: Diagnose, facts: Facts) -> dict[str, Any] | None:
    """The reads that evidence still lacks."""
    if "events" not in here.reads:
        return {"next": "evidence"}
    if not diagnose.include_logs or "logs" in here.reads:
        return None
    source = log_source(facts.target, mapping(here.reads.get("pods")))
    return {"next": "logs", "reads": {"logs": source}} if source else None


def _answer(here: Pass, diagnose: Diagnose, facts: Facts, provider: Provider) -> Verdict | dict[str, Any]:
    question = ask(diagnose, facts, provider)
    if "model" in here.reads:
        return _heard(here, diagnose, facts, question, provider)
    if not mapping(here.reads.get("peeked")).get("ready"):
        known = cached(diagnose, facts, question, facts.state.diagnosis)
        if known is not None:
            return known
        usage = read_usage(here.state.usage, here.now)
        if not usage.allows(diagnose.daily_tokens, question.reserve):
            text = f"{usage.tokens} of {diagnose.daily_tokens} tokens are used today, "
            return refuse(diagnose, "BudgetExhausted", f"{text}a question may take {question.reserve}", question.key)
        if _is_lost(here, diagnose, facts.state):
            return refuse(diagnose, "Timeout", "its answer was lost, more than once or for long", question.key)
    return {"next": "ask", "question": {**question.as_plan(), "note": _note(here, question)}}


def _is_lost(here: Pass, diagnose: Diagnose, state: State) -> bool:
    """Whether what was asked is not under way any more, and no time is left to ask once more."""
    return state.diagnosis.get("reason") == "Pending" and _has_waited(here, diagnose, state)


def _note(here: Pass, question: Question) -> str:
    """What the judgement of the answer needs of the question: by then the evidence may be other."""
    note = {"time": format_time(here.now), "key": question.key, "reserve": question.reserve}
    return json.dumps({**note, "evidence": question.evidence})


def _heard(here: Pass, diagnose: Diagnose, facts: Facts, question: Question, provider: Provider) -> Verdict:
    """What the answer says, if it has come."""
    answer = mapping(here.reads["model"])
    if answer.get("unsent"):
        text = f"its credential cannot be read: Secret {provider.secret}, key {provider.key}"
        return refuse(diagnose, "Unauthorized", text)
    if "note" not in answer:
        return judge(diagnose, facts, question, answer)
    note = mapping(json.loads(str(answer["note"])))
    evidence = tuple(map(str, items(note.get("evidence"))))
    asked = replace(question, key=str(note.get("key")), evidence=evidence, reserve=whole(note.get("reserve")))
    verdict = judge(diagnose, facts, asked, answer)
    sent = parse_time(note.get("time"))
    if sent is not None and here.now - sent <= timedelta(seconds=2 * diagnose.timeout + _LATE):
        return verdict
    late = refuse(diagnose, "Pending", "the answer to an earlier question has come, too late to be of use")
    return replace(late, tokens=verdict.tokens, calls=verdict.calls)


def advised(here: Pass, wish: Wish, evaluation: Evaluation, verdict: Verdict) -> tuple[Wish, Evaluation]:
    """The wish for what the verdict says, and the evaluation that tells it."""
    usage = read_usage(here.state.usage, here.now).after(verdict).render() if verdict.calls else here.state.usage
    state = replace(evaluation.state, diagnosis=_remembered(here, evaluation.state, verdict), usage=usage)
    waits = _turn(here, wish, state, verdict)
    succeeded = "True" if verdict.reason == DIAGNOSED else "Unknown" if waits else "False"
    told = Condition("DiagnosisSucceeded", succeeded, verdict.reason, waits.message if waits else verdict.message)
    evaluation = replace(evaluation, state=state, conditions={**evaluation.conditions, "DiagnosisSucceeded": told})
    spec = replace(with_choice(wish.spec, verdict), decided_by="model" if verdict.is_of_model else "fallback")
    cause = verdict.root_cause if spec.decided_by == "model" else ""
    return replace(wish, spec=spec, state=state, cause=cause, waits=waits), evaluation


def _turn(here: Pass, wish: Wish, state: State, verdict: Verdict) -> Hold | None:
    """Why nothing is decided yet."""
    diagnose = _of(wish)
    if not verdict.waits or _has_waited(here, diagnose, state):
        return None
    if verdict.reason == "Pending":
        return _await(here, diagnose, state)
    text = f"waits for model provider {diagnose.provider}, which another task is asking"
    waited = _waited(here, state)
    return Hold("DiagnosisPending", text, wait=min(max(_RETRY, waited), _LONGEST_RETRY, diagnose.timeout - waited))


def _has_waited(here: Pass, diagnose: Diagnose, state: State) -> bool:
    """Neither an answer nor others who ask the same provider are waited for much longer than an answer may take."""
    most = diagnose.timeout if state.diagnosis.get("reason") == "Busy" else 2 * diagnose.timeout + _LATE
    return _waited(here, state) >= most


def _waited(here: Pass, state: State) -> float:
    """Seconds."""
    since = parse_time(state.diagnosis.get("waitingSince")) or here.now
    return (here.now - since).total_seconds()


def _next_look(here: Pass, state: State) -> float:
    return min(max(_LOOK, _waited(here, state) // 10), _LONGEST_LOOK)


def _await(here: Pass, diagnose: Diagnose, state: State) -> Hold:
    text = f"waits for the answer of model provider {diagnose.provider}, at most {diagnose.timeout:g} s"
    return Hold("DiagnosisPending", text, wait=_next_look(here, state))


def _remembered(here: Pass, state: State, verdict: Verdict) -> dict[str, Any]:
    """What the status keeps of it. Told again it is not written again, and has its first time."""
    old = dict(state.diagnosis)
    known = (verdict.key, verdict.reason) == (old.get("evidenceHash"), old.get("reason"))
    if known and not verdict.calls and not verdict.waits:
        return old
    new = {key: value for key, value in render_diagnosis(verdict, here.now).items() if value is not None}
    if verdict.waits:
        new["waitingSince"] = format_time(_since(here, state, verdict))
    unchanged = {**new, "time": None} == {**old, "time": None}
    return old if unchanged and not verdict.calls else new


def _since(here: Pass, state: State, verdict: Verdict) -> datetime:
    """When this wait began. An answer that came and an act of the fallback end one."""
    goes_on = state.diagnosis.get("reason") == verdict.reason and not verdict.calls
    since = parse_time(state.diagnosis.get("waitingSince")) if goes_on else None
    done = state.done_at()
    return here.now if since is None or (done is not None and done >= since) else since


def _of(wish: Wish) -> Diagnose:
    if wish.spec.diagnose is None:
        raise ValueError(f"action {wish.spec.action} asks no model")
    return wish.spec.diagnose
