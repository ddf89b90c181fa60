"""Check mode, and the playbooks for a person at a terminal, on a real API server. More is in tests/behaviour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.roles.aitask_lab import ROOT, Lab, Pass, unsafe

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

NOTES = {"aiops.example.com/paused": "true", "team": "{{ not a template }}"}
CANARY = "hunter2-a-literal-password"


def tasks(lab: Lab) -> dict[str, dict[str, Any]]:
    return {item["metadata"]["name"]: item for item in json.loads(lab.kubectl("get", "at", "-o", "json"))["items"]}


def apply_task(lab: Lab, name: str, **spec: Any) -> None:
    """By client-side apply, as people do; it leaves its annotation."""
    full = {"targetDeployment": "web", "threshold": 80, "action": "scale-up", **spec}
    meta = {"name": name, "annotations": NOTES, "labels": {"app": "shop"}}
    manifest = {"apiVersion": "aiops.example.com/v1", "kind": "AITask", "metadata": meta, "spec": full}
    lab.kubectl("apply", "-f", "-", manifest=manifest)


def play(lab: Lab, name: str, archive: Path, *arguments: str) -> Pass:
    """A playbook, with all rights."""
    places = ("-e", f"aitask_namespace={lab.namespace}", "-e", f"aitask_archive={archive}")
    return lab.playbook(ROOT / "playbooks" / name, *places, *arguments, kubeconfig=lab.cluster.kubeconfig)


def test_a_local_archive_brings_tasks_back(space: Lab, tmp_path: Path) -> None:
    container = {"name": "web", "image": "example.com/web", "env": [{"name": "PASSWORD", "value": CANARY}]}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    apply_task(space, "a", clearThreshold=60)
    apply_task(space, "owner", template=template, targetDeployment="mine")
    before = tasks(space)
    archive = tmp_path / "shop.json.gz"
    done = play(space, "backup.yml", archive)
    assert (done.code, "2 tasks in" in done.output) == (0, True), done.output
    assert archive.stat().st_mode & 0o777 == 0o600

    space.kubectl("delete", "at", "--all")
    restored = play(space, "restore.yml", archive)
    assert (restored.code, "restored 2, skipped 0, failed 0 of 2 tasks" in restored.output) == (0, True), (
        restored.output
    )
    after = tasks(space)
    assert {name: found["spec"] for name, found in after.items()} == {
        name: {**found["spec"], "suspend": True} for name, found in before.items()
    }
    notes = set(after["a"]["metadata"]["annotations"])
    assert notes & {*NOTES, "kubectl.kubernetes.io/last-applied-configuration"} == {"team"}
    assert after["a"]["metadata"]["annotations"]["team"] == NOTES["team"]

    refused = play(space, "restore.yml", archive)
    assert (refused.code, "existingPolicy is Fail and there are a, owner" in refused.output) == (2, True), (
        refused.output
    )
    assert tasks(space) == after
    assert CANARY not in done.output + restored.output + refused.output


def test_check_mode_says_how_a_backup_would_end_and_changes_nothing(space: Lab, tmp_path: Path) -> None:
    apply_task(space, "a")
    backup = {"apiVersion": "aiops.example.com/v1", "kind": "AITaskBackup", "metadata": {"name": "b"}, "spec": {}}
    space.kubectl("create", "-f", "-", manifest=backup)
    variables = {"_aiops_example_com_aitaskbackup": unsafe(space.get("aitaskbackup", "b"))}
    (tmp_path / "vars.json").write_text(json.dumps(variables))
    (tmp_path / "play.yml").write_text(
        "- hosts: localhost\n  connection: local\n  gather_facts: false\n  roles: [aitask_backup]\n"
    )
    done = space.playbook(tmp_path / "play.yml", "-e", f"@{tmp_path / 'vars.json'}", "--check")
    assert (done.code, "saved 1 tasks" in done.output) == (0, True), done.output
    changing = [request for request in done.requests if request["verb"] in ("create", "patch", "update", "delete")]
    assert [request["resource"] for request in changing if "dryRun=All" not in request["uri"]] == []
    assert [request["resource"] for request in changing] == ["secrets"]
    assert space.get("aitaskbackup", "b").get("status") is None
