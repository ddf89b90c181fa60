"""What the API server says in an answer, as it comes in the messages of kubernetes.core."""

import json
import re
from ast import literal_eval
from collections.abc import Mapping
from typing import Any

from .values import mapping

_MOST = 10
"""Braces that are looked at."""
_VALUE = re.compile(r'((?:Invalid|Unsupported|Duplicate) value: )(?:"(?:[^"\\]|\\.)*"|[^:,]+)')


def server_words(message: Any) -> str:
    """What a message says to people: the server's own words, without the Status that they are wrapped in."""
    found = mapping(answer_in(str(message)))
    said = str(found.get("message") or "") if found.get("kind") == "Status" else ""
    return redacted(said or str(message))


def is_terminating(words: str) -> bool:
    """Nothing can be made in a namespace that is being deleted; that is nobody's fault."""
    return "being terminated" in words


def answer_in(text: str) -> Mapping[str, Any] | None:
    """The first JSON in a message that looks like a Status: modules repeat the body of the answer, often as Python's
    `b'…'`. Before it may be headers, after it a traceback, both with braces. None where there is none."""
    # A quote within bytes has a backslash before it.
    body = re.search(r"""b(['"])\{.*?\}(?:\\n)*\1""", text, re.DOTALL)
    try:
        text = literal_eval(body[0]).decode(errors="replace") if body else text
    except (ValueError, SyntaxError):
        return None
    return next(
        (status for status in map(_json_at, _beginnings(text)) if "message" in status or "code" in status), None
    )


def _beginnings(text: str) -> list[str]:
    return [text[found.start() :] for found in re.finditer(r"\{\s*\"", text)][:_MOST]


def _json_at(text: str) -> Mapping[str, Any]:
    try:
        return mapping(json.JSONDecoder().raw_decode(text)[0])
    except ValueError:
        return {}


def redacted(text: str) -> str:
    """Without the values that a server repeats when it refuses them: a pod template may hold literal passwords."""
    return _VALUE.sub(r"\1…", text)
