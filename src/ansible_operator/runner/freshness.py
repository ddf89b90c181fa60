"""Whether the files that something in memory was made of are still the same."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

Fingerprint = tuple[int, int, int, int, int]
"""Device, inode, time of the last write and of the last change of any kind (ns), size (bytes)."""

_LIBRARY_SECONDS = 0.0005
_TICK = 20_000_000
"""Nanoseconds by which the time that the kernel gives a file may lag behind the clock."""


class Sources:
    """Files and directories as they were when this was made; links are followed to what they name.

    ``read_since`` is when reading them began, in ns since the epoch: one that was changed after that may have been
    read before the change, and counts as changed. Of a directory only the names in it count, Python's own
    ``__pycache__`` aside: whatever was read of it is on the list itself. ``libraries`` are many and hardly ever change:
    each check looks at as many as half a millisecond allows, in turn.
    """

    def __init__(self, paths: Iterable[str], libraries: Sequence[str] = (), read_since: int | None = None) -> None:
        self._young = (read_since - _TICK, time.time_ns() + _TICK) if read_since is not None else None
        self._prints = {path: self._first(path) for path in paths}
        self._names = {path: _names(path) for path in self._prints if _is_directory(path)}
        self._libraries = [(path, self._first(path)) for path in libraries]
        self._next_library = 0

    def __len__(self) -> int:
        return len(self._prints) + len(self._libraries)

    def _first(self, path: str) -> Fingerprint | None:
        found = fingerprint(path)
        if found is not None and self._young is not None and self._young[0] <= found[3] <= self._young[1]:
            return (-1, -1, -1, -1, -1)  # like no file
        return found

    def changed(self) -> str | None:
        """The first that is another now: other content, replaced, gone, or there where there was none."""
        for path, known in self._prints.items():
            if fingerprint(path) != known and not self._has_same_names(path, known):
                return path
        return self._changed_library()

    def _has_same_names(self, path: str, known: Fingerprint | None) -> bool:
        now = fingerprint(path)
        if now is None or known is None or now[:2] != known[:2] or path not in self._names:
            return False
        if _names(path) != self._names[path]:
            return False
        self._prints[path] = now
        return True

    def _changed_library(self) -> str | None:
        until = time.perf_counter() + _LIBRARY_SECONDS
        for _ in range(len(self._libraries)):
            path, known = self._libraries[self._next_library]
            if fingerprint(path) != known:
                return path
            self._next_library = (self._next_library + 1) % len(self._libraries)
            if time.perf_counter() > until:
                break
        return None


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - as below
    except OSError:
        return False


def _names(path: str) -> frozenset[str]:
    with suppress(OSError):
        return frozenset(os.listdir(path)) - {"__pycache__"}  # noqa: PTH208 - as below
    return frozenset()


def fingerprint(path: str) -> Fingerprint | None:
    """What tells one state of a file from another; None where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - called for hundreds of paths before each run
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)
