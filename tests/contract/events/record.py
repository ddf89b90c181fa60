"""Records what Ansible really reports of small plays. Run as a program it writes the ``*.json`` beside it anew.

Each file holds the job events of one run, but for what differs from run to run, its exit code, the end of its output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COLLECTIONS = HERE.parents[2] / "src/ansible_operator/collections"
REQUEUE = "operator_sdk.util.requeue_after"
PLAYS: dict[str, Any] = {
    "succeeds": [{"name": "Speak", "debug": {"msg": "hello"}}, {"name": "Set", "set_fact": {"x": 1}}],
    "fails": [{"name": "Fail", "fail": {"msg": "no such thing"}}],
    "rescued": [{"block": [{"name": "Fail", "fail": {"msg": "bad"}}], "rescue": [{"debug": {"msg": "saved"}}]}],
    "ignored": [{"name": "Fail", "fail": {"msg": "bad"}, "ignore_errors": True}],
    "loop": [{"name": "Fail", "fail": {"msg": "no {{ item }}"}, "loop": ["one", "two"]}],
    "skipped": [{"name": "Skip", "debug": {"msg": "never"}, "when": False}],
    "unreachable": [{"name": "Call", "ping": None, "vars": {"ansible_connection": "ssh", "ansible_port": 1}}],
    "load_error": [{"name": "Load", "no_such_ns.x.module": {}}],
    "missing_include": [{"name": "Include", "include_tasks": "no_such_file.yml"}],
    "no_log": [{"name": "Hide", "fail": {"msg": "the password is hunter2"}, "no_log": True}],
    "no_log_loop": [{"name": "Hide", "fail": {"msg": "{{ item }}"}, "loop": ["hunter2"], "no_log": True}],
    "requeue": [{"name": "Again", REQUEUE: {"time": "7s"}}, {"name": "Go on", "debug": {"msg": "after"}}],
    "requeue_twice": [{REQUEUE: {"time": "7s"}}, {REQUEUE: {"time": "3s"}}],
    "requeue_skipped": [{"name": "Again", REQUEUE: {"time": "7s"}, "when": False}],
    "requeue_loop": [{"name": "Again", REQUEUE: {"time": "{{ item }}"}, "loop": ["7s", "3s"]}],
    "requeue_then_fails": [{REQUEUE: {"time": "7s"}}, {"fail": {"msg": "bad"}}],
    "requeue_badly": [{REQUEUE: {"time": "1d"}}],
    "no_hosts": [{"debug": {"msg": "never"}}],
}  # fmt: skip
DATA = ("task", "task_action", "ignore_errors", "ok", "changed", "skipped", "failures", "dark", "rescued", "ignored")
RESULT = (
    "msg",
    "reason",
    "exception",
    "censored",
    "period",
    "results",
    "changed",
    "failed",
    "skip_reason",
    "_ansible_no_log",
)


def trimmed(event: dict[str, Any]) -> dict[str, Any]:
    """The parts of an event that say what happened."""
    data = event.get("event_data") or {}
    kept = {key: data[key] for key in DATA if key in data}
    if "res" in data:
        kept["res"] = {key: value for key, value in data["res"].items() if key in RESULT}
        if "results" in kept["res"]:
            kept["res"]["results"] = [{k: v for k, v in item.items() if k in RESULT} for item in kept["res"]["results"]]
    return {"event": event["event"], "event_data": kept}


def record(name: str, tasks: Any) -> dict[str, Any]:
    """Run one play and return what is kept of it."""
    with tempfile.TemporaryDirectory() as directory:
        hosts = "nobody" if name == "no_hosts" else "localhost"
        (Path(directory) / "project").mkdir()
        play = [{"hosts": hosts, "gather_facts": False, "tasks": tasks}]
        (Path(directory) / "project/play.yml").write_text(json.dumps(play))
        (Path(directory) / "inventory").write_text(
            "localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}\n"
        )
        words = [sys.executable, "-m", "ansible_runner", "run", directory, "-p", "play.yml", "-i", "run"]
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_SSH_RETRIES": "0",
        }
        code = subprocess.run(words, env=environment, check=False, capture_output=True).returncode
        artifacts = Path(directory) / "artifacts/run"
        files = sorted((artifacts / "job_events").glob("*.json"), key=lambda file: int(file.name.split("-")[0]))
        events = [trimmed(json.loads(file.read_text())) for file in files]
        text = json.dumps(
            {
                "exit_code": code,
                "output": (artifacts / "stdout").read_text()[-2000:],
                "events": [event for event in events if event["event"] != "verbose"],
            }
        )
        return json.loads(text.replace(directory, "<directory>"))


if __name__ == "__main__":
    for name, tasks in PLAYS.items():
        (HERE / f"{name}.json").write_text(json.dumps(record(name, tasks), indent=1) + "\n")
        print(name)
