"""What became of the tests of this session so far, for a test that judges what others have left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest


class Course:
    """A plugin that remembers which tests were left out, which have run, and which of these have failed."""

    def __init__(self) -> None:
        self._left_out: list[pytest.Item] = []
        self._ran: set[str] = set()
        self._failed: set[str] = set()

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        self._left_out.extend(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._ran.add(report.nodeid)
        if report.failed:
            self._failed.add(report.nodeid)

    def lacks(self, session: pytest.Session, files: Iterable[Path], wanted: Callable[[pytest.Item], bool]) -> str:
        """Why not each ``wanted`` test of these files has run before and not failed; empty where each has.

        Whatever narrowed the session (a name, a file, an order, the first failure) shows in one of three ways: a file
        of which there is no test, a part of a file that was asked for, a test that has not run by now. A test that
        skipped itself has run.
        """
        items, files = [*session.items, *self._left_out], set(files)
        chosen = [item.nodeid for item in items if item.path in files and wanted(item)]
        ways = {
            "is no part of this run": sorted(path.name for path in files - {item.path for item in items}),
            "was asked for, and not all": [argument for argument in session.config.args if "::" in argument],
            "has not run before": [name for name in chosen if name not in self._ran],
            "has failed": [name for name in chosen if name in self._failed],
        }
        what, names = next(((what, names) for what, names in ways.items() if names), ("", []))
        return f"{names[0]} {what}" + (f", and {len(names) - 1} more" if names[1:] else "") if names else ""
