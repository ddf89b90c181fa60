"""Credentials that show by their form what they are: tokens, passwords in URLs, values of telling names. All linear."""

from __future__ import annotations

import re

_HIDDEN = "***"

_NAMES = (
    # The class in front lets the expression skip whatever begins with another letter.
    r"[ACPSTacpst](?i:ass(?:word|wd|phrase)|oken|pi[_-]?key|ecret[_-]?key|ccess[_-]?key|rivate[_-]?key"
    r"|lient[_-]?secret|lient-key-data)"
)

SENSITIVE_KEY = re.compile(rf"(?:^|[_-]){_NAMES}$|^(?i:authorization)$|[a-z0-9](?:Password|Token|ApiKey|PrivateKey)$")
"""Names of fields whose texts are never shown."""

_WORDS = re.compile(r"[A-Za-z0-9_.-]{20,}")
_BEARER = re.compile(r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}")
_AUTHORIZATION = re.compile(
    r"""(?i)(authorization["'\\]*\s?[:=]\s?["'\\]*(?:basic|bearer|token|negotiate)\s+)[^\s"',;\\}]+"""
)
_URL_PASSWORD = re.compile(r"""(://[^/\s:@"'<>\\]*:)[^/\s"'<>\\]+@""")
_ASSIGNED = re.compile(rf"""({_NAMES}=)[^\s&"'\\;,]+""")
_QUOTED = re.compile(rf"""({_NAMES}\\*["']\s?:\s?\\*["'])[^"'\\]+""")


def without_credentials(text: str) -> str:
    """The text with ``***`` in their places. The cheap questions in front spare most texts the expressions."""
    if "eyJ" in text:
        text = _WORDS.sub(lambda match: _without_jwt(match[0]), text)
    if "://" in text:
        text = _URL_PASSWORD.sub(rf"\1{_HIDDEN}@", text)
    if "earer" in text or "EARER" in text:
        text = _BEARER.sub(rf"\1{_HIDDEN}", text)
    if "uthorization" in text or "UTHORIZATION" in text:
        text = _AUTHORIZATION.sub(rf"\1{_HIDDEN}", text)
    if "=" in text or '"' in text or "'" in text:
        text = _ASSIGNED.sub(rf"\1{_HIDDEN}", text)
        text = _QUOTED.sub(rf"\1{_HIDDEN}", text)
    return text


def _without_jwt(word: str) -> str:
    """Three parts with dots between, of which the first is the beginning of a JSON object in base64."""
    start = word.find("eyJ")
    if start < 0 or word.count(".", start) < 2:
        return word
    return word[:start] + _HIDDEN
