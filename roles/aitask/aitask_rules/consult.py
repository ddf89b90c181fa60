"""Action diagnose within a pass: whether a model has to be asked, what is read for it, and what comes of its verdict.

What is sent and how an answer is judged is the matter of `diagnosis`. Here is when: only for an act that is wanted and
that no gate holds; not while a proposal waits for a person, not where the evidence is what it was at the last answer,
and not beyond the budget.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from .config import Provider
from .diagnosis import (
    DIAGNOSED,
    Facts,
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
from .evaluate import Evaluation
from .memory import fields_patch
from .metrics import consulted
from .model import Condition, Diagnose, Hold, State, Wish
from .permission import settings_of
from .proposal import OPEN
from .providers import choose_provider
from .report import Pass
from .values import format_time, mapping, parse_time

_RETRY = 5.0
"""Seconds until it is asked again whether the provider is free."""


def consult(here: Pass, wish: Wish, evaluation: Evaluation) -> Verdict | dict[str, Any]:
    """The verdict, or what has to be read or sent first, as a plan."""
    diagnose, facts = _of(wish), _facts(here, wish, evaluation)
    if wish.state.proposal.get("state") in OPEN:
        found = standing(diagnose, facts, here.state.diagnosis)
        if found is not None:
            return found
    provider = _provider(here, diagnose)
    if isinstance(provider, str):
        return refuse(diagnose, "ProviderNotFound", provider)
    return _missing(here, diagnose, facts) or _answer(here, diagnose, facts, provider)


def _facts(here: Pass, wish: Wish, evaluation: Evaluation) -> Facts:
    return Facts(here.task, wish.spec, wish.target, evaluation.state, here.reads)


def _provider(here: Pass, diagnose: Diagnose) -> Provider | str:
    """By what was read before the question was sent: by the time of the answer the configuration may be another."""
    settings = mapping(here.reads.get("models")) or settings_of(here.reads)
    return choose_provider(settings, "llm", diagnose.provider, here.namespace)


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
    known = cached(diagnose, facts, question, here.state.diagnosis)
    if known is not None:
        return known
    usage = read_usage(here.state.usage, here.now)
    if not usage.allows(diagnose.daily_tokens, question.reserve):
        text = (
            f"{usage.tokens} of {diagnose.daily_tokens} tokens are used today, a question may take {question.reserve}"
        )
        return refuse(diagnose, "BudgetExhausted", text, key=question.key)
    return {"next": "ask", "question": question.as_plan()}


def heard(here: Pass, wish: Wish, evaluation: Evaluation) -> Verdict:
    """What the provider that this pass has asked makes of it."""
    diagnose, answer = _of(wish), mapping(here.reads["model"])
    provider = _provider(here, diagnose)
    if isinstance(provider, str):
        return refuse(diagnose, "ProviderNotFound", provider)
    if answer.get("unsent"):
        text = f"its credential cannot be read: Secret {provider.secret}, key {provider.key}"
        return refuse(diagnose, "Unauthorized", text)
    facts = _facts(here, wish, evaluation)
    return judge(diagnose, facts, ask(diagnose, facts, provider), answer)


def advised(here: Pass, wish: Wish, evaluation: Evaluation, verdict: Verdict) -> tuple[Wish, Evaluation]:
    """The wish for what the verdict says, and the evaluation that tells it."""
    state = replace(
        evaluation.state,
        diagnosis=_remembered(here, verdict),
        usage=read_usage(here.state.usage, here.now).after(verdict).render() if verdict.calls else here.state.usage,
    )
    succeeded = "True" if verdict.reason == DIAGNOSED else "False"
    told = Condition("DiagnosisSucceeded", succeeded, verdict.reason, verdict.message)
    evaluation = replace(evaluation, state=state, conditions={**evaluation.conditions, "DiagnosisSucceeded": told})
    spec = replace(with_choice(wish.spec, verdict), decided_by="model" if verdict.is_of_model else "fallback")
    cause = verdict.root_cause if spec.decided_by == "model" else ""
    return replace(wish, spec=spec, state=state, cause=cause, waits=_turn(here, wish, state, verdict)), evaluation


def _turn(here: Pass, wish: Wish, state: State, verdict: Verdict) -> Hold | None:
    """Others are waited for who ask the same provider, but no longer than an answer may take."""
    since = parse_time(state.diagnosis.get("waitingSince")) or here.now
    if not verdict.waits or here.now - since >= timedelta(seconds=_of(wish).timeout):
        return None
    text = f"waits for model provider {_of(wish).provider}, which another task is asking"
    return Hold("DiagnosisPending", text, wait=_RETRY * here.time_scale)


def spent(here: Pass, state: State) -> dict[str, Any]:
    """What a plan that ends the pass without a status has to write all the same, once a provider was asked."""
    if "model" not in here.reads:
        return {}
    new = {"diagnosis": dict(state.diagnosis), "usage": dict(state.usage)}
    return {"status": fields_patch(here.old, new), "metrics": consulted(here.state, state, here.reads)}


def _remembered(here: Pass, verdict: Verdict) -> dict[str, Any]:
    """What the status keeps of it. Told again it is not written again, and has its first time."""
    old = dict(here.state.diagnosis)
    known = (verdict.key, verdict.reason) == (old.get("evidenceHash"), old.get("reason"))
    if known and not verdict.calls:
        return old
    new = {key: value for key, value in render_diagnosis(verdict, here.now).items() if value is not None}
    if verdict.waits:
        new["waitingSince"] = old.get("waitingSince") or format_time(here.now)
    unchanged = {**new, "time": None} == {**old, "time": None}
    return old if unchanged and not verdict.calls else new


def _of(wish: Wish) -> Diagnose:
    if wish.spec.diagnose is None:
        raise ValueError(f"action {wish.spec.action} asks no model")
    return wish.spec.diagnose
