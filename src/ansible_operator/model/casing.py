"""camelCase to snake_case, byte for byte as the Go operator does it (golden table: contract 4.4).

Its oddities are kept, since roles are written against them: the words HTTP, URL and IP are found anywhere (``SCRIPT``
becomes ``_scr_ip_t``), a leading capital gives a leading underscore, digits are split off only between letters when
another digit follows the second letter. Roles that need the original keys read ``_<group>_<kind>_spec``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WORDS = ("HTTP", "URL", "IP")
_DIGITS = re.compile(r"([A-Za-z])(\d+)([A-Za-z]\d)")
_SEPARATORS = " _-"


def to_snake(name: str) -> str:
    """One key. A blank key stays as it is (the Go operator panics on it)."""
    spaced = _split_words(_DIGITS.sub(r"\1 \2 \3", name)).strip(" ")
    if not spaced:
        return name
    bits = _split_case(spaced)
    snake = "_".join(bits).lower()
    starts_upper = "A" <= name.lstrip(" ")[0] <= "Z"
    return "_" + snake if starts_upper and bits[0] not in ("http", "url", "ip") else snake


def _split_words(text: str) -> str:
    """Mark the known words: ``targetURLs`` to ``target_urls``, ``IPAddress`` to ``ip_Address``."""
    for word in _WORDS:
        start = text.find(word)
        if start < 0:
            continue
        end = start + len(word)
        plural = "s" if text[end : end + 1] == "s" else ""
        end += len(plural)
        lower = word.lower() + plural
        before = "_" if start > 0 or end == len(text) else ""
        after = "_" if end < len(text) else ""
        text = text[:start] + before + lower + after + text[end:]
    return text


def _split_case(text: str) -> list[str]:
    """Split at separators and wherever the case changes, but never directly behind a split."""
    bits: list[str] = []
    current = ""
    for position, char in enumerate(text):
        following = text[position + 1 : position + 2]
        if char in _SEPARATORS:
            bits.append(current)
            current = ""
        elif current and _case_changes(char, following):
            if char.isupper():
                bits.append(current)
                current = char
            else:
                bits.append(current + char)
                current = ""
        else:
            current += char
    return [*bits, current]


def _case_changes(char: str, following: str) -> bool:
    both_ascii_letters = char.isascii() and following.isascii() and char.isalpha() and following.isalpha()
    return both_ascii_letters and char.isupper() != following.isupper()


def snake_keys(value: Any) -> Any:
    """The value with the keys of all maps in it converted, through maps and through lists.

    Where two keys meet in one name the key that was already written that way wins, else the one that sorts last
    (the Go operator picks one at random); ``clashes`` finds them.
    """
    if isinstance(value, Mapping):
        return {to_snake(key): snake_keys(value[key]) for key in sorted(value, key=lambda k: (to_snake(k) == k, k))}
    if isinstance(value, list):
        return [snake_keys(item) for item in value]
    return value


def clashes(value: Any, path: str = "") -> list[str]:
    """Paths of the names that more than one key is converted to."""
    if isinstance(value, list):
        return [clash for index, item in enumerate(value) for clash in clashes(item, f"{path}[{index}]")]
    if not isinstance(value, Mapping):
        return []
    seen: dict[str, int] = {}
    for key in value:
        seen[to_snake(key)] = seen.get(to_snake(key), 0) + 1
    found = [f"{path}.{name}".lstrip(".") for name, count in seen.items() if count > 1]
    return found + [clash for key, item in value.items() for clash in clashes(item, f"{path}.{key}")]
