"""Molecule scenarios: what `make molecule` makes of them, and what a step shows that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import scenarios

ROOT = Path(__file__).parents[2]

KUBECTL = """#!/bin/sh
echo "kubectl $*"
"""
STEP = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
    molecule_namespaces: [one, two]
    molecule_log_from: process
  tasks:
    - block:
        - name: Check something
          ansible.builtin.assert: {that: false, fail_msg: three is not four}
      rescue:
        - ansible.builtin.include_tasks: "{{ common }}/failed.yml"
"""


def test_there_are_the_scenarios_that_the_documentation_lists() -> None:
    lines = (ROOT / "docs/contributing.md").read_text().splitlines()
    first = lines.index("| scenario | what it shows |") + 2
    listed = [line.split("`")[1] for line in lines[first : lines.index("", first)]]
    assert sorted(listed) == scenarios.scenarios()


def test_each_scenario_is_its_tasks_and_what_differs() -> None:
    for name in scenarios.scenarios():
        folder = ROOT / "molecule" / name
        assert {"prepare.yml", "converge.yml", "verify.yml"} <= {file.name for file in (folder / "tasks").iterdir()}
        assert set(yaml.safe_load((folder / "molecule.yml").read_text())) <= {"scenario", "provisioner"}


def test_no_step_sleeps() -> None:
    files = [*ROOT.glob("molecule/**/*.yml")]
    assert files
    assert [file for file in files if any(w in file.read_text() for w in ("sleep", "builtin.pause", "wait_for:"))] == []


def test_a_step_that_fails_shows_what_there_is_and_fails_with_the_first_reason(tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o755)
    (tmp_path / "log").write_text("the operator said so\n")
    (tmp_path / "step.yml").write_text(STEP)
    given = {"common": str(ROOT / "molecule/common/tasks"), "molecule_log_file": str(tmp_path / "log")}
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", str(tmp_path / "step.yml")]
    command += [word for name, value in given.items() for word in ("-e", f"{name}={value}")]
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2, done.stdout
    for line in ("kubectl -n one get events -o custom", "kubectl -n two get aitasks,", "the operator said so"):
        assert line in done.stdout
    assert "secrets -o name" in done.stdout
    assert "secrets -o yaml" not in done.stdout
    last = [line for line in done.stdout.splitlines() if line.startswith(("fatal:", "[ERROR]"))][-1]
    assert "Check something: three is not four" in last


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, str]]:
    """What `molecule test` gives, by scenario."""
    answers: dict[str, tuple[int, str]] = {}
    monkeypatch.setattr(
        scenarios, "run_shown", lambda command, _directory, _environment: answers.get(command[-1], (0, ""))
    )
    return answers


def test_the_summary_has_every_scenario_with_its_seconds(
    said: dict[str, tuple[int, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    said["kind"] = (0, '"msg": "SKIPPED kind: kind is not on the PATH"')
    assert scenarios.main([]) == 0
    table = capsys.readouterr().out.partition("outcome")[2].splitlines()[1:]
    assert [line.split()[0] for line in table] == scenarios.scenarios()
    assert [line.split()[2] for line in table if "kind " not in line] == ["passed"] * (len(table) - 1)
    assert "skipped: kind is not on the PATH" in table[scenarios.scenarios().index("kind")]


def test_one_that_fails_does_not_keep_the_others_from_being_played(
    said: dict[str, tuple[int, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    said["default"] = (1, "")
    assert scenarios.main(["default", "operator"]) == 1
    table = capsys.readouterr().out.splitlines()[-2:]
    assert [line.split()[2].rstrip(":") for line in table] == ["failed", "passed"]


def test_a_process_that_is_left_behind_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = []

    def leave(_command: list[str], _directory: Path, environment: dict[str, str]) -> tuple[int, str]:
        left.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment))
        return 0, ""

    monkeypatch.setattr(scenarios, "run_shown", leave)
    try:
        assert scenarios.main(["default"]) == 1
    finally:
        for process in left:
            process.communicate()
    assert "left processes behind" in capsys.readouterr().out


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert scenarios.main(["nonsense"]) == 2
    assert "there are backup-restore, default" in capsys.readouterr().err
