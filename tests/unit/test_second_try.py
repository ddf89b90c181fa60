"""A test may pass the second time, visibly, and few of a run may."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = """
from tests.support.second_try import SecondTries


def pytest_configure(config):
    config.pluginmanager.register(SecondTries())
"""
TESTS = """
import pathlib

import pytest


@pytest.mark.parametrize("number", range({count}))
def test_that_passes_the_second_time(number):
    mark = pathlib.Path(f"tried-{{number}}")
    tried = mark.exists()
    mark.touch()
    print("what it printed")
    assert tried or {always}, "the first reason"
"""


def run(directory: Path, count: int, *flags: str, always: bool = False) -> subprocess.CompletedProcess[str]:
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "test_it.py").write_text(TESTS.format(count=count, always=always))
    (directory / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *flags, "test_it.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    return subprocess.run(
        command, check=False, cwd=directory, env=environment, capture_output=True, text=True, timeout=120
    )


def test_without_a_second_try_the_first_failure_counts(tmp_path: Path) -> None:
    result = run(tmp_path, 1)
    assert (result.returncode, "failed at the first try" in result.stdout) == (1, False)


@pytest.mark.parametrize(("count", "status"), [(2, 0), (3, 1)])
def test_two_of_a_run_may_pass_the_second_time_and_are_shown(tmp_path: Path, count: int, status: int) -> None:
    result = run(tmp_path, count, "--reruns", "1")
    assert result.returncode == status, result.stdout
    assert f"{count} failed at the first try; 2 may" in result.stdout
    assert result.stdout.count("AssertionError: the first reason") == count
    assert result.stdout.count("test_it.py::test_that_passes_the_second_time[0] (call)") == 1
    assert "what it printed" in result.stdout


def test_nothing_is_said_where_all_pass_at_once(tmp_path: Path) -> None:
    result = run(tmp_path, 3, "--reruns", "1", always=True)
    assert (result.returncode, "first try" in result.stdout) == (0, False)
