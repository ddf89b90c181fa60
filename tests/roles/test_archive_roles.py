"""Check mode, and the playbooks for a person at a terminal, on a real API server. More is in tests/behaviour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.roles.aitask_lab import ROOT, Lab, Pass, unsafe

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

NOTES = {"aiops.example.com/paused": "true", "team": "{{ not a template }}"}
ACTIVE = {"data": {"config.yaml": "excludedNamespaces: []"}}
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


def backup_pass(lab: Lab, directory: Path, name: str, *arguments: str) -> Pass:
    """The role over the backup, as the operator runs it."""
    variables = {"_aiops_example_com_aitaskbackup": unsafe(lab.get("aitaskbackup", name))}
    (directory / "vars.json").write_text(json.dumps(variables))
    (directory / "play.yml").write_text(
        "- hosts: localhost\n  connection: local\n  gather_facts: false\n  roles: [aitask_backup]\n"
    )
    return lab.playbook(directory / "play.yml", "-e", f"@{directory / 'vars.json'}", *arguments)


def make_backup(lab: Lab) -> None:
    backup = {"apiVersion": "aiops.example.com/v1", "kind": "AITaskBackup", "metadata": {"name": "b"}, "spec": {}}
    lab.kubectl("create", "-f", "-", manifest=backup)


def test_check_mode_says_how_a_backup_would_end_and_changes_nothing(space: Lab, tmp_path: Path) -> None:
    space.let_store()
    apply_task(space, "a")
    make_backup(space)
    done = backup_pass(space, tmp_path, "b", "--check")
    assert (done.code, "saved 1 tasks" in done.output) == (0, True), done.output
    changing = [request for request in done.requests if request["verb"] in ("create", "patch", "update", "delete")]
    assert [request["resource"] for request in changing if "dryRun=All" not in request["uri"]] == []
    assert [request["resource"] for request in changing] == ["secrets"]
    assert space.get("aitaskbackup", "b").get("status") is None


def test_a_backup_heeds_what_holds_for_the_operator_as_a_whole(space: Lab, tmp_path: Path) -> None:
    space.let_store()
    make_backup(space)
    home = ("-e", f"aitask_backup_operator_namespace={space.namespace}")
    space.own_rails({"mode": "Observe", "excludedNamespaces": []})
    held = backup_pass(space, tmp_path, "b", *home)
    assert (held.code, held.requeue) == (0, "60s"), held.output
    status = space.get("aitaskbackup", "b")["status"]
    (condition,) = status["conditions"]
    assert (status["phase"], condition["reason"]) == ("Pending", "ObserveMode")
    assert [request["resource"] for request in held.requests if request["resource"] in ("aitasks", "secrets")] == []
    space.kubectl("patch", "configmap", "aitask-operator-config", "--type=merge", "-p", json.dumps(ACTIVE))
    assert backup_pass(space, tmp_path, "b", *home).code == 0
    status = space.get("aitaskbackup", "b")["status"]
    assert (status["phase"], status["attempts"]) == ("Completed", 1)
