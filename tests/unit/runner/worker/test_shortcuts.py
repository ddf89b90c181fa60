"""Shorter ways through Ansible that must come to the same."""

from __future__ import annotations

import glob
import os
import time
from pathlib import Path
from typing import Any

import ansible.vars.clean
import pytest

from ansible_operator.runner.worker.private import shortcuts


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("a.py", "a.txt", "a.b.c", "ab.py", ".py", ".a.py", "[a].py", "A.py", "a", "a."):
        (tmp_path / name).touch()
    (tmp_path / "a.d").mkdir()
    return tmp_path


PATTERNS = ["a.*", "ab.*", "*.py", "b.*", "[a].*", "?.py", "a*", "*", "d/../a.*", ".*", "nothing/a.*"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_names_are_found_as_by_glob(directory: Path, pattern: str) -> None:
    ours = shortcuts._Glob()
    os.utime(directory, (1, 1))
    for _ in range(2):
        wanted = str(directory / pattern)
        assert sorted(ours.glob(wanted)) == sorted(ours.iglob(wanted)) == sorted(glob.glob(wanted))  # noqa: PTH207 - what is compared with


def test_a_file_that_appears_is_found_where_the_time_does_not_show_it(directory: Path) -> None:
    ours, wanted, now = shortcuts._Glob(), str(directory / "a.*"), time.time_ns()
    os.utime(directory, ns=(now, now))
    ours.glob(wanted)
    (directory / "a.new").touch()
    os.utime(directory, ns=(now, now))  # within one tick of the clock of the file system
    assert sorted(ours.glob(wanted)) == sorted(glob.glob(wanted))  # noqa: PTH207 - what is compared with


def test_a_settled_directory_is_listed_once(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, wanted = shortcuts._Glob(), str(directory / "a.*")
    os.utime(directory, (1, 1))
    found = ours.glob(wanted)
    monkeypatch.delattr(os, "scandir")
    assert ours.glob(wanted) == found
    os.utime(directory, (2, 2))
    with pytest.raises(AttributeError):
        ours.glob(wanted)


def test_other_functions_are_those_of_glob() -> None:
    assert shortcuts._Glob().escape is glob.escape


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"plain": 1, "_ansible_internal": 2, "nested": {"_ansible_x": 1}},
        {"ansible_ssh_host": 1, "ansible_local_tmp": 2, "ansible_become_x": 3, "plain": 4},
        {"ansible_distribution": "x", "ansible_ssh_bridge": 1, "ansible_x_interpreter": 1},
        {"connection": 1, "warnings": 2, "rc": 3, "discovered_interpreter_python": 4},
    ],
)
def test_facts_are_cleaned_alike(facts: dict[str, Any]) -> None:
    assert shortcuts._clean_facts(dict(facts)) == ansible.vars.clean.clean_facts(dict(facts))


@pytest.mark.parametrize(("verbosity", "log"), [(0, 0), (3, 0), (0, 3), (2, 3), (4, 4)])
def test_what_would_be_said_is_said(verbosity: int, log: int) -> None:
    said: list[Any] = []
    verbose = shortcuts.quiet_verbose(lambda _, msg, host, caplevel: said.append((msg, host, caplevel)))

    class Display:
        log_verbosity = log

    display: Any = Display()
    display.verbosity = verbosity
    for level in range(6):
        verbose(display, "x", "h", level)
    assert said == [("x", "h", level) for level in range(max(verbosity, log))]


@pytest.mark.parametrize("debugging", [False, True])
def test_debugging_is_said_where_it_is_asked_for(debugging: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr("ansible.constants.DEFAULT_DEBUG", debugging)
    shortcuts.quiet_debug(lambda _, msg, host: said.append((msg, host)))(None, "x", host="h")
    assert said == [("x", "h")] * debugging
