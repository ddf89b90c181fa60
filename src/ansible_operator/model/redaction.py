"""Takes secrets out of what a run would print: data of Secrets in every form they come in, tokens, passwords in URLs.

What is learned in one place (the result of a task that reads a Secret) is hidden everywhere from then on: in other
results, in standard output, in messages. A text of any size takes linear time: it is gone through once, with a look-up
for each position, however many secrets are known.

Bounded: of one secret 16 KiB are known (what follows is hidden up to the next blank), of all together ``MAX_KNOWN``
characters. A run that reads more shows nothing any more, rather than something that was not looked at. Records of Helm
releases, of which a run of a chart reads hundreds, are known by their beginning.
"""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ansible_operator.model import release_records
from ansible_operator.model.credentials import SENSITIVE_KEY, without_credentials
from ansible_operator.model.secret_data import DATA_FIELDS, belongs_to_secret, names_secret_data, secret_values

HIDDEN = "***"
MIN_LENGTH = 4
"""Shorter values are hidden where a Secret itself is shown, but not elsewhere: no text would remain."""

MAX_KNOWN = 8 * 1024 * 1024
_MAX_VALUE = 16 * 1024
_LONG = 16
"""From this length on the beginning of a secret is recognised as well, as it remains when a text was cut."""

_EVERYDAY = frozenset({"true", "false", "null", "none", "undefined", "default", "localhost"})
_MIN_LINE = 6
_MAX_DEPTH = 40
OVERFLOW = f"{HIDDEN} (not shown, since this run has read more Secret data than can be told from other text)"


class Redactor:
    """The secrets of one run. ``learn`` and ``add`` come first, ``text`` and ``value`` hide what is known by then."""

    def __init__(self) -> None:
        self._heads: set[str] = set()
        self._short: dict[int, set[str]] = {}
        self._lengths: list[int] = []
        self._long: dict[str, list[str]] = {}
        self._added: set[int] = set()
        self._beginnings: set[str] = set()
        self._known = 0

    @property
    def overflowed(self) -> bool:
        """Whether there was more to know than is kept."""
        return self._known > MAX_KNOWN

    def learn(self, document: Any) -> None:
        """Remember the data of every Secret in a document."""
        for value in secret_values(document):
            self.add(value)

    def add(self, secret: str) -> None:
        """Remember one secret, in all its forms."""
        if hash(secret) in self._added or self.overflowed:
            return
        self._added.add(hash(secret))
        beginnings = release_records.beginnings(secret)
        self._beginnings.update(beginnings)
        for form in beginnings or _forms(secret):
            if len(form) >= MIN_LENGTH and form.lower() not in _EVERYDAY:
                self._remember(form)

    def _remember(self, form: str) -> None:
        if len(form) < _LONG:
            known = self._short.setdefault(len(form), set())
            if form in known:
                return
            known.add(form)
            self._lengths = sorted(self._short, reverse=True)
        else:
            bucket = self._long.setdefault(form[:_LONG], [])
            place = bisect_left(bucket, form)
            if place < len(bucket) and bucket[place] == form:
                return
            insort(bucket, form)
        self._heads.add(form[:MIN_LENGTH])
        self._known += len(form)

    def text(self, text: str) -> str:
        """The text without anything secret."""
        if self.overflowed:
            return OVERFLOW
        return without_credentials(self._without_known(text))

    def shortened(self, text: str, limit: int) -> str:
        """The text without anything secret, cut to about ``limit`` characters. No secret is half shown at the cut."""
        if len(text) <= limit:
            return self.text(text)
        if self.overflowed:
            return OVERFLOW
        beginning = _cut_at_blank(text[:limit])
        return f"{self.text(beginning)[:-_LONG]} ... ({len(text) - len(beginning)} more characters)"

    def value(self, value: Any, limit: int = 64 * 1024) -> Any:
        """A copy of a JSON value without anything secret; what goes beyond ``limit`` characters in all is left out."""
        return OVERFLOW if self.overflowed else _copy(value, self, _Budget(limit), 0, None)

    def _without_known(self, text: str) -> str:
        heads = self._heads
        if not heads:
            return text
        pieces: list[str] = []
        start = position = 0
        last = len(text) - MIN_LENGTH
        while position <= last:
            if text[position : position + MIN_LENGTH] not in heads:
                position += 1
                continue
            length = self._length_of_match(text, position)
            if not length:
                position += 1
                continue
            pieces += (text[start:position], HIDDEN)
            start = position = position + length
        return "".join([*pieces, text[start:]]) if pieces else text

    def _length_of_match(self, text: str, position: int) -> int:
        """The number of characters at ``position`` that are a secret, or the beginning of a long one."""
        bucket = self._long.get(text[position : position + _LONG])
        if bucket is not None:
            length = _longest(bucket, text, position)
            record = text[position : position + length] in self._beginnings
            return release_records.end(text, position) - position if record else length
        for length in self._lengths:
            if text[position : position + length] in self._short[length]:
                return length
        return 0


