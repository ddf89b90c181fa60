"""Backups and restores as the operator runs them: its variables, its ServiceAccount, its rights."""

from __future__ import annotations

import json
from typing import Any

from tests.roles.aitask_lab import Lab, Pass, unsafe

GROUP = "aiops.example.com"


def make(lab: Lab, kind: str, name: str, **spec: Any) -> dict[str, Any]:
    """The object, as the server has it."""
    manifest = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    lab.kubectl("create", "-f", "-", manifest=manifest)
    return lab.get(kind.lower(), name)


def play(lab: Lab, kind: str, name: str, *flags: str, fails: bool = False, **variables: Any) -> Pass:
    """One pass over a backup or a restore."""
    found = lab.get(kind.lower(), name)
    prefix = f"_{GROUP.replace('.', '_')}_{kind.lower()}"
    extra = {prefix: unsafe(found), f"{prefix}_spec": unsafe(found["spec"]), **variables}
    role = {"AITaskBackup": "aitask_backup", "AITaskRestore": "aitask_restore"}[kind]
    directory = lab.directory
    (directory / "play.yml").write_text(
        f"- hosts: localhost\n  connection: local\n  gather_facts: false\n  roles: [{role}]\n"
    )
    (directory / "extravars.json").write_text(json.dumps(extra))
    done = lab.playbook(directory / "play.yml", "-e", f"@{directory / 'extravars.json'}", *flags)
    assert (done.code != 0) == fails, done.output
    return done


def ended(lab: Lab, kind: str, name: str) -> tuple[str, str, str]:
    """Phase, and reason and message of its condition."""
    status = lab.get(kind.lower(), name).get("status", {})
    (condition,) = [entry for entry in status["conditions"] if entry["type"] == "Complete"]
    return status["phase"], condition["reason"], condition["message"]


def outcomes(lab: Lab, name: str) -> dict[str, str]:
    """Of a restore, by task."""
    return {entry["name"]: entry["outcome"] for entry in lab.get("aitaskrestore", name)["status"].get("results", [])}
