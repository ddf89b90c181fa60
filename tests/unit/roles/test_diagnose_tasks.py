"""The tasks of a diagnosis that the simulation does not run: what becomes of a module that dies, and what is logged."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.support.waiting import PATIENCE

FILE = Path(__file__).parents[3] / "roles" / "aitask" / "tasks" / "act" / "diagnose.yml"
DIES = """\
import os, signal
from ansible.module_utils.basic import AnsibleModule
if AnsibleModule(argument_spec={"by": {}}).params["by"] == "signal":
    os.kill(os.getpid(), signal.SIGKILL)
b"caf\\xe9".decode("utf8")
"""


def tasks() -> list[dict[str, Any]]:
    """All of the file, those of its blocks too."""
    found = yaml.safe_load(FILE.read_text())
    return [inner for task in found for inner in (task, *task.get("block", ()))]


def test_a_log_that_cannot_be_decoded_fails_nothing_and_a_module_that_was_killed_does(tmp_path: Path) -> None:
    """With real Ansible, and with the result that ansible-core 2.18 makes of the exception."""
    (condition,) = [task["failed_when"] for task in tasks() if "kubernetes.core.k8s_log" in task]
    told = {"module_stderr": "Traceback (most recent call last):\nUnicodeDecodeError", "msg": "MODULE FAILURE", "rc": 1}
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "tasks": [
            # before anything is registered, which would win
            {"debug": {}, "vars": {"__aitask_logs": told}, "failed_when": condition},
            {"dies": {"by": "decoding"}, "register": "__aitask_logs", "failed_when": condition},
            {
                "block": [{"dies": {"by": "signal"}, "register": "__aitask_logs", "failed_when": condition}],
                "rescue": [{"debug": {}}],
            },
        ],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    (tmp_path / "dies.py").write_text(f"#!/usr/bin/python\n{DIES}")
    program = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", "play.yml"]
    program += ["-e", f"ansible_python_interpreter={sys.executable}"]
    environment = {**os.environ, "ANSIBLE_LIBRARY": str(tmp_path)}
    done = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=4 * PATIENCE
    )
    assert "ok=3 " in done.stdout, done.stdout + done.stderr
    assert "failed=0 " in done.stdout
    assert "rescued=1 " in done.stdout


def test_whatever_is_read_or_decided_for_a_diagnosis_is_not_logged() -> None:
    quiet = ("ansible.builtin.include_tasks", "block")
    assert [task["name"] for task in tasks() if not set(quiet) & set(task) and task.get("no_log") is not True] == []
