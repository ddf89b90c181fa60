"""Redaction: what names or unlocks anything gets a pseudonym, the same one each time.

    web-7d9f8c6b5d-x2x9z   ->  pod-3fa9c1         a known name: an answer that speaks of it is told with the name again
    postgres://u:p@db/app  ->  postgres://url-91c2e0
    password=rosebud       ->  password=secret-77ab02

Pseudonyms are cut from an HMAC: one task gets the same for the same, so that equal evidence stays equal and is not
asked about twice, and nobody else learns a name by trying it. Only names of objects come back out of an answer: what
was found by its looks (a credential, an address of mail) never does, or the status would show it.
"""

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256

from .patterns import patterns, random_runs
from .text import visible

_OPEN, _CLOSE = "\ue000", "\ue001"  # private use: `visible` leaves none in what comes in
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_TIME = re.compile(
    r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"
    r"(?:Z|[+-][0-9:]{4,6}| \+0000 UTC)?|(?<![0-9:.])[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?![0-9:])"
)
_SHORTEST = 6
"""Hexadecimal digits of a pseudonym; more where two would be the same."""


class Redactor:
    """For one question. `names` maps what is known to its kind (pod, image, …); `key` is unknown to the provider."""

    def __init__(self, key: str, names: Mapping[str, str]) -> None:
        self._key = key.encode()
        self._pseudonyms: dict[str, str] = {}
        known = {visible(name): kind for name, kind in names.items() if visible(name)}
        for name in sorted(known):
            self._pseudonym(known[name], name)
        self._originals = {pseudonym: name for name, pseudonym in self._pseudonyms.items()}
        ordered = sorted(known, key=lambda name: (-len(name), name))
        choice = "|".join(map(re.escape, ordered))
        self._known = re.compile(rf"(?<![A-Za-z0-9-])(?<![A-Za-z0-9]\.)(?:{choice})(?![A-Za-z0-9-]|\.[A-Za-z0-9])")
        self._has_names = bool(known)

    def redact(self, text: str) -> str:
        """Also without the time of day: it changes while nothing else does."""
        marked: list[str] = []
        plain = _TIME.sub("<time>", visible(text))
        if self._has_names:
            plain = self._known.sub(lambda found: self._mark(marked, "name", found[0]), plain)
        for kind, pattern in patterns():
            plain = pattern.sub(lambda found, kind=kind: self._replaced(marked, kind, found), plain)  # type: ignore[misc]
        for found in reversed(list(random_runs(plain))):
            plain = plain[: found.start()] + self._mark(marked, "secret", found[0]) + plain[found.end() :]
        return _MARK.sub(lambda found: self._pseudonyms[marked[int(found[1])]], plain)

    def restore(self, text: str) -> str:
        """With the names of objects again, where it has their pseudonyms as words."""
        return re.sub(r"[a-z]+-[0-9a-f]{6,}", lambda found: self._originals.get(found[0], found[0]), text)

    def _replaced(self, marked: list[str], kind: str, found: re.Match[str]) -> str:
        group = "it" if "it" in found.re.groupindex else 0
        if not found[group] or _MARK.fullmatch(found[group]):
            return found[0]  # it is hidden already
        begin, end = (position - found.start() for position in found.span(group))
        return found[0][:begin] + self._mark(marked, kind, found[group]) + found[0][end:]

    def _mark(self, marked: list[str], kind: str, value: str) -> str:
        """A place holder until all is found, so that no pattern takes a pseudonym for something random."""
        original = _MARK.sub(lambda found: marked[int(found[1])], value)
        self._pseudonym(kind, original)
        marked.append(original)
        return f"{_OPEN}{len(marked) - 1}{_CLOSE}"

    def _pseudonym(self, kind: str, original: str) -> None:
        if original in self._pseudonyms:
            return
        digest = hmac.new(self._key, f"{kind}\0{original}".encode(), sha256).hexdigest()
        taken = set(self._pseudonyms.values())
        length = next(n for n in range(_SHORTEST, 65) if f"{kind}-{digest[:n]}" not in taken)
        self._pseudonyms[original] = f"{kind}-{digest[:length]}"
