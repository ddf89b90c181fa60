"""What comes of a question: an action out of the allowed ones, or the fallback and the reason for it.

The model has no way to a target, a number of replicas, an image or a command: `with_choice` puts its choice into the
spec, and everything else stays what the spec says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ..model import Diagnose, Spec, Target
from ..rollback import candidates, revision_of
from ..values import format_time, items, mapping, one_line, whole
from .answer import TRANSIENT, content_of, used_tokens
from .decision import ACTIONS, Decision, Unusable, parse_decision
from .question import Question
from .settings import Facts

DIAGNOSED = "Diagnosed"
_CAUSE = 1000
_MESSAGE = 400
_INSTEAD = "; fallbackAction is "


@dataclass(frozen=True)
class Verdict:
    """What is to be done, and what the status says about it."""

    reason: str
    """Diagnosed, or the reason of DiagnosisSucceeded=False."""
    message: str
    """One line for people."""
    source: str
    """model, cache or fallback."""
    action: str
    """Of decision.ACTIONS."""
    root_cause: str = ""
    confidence: int | None = None
    suggested: str = ""
    """What the model chose, also where it is not done."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    key: str = ""
    tokens: int = 0
    calls: int = 0
    elapsed: float = 0.0
    """Seconds of the call."""

    @property
    def failed(self) -> bool:
        """Whether it counts as a failure: a call without a usable answer."""
        return self.reason != DIAGNOSED and self.calls > 0

    @property
    def waits(self) -> bool:
        """Whether it is not this task's turn yet, or the answer is still to come."""
        return self.reason in ("Busy", "Pending")

    @property
    def is_of_model(self) -> bool:
        """Whether a person may have to approve it (policy.approval: OnDiagnosis)."""
        return self.source in ("model", "cache")


def judge(diagnose: Diagnose, facts: Facts, question: Question, answer: Mapping[str, Any]) -> Verdict:
    """`answer` is the result of the task that sent the question."""
    who = f"model provider {one_line(diagnose.provider, 63)}"
    cost: dict[str, Any] = {
        "key": question.key,
        "tokens": used_tokens(answer, question.reserve, len(question.body.encode()), diagnose.max_tokens),
        "calls": max(whole(answer.get("tries")), 0),
        "elapsed": _seconds(answer.get("elapsed")),
    }
    decision: Decision | None = None
    try:
        decision = _restored(parse_decision(content_of(answer, who)), question, facts.target)
        _check_given(decision, question)
        _check(decision, diagnose, facts)
    except Unusable as fault:
        said = _told(decision) if decision else {}
        return replace(refuse(diagnose, fault.reason, str(fault)), **said, **cost)
    return Verdict(DIAGNOSED, _words(decision, who), "model", decision.action, **_told(decision), **cost)


def refuse(diagnose: Diagnose, reason: str, message: str, key: str = "") -> Verdict:
    """The fallback, without a usable answer."""
    text = f"{one_line(message, _MESSAGE)}{_INSTEAD}{diagnose.fallback}"
    return Verdict(reason, text, "fallback", diagnose.fallback, key=key)


def _restored(decision: Decision, question: Question, target: Target) -> Decision:
    """With the names of objects in the place of their pseudonyms. What stands for no container stays as it was said:
    another name may be longer than the status takes."""
    known = question.redactor.restore
    parameters = dict(decision.parameters)
    container = known(str(parameters.get("container", "")))
    if container in _containers(target):
        parameters["container"] = container
    return replace(decision, root_cause=one_line(known(decision.root_cause), _CAUSE), parameters=parameters)


def _containers(target: Target) -> list[Any]:
    return [entry.get("name") for entry in target.containers]


def _check_given(decision: Decision, question: Question) -> None:
    strange = [name for name in decision.evidence if name not in question.ids]
    if strange:
        raise Unusable("UnknownEvidence", f"the answer rests on evidence that was not given: {', '.join(strange)}")


def _check(decision: Decision, diagnose: Diagnose, facts: Facts) -> None:
    """What the form cannot say, and the spec and the target do. Raises Unusable."""
    container = decision.parameters.get("container")
    if container is not None and container not in _containers(facts.target):
        raise Unusable("UnknownContainer", "the answer names a container that the target does not have")
    if decision.action not in ("none", *diagnose.allowed):
        raise Unusable("ActionNotAllowed", f"{decision.action} is not among diagnose.allowedActions")
    contradiction = _contradiction(decision, facts)
    if contradiction:
        raise Unusable("ActionNotAllowed", contradiction)
    if decision.confidence < diagnose.min_confidence:
        text = f"confidence {decision.confidence}% is below minConfidencePercent {diagnose.min_confidence}"
        raise Unusable("LowConfidence", text)


