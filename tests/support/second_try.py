"""A second try for a test that failed, where the run allows it (``--reruns 1``, as `.ci/run` does).

Tests of a whole operator on a busy machine meet states that nobody has seen yet. One such must not hide whether the
rest is good; nor may it be hidden itself: the end of the run shows how it failed first, and where more than ``ALLOWED``
tests needed a second try, the run fails as it would without.
"""

from __future__ import annotations

import pytest

ALLOWED = 2
"""Tests of one run. A fault that strikes more of them is no chance."""


class SecondTries:
    """A plugin of pytest that counts and shows the tests that passed only the second time."""

    def __init__(self) -> None:
        self.failed_first: dict[str, pytest.TestReport] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]  # an outcome of pytest-rerunfailures
            self.failed_first.setdefault(report.nodeid, report)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.OK and len(self.failed_first) > ALLOWED:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.failed_first:
            return
        terminalreporter.section("failed at the first try", yellow=True)
        for nodeid, report in self.failed_first.items():
            terminalreporter.write_line(f"{nodeid} ({report.when})", yellow=True)
            terminalreporter.write_line(report.longreprtext)
            for title, content in report.sections:
                terminalreporter.write_line(f"--- {title}\n{content}")
        words = f"{len(self.failed_first)} failed at the first try; {ALLOWED} may"
        terminalreporter.write_line(words, red=len(self.failed_first) > ALLOWED, yellow=True)
