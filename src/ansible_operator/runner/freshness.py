"""Whether the files that something in memory was made of are still the same."""

from __future__ import annotations

import os
from collections.abc import Iterable

_Print = tuple[int, int, int, int] | None


class Sources:
    """Files and directories as they were when this was made."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._prints = {path: _fingerprint(path) for path in paths}

    def __len__(self) -> int:
        return len(self._prints)

    def changed(self) -> str | None:
        """The first that is another now: other content, replaced, gone, or there where there was none."""
        for path, known in self._prints.items():
            if _fingerprint(path) != known:
                return path
        return None


def _fingerprint(path: str) -> _Print:
    try:
        status = os.stat(path)  # noqa: PTH116 - called for hundreds of paths before each run
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
