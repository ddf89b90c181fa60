"""What an answer of Prometheus says: one number, or why there is none.

Its HTTP API: `data.resultType` vector, scalar, matrix or string; values are strings, in them NaN and +Inf; errors are
JSON too, 400 for a query that does not parse, 422 for one that cannot be evaluated.
"""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from .model import Sample, Spec
from .providers import choose_provider
from .values import items, mapping, one_line, whole

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST = 64
_TEXT = 300


def query_sample(spec: Spec, namespace: str, reads: Mapping[str, Any]) -> Sample:
    """`reads` has the results of the tasks that read the ConfigMap (`configuration`) and sent the query (`answer`)."""
    provider = choose_provider(mapping(reads.get("configuration")), "prometheus", spec.provider, namespace)
    if isinstance(provider, str):
        return Sample(None, "ProviderNotFound", provider)
    name = one_line(spec.provider, 63)
    answer = mapping(reads.get("answer"))
    if provider.secret and not answer:
        text = f"the credential of provider {name} cannot be read: Secret {provider.secret}, key {provider.key}"
        return Sample(None, "ProviderUnreachable", text)
    return _judged(answer, f"provider {name}")


def _judged(answer: Mapping[str, Any], who: str) -> Sample:
    status, body = whole(answer.get("status")), str(answer.get("body", ""))
    if status == 0:
        why = one_line(answer.get("error") or answer.get("msg") or "it was not asked", _TEXT)
        return Sample(None, "ProviderUnreachable", f"{who} gives no answer: {why}")
    if status in (401, 403):
        return Sample(None, "Forbidden", f"{who} refuses the operator's credential ({status})")
    if 300 <= status < 400:
        return Sample(None, "ProviderUnreachable", f"{who} answers with a redirect ({status}); it is not followed")
    if answer.get("cut"):
        return _too_long(body, who)
    said = _parsed(body)
    if status in (400, 422) and said.get("status") == "error":
        return Sample(None, "NoData", f"{who} refuses the query: {one_line(said.get('error'), _TEXT)}")
    if status != 200 or said.get("status") != "success":
        return Sample(None, "ProviderUnreachable", f"{who} does not answer as Prometheus does ({_told(status, said)})")
    return _value(mapping(said.get("data")), who)


def _too_long(body: str, who: str) -> Sample:
    if body.replace(" ", "").startswith('{"status":"success"'):
        return Sample(None, "AmbiguousResult", f"{who} gives too many series to read; the query must give exactly one")
    return Sample(None, "ProviderUnreachable", f"{who} does not answer as Prometheus does (the answer is too long)")


def _told(status: int, said: Mapping[str, Any]) -> str:
    """Never the body: who knows what a stranger's server says."""
    kind = said.get("errorType")
    known = isinstance(kind, str) and re.fullmatch(r"[a-z_]{1,32}", kind)
    return f"status {status}, {kind}" if known else f"status {status}"


def _parsed(body: str) -> Mapping[str, Any]:
    try:
        return mapping(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _value(data: Mapping[str, Any], who: str) -> Sample:
    kind, result = data.get("resultType"), items(data.get("result"))
    if kind == "scalar":
        return _number(result, who)
    if kind == "vector":
        if not result:
            return Sample(None, "NoData", f"the query gives no series ({who})")
        if len(result) > 1:
            return Sample(None, "AmbiguousResult", f"the query gives more than one series ({who})")
        return _number(items(mapping(result[0]).get("value")), who)
    if kind == "matrix":
        return Sample(None, "AmbiguousResult", f"the query gives values over time, not one of now ({who})")
    return Sample(None, "NotANumber", f"the query gives no number ({who})")


def _number(pair: Any, who: str) -> Sample:
    """`[time, "value"]`; a native histogram has none."""
    text = pair[1] if len(pair) == 2 else None
    if not isinstance(text, str) or len(text) > _LONGEST:
        return Sample(None, "NotANumber", f"the query gives no number ({who})")
    if not _NUMBER.fullmatch(text) or not isfinite(float(text)):
        return Sample(None, "NotANumber", f"the query gives {one_line(text, 32)} ({who})")
    return Sample(Fraction(text), message=who)
