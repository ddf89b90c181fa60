"""What is in the memory of a process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

_MAPPED = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r\S+ \S+ \S+ \S+ *(.*)")
_CHUNK = 1 << 24


def found_in(pid: int, wanted: Mapping[str, str]) -> set[str]:
    """The keys of those texts that are anywhere in a process's memory, as bytes or as a Python string keeps them."""
    encodings = {
        name: (text.encode(), text.encode("utf-16-le"), text.encode("utf-32-le")) for name, text in wanted.items()
    }
    found = set()
    with suppress(FileNotFoundError, ProcessLookupError):  # a process that has ended has none
        for data in _memory(pid):
            found |= {name for name, forms in encodings.items() if any(form in data for form in forms)}
    return found


def _memory(pid: int) -> Iterator[bytes]:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            region = _MAPPED.match(line)
            if region is None or region[3].startswith(("[vvar", "[vsyscall", "/dev/")):
                continue
            yield from _region(memory, int(region[1], 16), int(region[2], 16))


def _region(memory: object, start: int, end: int) -> Iterator[bytes]:
    for place in range(start, end, _CHUNK):
        memory.seek(place)  # type: ignore[attr-defined]
        try:
            yield memory.read(min(_CHUNK + 4096, end - place))  # type: ignore[attr-defined]
        except OSError:
            return  # mapped, but there is nothing behind it
