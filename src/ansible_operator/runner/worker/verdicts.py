"""What reading a file has told about it, kept for as long as the file is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ansible_operator.runner.freshness import Fingerprint, fingerprint


class Verdicts:
    """Yes or no for each file that was asked about; one file may have several names. In doubt it is no."""

    def __init__(self, judge: Callable[[Path], bool]) -> None:
        self._judge = judge
        self._known: dict[Fingerprint, bool] = {}

    def of(self, path: str) -> bool:
        """Judge a file, or remember. No also for one that cannot be read or understood."""
        key = fingerprint(path)
        if key is None:
            return False
        try:
            if key not in self._known:
                self._known[key] = self._judge(Path(path))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: deeply nested texts
            return False
        return self._known[key]