def _contradiction(decision: Decision, facts: Facts) -> str:
    """Where the spec says it, or the rule of the action, the model may only say the same."""
    spec, revision = facts.spec, decision.parameters.get("toRevision")
    if decision.action == "rollback" and revision not in (None, _revision(facts)):
        return f"revision {revision} is not the one that a rollback goes to ({_revision(facts) or 'there is none'})"
    container = decision.parameters.get("container")
    if decision.action == "patchResources" and container is not None and container != spec.container_to_raise:
        return f"container {container} is not patchResources.container"
    direction = decision.parameters.get("direction")
    if decision.action == "scale" and direction not in (None, spec.scale.direction):
        return f"direction {direction} is not the one that the task scales in ({spec.scale.direction})"
    return ""


def _revision(facts: Facts) -> int | None:
    """Where action rollback would go."""
    history = items(mapping(facts.reads.get("history")).get("resources"))
    found = candidates(facts.target, facts.spec.to_revision, facts.state.rolled_back_from, history)
    return revision_of(found[0]) if found else None


def with_choice(spec: Spec, verdict: Verdict) -> Spec:
    """The spec with the action of the verdict; all else stays as it is."""
    return replace(spec, action=verdict.action)


def cached(diagnose: Diagnose, facts: Facts, question: Question, stored: Mapping[str, Any]) -> Verdict | None:
    """The verdict on the same question, which the status keeps (`stored` is status.diagnosis); None: ask."""
    return standing(diagnose, facts, stored) if stored.get("evidenceHash") == question.key else None


def standing(diagnose: Diagnose, facts: Facts, stored: Mapping[str, Any]) -> Verdict | None:
    """The kept verdict, whatever the evidence says by now: for a proposal that waits to be approved. None if none is
    kept, or one that answers nothing. Whether the spec and the target still allow it is looked at again."""
    reason, key = str(stored.get("reason") or ""), str(stored.get("evidenceHash") or "")
    decision = _kept(stored)
    if not reason or reason in TRANSIENT or (reason == DIAGNOSED and decision is None):
        return None
    if decision is None or reason not in _JUDGED_AGAIN:
        said = str(stored.get("error") or "").removeprefix(f"{reason}: ") or "as answered before"
        return replace(refuse(diagnose, reason, said, key), **(_told(decision) if decision else {}))
    try:
        _check(decision, diagnose, facts)
    except Unusable as fault:
        return replace(refuse(diagnose, fault.reason, str(fault), key), **_told(decision))
    text = _words(decision, f"model provider {one_line(diagnose.provider, 63)}, as before")
    return Verdict(DIAGNOSED, text, "cache", decision.action, key=key, **_told(decision))


_JUDGED_AGAIN = (DIAGNOSED, "LowConfidence", "UnknownContainer", "ActionNotAllowed")


def _kept(stored: Mapping[str, Any]) -> Decision | None:
    """The decision as `render_diagnosis` wrote it; None if there was none."""
    confidence, parameters = stored.get("confidencePercent"), mapping(stored.get("parameters"))
    if stored.get("suggestedAction") not in ACTIONS or not isinstance(confidence, int):
        return None
    evidence = tuple(str(name) for name in items(stored.get("evidence")))
    cause = str(stored.get("rootCause") or "")
    return Decision(cause, str(stored["suggestedAction"]), confidence, evidence, dict(parameters))


def render_diagnosis(verdict: Verdict, now: datetime) -> dict[str, Any]:
    """`status.diagnosis`; what is None is left out of the status. `now` is the time of the answer: for a verdict of the
    cache the status keeps what stands there."""
    usable = verdict.reason == DIAGNOSED
    return {
        "time": format_time(now),
        "source": verdict.source,
        "reason": verdict.reason,
        "error": None if usable else one_line(f"{verdict.reason}: {verdict.message.partition(_INSTEAD)[0]}", 256),
        "action": verdict.action,
        "suggestedAction": verdict.suggested or None,
        "rootCause": verdict.root_cause or None,
        "confidencePercent": verdict.confidence,
        "parameters": dict(verdict.parameters) or None,
        "evidence": list(verdict.evidence) or None,
        "evidenceHash": verdict.key or None,
    }


def _told(decision: Decision) -> dict[str, Any]:
    """The fields of a verdict that repeat what the model said."""
    return {
        "root_cause": decision.root_cause,
        "confidence": decision.confidence,
        "suggested": decision.action,
        "parameters": decision.parameters,
        "evidence": decision.evidence,
    }


def _words(decision: Decision, who: str) -> str:
    cause = one_line(decision.root_cause, _MESSAGE)
    return f"{who} says {decision.action} ({decision.confidence}% sure, by {', '.join(decision.evidence)}): {cause}"


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else 0.0