def _cut_at_blank(text: str) -> str:
    """The text without its last word, which may be half a password in half a URL."""
    words = text[-4096:].rsplit(maxsplit=1)
    return text[: len(text) - len(words[1])] if len(words) == 2 else text


def _longest(bucket: list[str], text: str, position: int) -> int:
    """The longest beginning of any of the sorted secrets that stands at ``position``; they share 16 characters."""
    here = text[position : position + _MAX_VALUE]
    place = bisect_left(bucket, here)
    best = max(_common(neighbour, here) for neighbour in bucket[max(0, place - 1) : place + 1])
    if best == _MAX_VALUE:  # of this one only the beginning is known
        while position + best < len(text) and not text[position + best].isspace():
            best += 1
    return best


def _common(left: str, right: str) -> int:
    """The number of characters that two texts begin with alike."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _forms(secret: str) -> Iterator[str]:
    """A secret as it stands, decoded and encoded, whole and by lines, and as JSON and URLs write it."""
    whole = secret[:_MAX_VALUE]
    decoded = _decoded(secret[: _MAX_VALUE * 4 // 3 // 4 * 4])
    for plain in (whole, decoded) if decoded else (whole,):
        for text in {plain, plain.strip()}:
            yield text
            yield from _encoded(text)
        if "\n" in plain or "\r" in plain:
            for line in plain.splitlines():
                stripped = line.strip()
                if len(stripped) >= _MIN_LINE:
                    yield stripped
                    yield from _escaped(stripped)


def _encoded(text: str) -> Iterator[str]:
    data = text.encode(errors="surrogatepass")
    for encoded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
        yield encoded.decode().rstrip("=")[:_MAX_VALUE]
    yield from _escaped(text)
    yield quote(text, safe="", errors="replace")[:_MAX_VALUE]


def _escaped(text: str) -> Iterator[str]:
    """As a string in JSON, in JSON within JSON, and in Python; only where that makes a difference."""
    once = json.dumps(text)[1:-1]
    for form in (once, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(once)[1:-1], repr(text)[1:-1]):
        if form != text:
            yield form[:_MAX_VALUE]


def _decoded(value: str) -> str:
    """What a value means where it is base64 of a text; else nothing."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


@dataclass
class _Budget:
    """What a copy may still show."""

    left: int

    def spend(self, characters: int) -> bool:
        """Whether there is room for that much, and a little for the node itself."""
        self.left -= characters + 2
        return self.left > 0


def _copy(value: Any, redactor: Redactor, budget: _Budget, depth: int, secret: bool | None) -> Any:
    if isinstance(value, str):
        shown = redactor.shortened(value, max(budget.left, _LONG * 2))
        budget.spend(len(shown))
        return shown
    if not isinstance(value, Mapping | list | tuple):
        budget.spend(4)
        return value if isinstance(value, bool) or redactor.text(str(value)) == str(value) else HIDDEN
    if depth > _MAX_DEPTH or not budget.spend(0):
        return "..."
    if not isinstance(value, Mapping):
        items: list[Any] = []
        for item in value:
            if budget.left <= 0:
                return [*items, "..."]
            items.append(_copy(item, redactor, budget, depth + 1, secret))
        return items
    secret = belongs_to_secret(value, secret)
    copy: dict[str, Any] = {}
    for key, item in value.items():
        if budget.left <= 0:
            return {**copy, "...": "..."}
        name = redactor.shortened(str(key), 512)
        if _is_secret_field(key, item, value, secret):
            copy[name] = _blanked(item)
        else:
            copy[name] = _copy(item, redactor, budget, depth + 1, secret)
        budget.spend(len(name))
    return copy


def _is_secret_field(key: Any, item: Any, parent: Mapping[Any, Any], secret: bool | None) -> bool:
    if secret and (key in DATA_FIELDS or (key == "value" and names_secret_data(parent))):
        return True
    return isinstance(item, str) and bool(item) and bool(SENSITIVE_KEY.search(str(key)))


def _blanked(item: Any) -> Any:
    """The keys of a Secret's data stay, its values do not."""
    if isinstance(item, Mapping):
        return {str(key): HIDDEN for key in item}
    return HIDDEN if item is not None else None
