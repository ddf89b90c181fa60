"""Backup and restore on a real API server, with the shipped rights: what the rules decide is covered by tests/unit/roles."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.roles.aitask_lab import Lab, Pass
from tests.roles.archive_lab import ended, make, outcomes, play

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

BACKUP, RESTORE = "AITaskBackup", "AITaskRestore"
CANARY = "hunter2-is-a-literal-password"


def tasks(lab: Lab) -> dict[str, dict[str, Any]]:
    return {item["metadata"]["name"]: item for item in json.loads(lab.kubectl("get", "at", "-o", "json"))["items"]}


def refused(done: Pass) -> list[dict[str, Any]]:
    return [request for request in done.requests if request["code"] in (401, 403)]


def writes(done: Pass) -> list[dict[str, Any]]:
    changing = [r for r in done.requests if r["verb"] in ("create", "patch", "update", "delete")]
    return [request for request in changing if "dryRun=All" not in request["uri"]]


def test_what_is_saved_comes_back_suspended_and_belongs_to_nobody(space: Lab) -> None:
    notes = {"aiops.example.com/paused": "true", "team": "{{ not a template }}"}
    meta = {"name": "a", "annotations": notes, "labels": {"app": "shop"}}
    spec = {"targetDeployment": "web", "threshold": 80, "action": "scale-up", "clearThreshold": 60}
    space.kubectl("apply", "-f", "-", manifest={"apiVersion": "aiops.example.com/v1", "kind": "AITask",
                                                "metadata": meta, "spec": spec})  # fmt: skip
    space.task("b", action="restart")
    before = tasks(space)
    make(space, BACKUP, "all")
    rehearsed = play(space, BACKUP, "all", "--check")
    assert writes(rehearsed) == []
    done = play(space, BACKUP, "all")
    assert ended(space, BACKUP, "all")[:2] == ("Completed", "Saved"), ended(space, BACKUP, "all")
    status = space.get("aitaskbackup", "all")["status"]
    assert (status["objectCount"], status["attempts"], status["formatVersion"]) == (2, 1, 1)
    store = space.get("secret", status["storeName"])
    assert "ownerReferences" not in store["metadata"]
    assert store["metadata"]["annotations"]["aiops.example.com/sha256"] == status["sha256"]
    again = play(space, BACKUP, "all")
    assert (refused(done), refused(again), writes(again)) == ([], [], [])

    space.kubectl("delete", "at", "--all")
    make(space, RESTORE, "back", backupName="all")
    rehearsed = play(space, RESTORE, "back", "--check")
    assert (writes(rehearsed), tasks(space)) == ([], {})
    done = play(space, RESTORE, "back")
    assert ended(space, RESTORE, "back")[:2] == ("Completed", "Restored"), ended(space, RESTORE, "back")
    assert outcomes(space, "back") == {"a": "Created", "b": "Created"}
    after = tasks(space)
    for name, task in after.items():
        assert task["spec"] == {**before[name]["spec"], "suspend": True}
        assert "ownerReferences" not in task["metadata"]
        assert "status" not in task
    assert after["a"]["metadata"]["labels"] == {"app": "shop"}
    kept = {
        key
        for key in after["a"]["metadata"]["annotations"]
        if key in {*notes, "kubectl.kubernetes.io/last-applied-configuration"}
    }
    assert kept == {"team"}
    again = play(space, RESTORE, "back")
    assert (refused(done), refused(again), writes(again)) == ([], [], [])
