"""Records of Helm releases as Secrets hold them: compressed JSON in base64, which ``data`` has in base64 once more.

A record has some ten kilobytes, and a run of a chart reads many. Nothing that is in it can be read in it as it stands,
so its beginning is enough to tell it by, and no other way to write it has to be known.
"""

from __future__ import annotations

import base64
import binascii
import re

BEGINNING = 256
"""Characters by which a record is told from others."""

_GZIP = "H4sI"
"""The first three bytes of gzip, in base64."""

_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]*")


def beginnings(value: str) -> tuple[str, ...]:
    """How a long record begins, as ``data`` holds it and as Helm does; nothing for any other value."""
    inner = value[:BEGINNING] if value.startswith(_GZIP) else _decoded(value)
    if len(value) <= 2 * BEGINNING or not inner.startswith(_GZIP):
        return ()
    return (base64.b64encode(inner.encode()).decode()[:BEGINNING], inner[: BEGINNING * 3 // 4])


def end(text: str, position: int) -> int:
    """Where the base64 ends that stands at a position."""
    found = _BASE64.match(text, position)
    return found.end() if found else position


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value[:BEGINNING], validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
