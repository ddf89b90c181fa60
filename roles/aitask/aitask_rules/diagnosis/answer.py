"""What came back from the server: the text of the model, or why there is none."""

from collections.abc import Mapping
from typing import Any

from ..values import items, mapping, one_line, whole
from .decision import Unusable, strict_json

TRANSIENT = (
    "Timeout", "RateLimited", "Unauthorized", "BudgetExhausted", "CircuitOpen", "ProviderNotFound",
    "ProviderUnreachable", "Busy", "Pending", "GuardAbsent",
)  # fmt: skip
"""Nothing was answered about this evidence: it may be asked again. All others are answers, and stand."""
_HELD = {
    "Busy": "another task is asking it",
    "Pending": "its answer is awaited",
    "CircuitOpen": "it failed too often in a row",
    "RateLimited": "it wants no more questions for now",
    "Unauthorized": "it refuses the operator's credential; correct the Secret or the configuration",
    "ProviderNotFound": "it knows no such address or model; correct url or model in the configuration",
}
_MOST_TOKENS = 10**7


def content_of(answer: Mapping[str, Any], who: str) -> str:
    """`answer` is the result of aitask_http, `who` names the provider. Raises Unusable."""
    envelope = _envelope(answer, who)
    choices = items(envelope.get("choices"))
    if len(choices) != 1:
        raise Unusable("SchemaViolation", f"{who} gives {len(choices)} answers instead of one")
    choice = mapping(choices[0])
    message = mapping(choice.get("message"))
    if choice.get("finish_reason") == "length":
        raise Unusable("Truncated", f"the answer of {who} was cut off; raise diagnose.maxOutputTokens")
    if choice.get("finish_reason") == "content_filter" or message.get("refusal"):
        raise Unusable("Refused", f"{who} refuses to answer")
    if message.get("tool_calls"):
        raise Unusable("SchemaViolation", f"{who} wants to call tools; it was given none")
    content = message.get("content")
    if not isinstance(content, str) or not content.strip():
        raise Unusable("Refused", f"{who} answers without a text")
    return content


def _envelope(answer: Mapping[str, Any], who: str) -> Mapping[str, Any]:
    status, held = whole(answer.get("status")), str(answer.get("held") or "")
    if held:
        until = f", not before {one_line(answer['until'], 32)}" if answer.get("until") else ""
        reason = held if held in _HELD else "CircuitOpen"
        raise Unusable(reason, f"{who} was not asked: {_HELD[reason]}{until}")
    if answer.get("late") is True:
        raise Unusable("Timeout", f"{who} gives no whole answer in time: {_words(answer)}")
    if status == 0:
        raise Unusable("ProviderUnreachable", f"{who} gives no answer: {_words(answer)}")
    if status != 200:
        raise _refusal(status, who)
    if answer.get("cut") is True:
        raise Unusable("ProviderUnreachable", f"the answer of {who} is too long to be one")
    if str(answer.get("media") or "").lower() != "application/json":
        raise Unusable("ProviderUnreachable", f"{who} does not answer with application/json")
    try:
        found = strict_json(str(answer.get("body", "")))
    except Unusable:
        found = None
    if not isinstance(found, Mapping) or not isinstance(found.get("choices"), list):
        raise Unusable("ProviderUnreachable", f"{who} does not answer as a server of chat completions does")
    return found


def _words(answer: Mapping[str, Any]) -> str:
    return one_line(answer.get("error") or answer.get("msg") or "it was not asked", 160)


def _refusal(status: int, who: str) -> Unusable:
    """Never with the body: a server may repeat what it was sent."""
    if status in (401, 403):
        return Unusable("Unauthorized", f"{who} refuses the operator's credential ({status})")
    if status == 404:
        return Unusable("ProviderNotFound", f"{who} answers {status}: {_HELD['ProviderNotFound']}")
    if status == 429:
        return Unusable("RateLimited", f"{who} answers {status}")
    text = "a redirect is not followed" if 300 <= status < 400 else "it was asked in vain"
    return Unusable("ProviderUnreachable", f"{who} answers {status}; {text}")


def used_tokens(answer: Mapping[str, Any], reserve: int, question_bytes: int, max_tokens: int) -> int:
    """Of one call. What the server says counts if it can be true: a token is a byte at least, and a chat template adds
    some. Where it says nothing, or that, the call counts with what was reserved for it; one that was refused, or never
    reached the server, with nothing."""
    if whole(answer.get("tries")) == 0 or answer.get("sent") is False:
        return 0
    if whole(answer.get("status")) not in (0, 200):
        return 0
    try:
        usage = mapping(mapping(strict_json(str(answer.get("body", "")))).get("usage"))
    except Unusable:
        return reserve
    parts = [whole(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    total = whole(usage.get("total_tokens")) or sum(parts)
    return total if 0 < total <= min(question_bytes + max_tokens + 4096, _MOST_TOKENS) else reserve
