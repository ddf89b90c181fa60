"""Backups and restores with the operator at work."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from aitask_rules.archive import pack
from aitask_rules.archive.objects import saved

from localcluster import Cluster
from tests.behaviour.conftest import start_operator, wait_warm
from tests.behaviour.scene import AITASK, AuditLog, Scene
from tests.roles.aitask_lab import Lab
from tests.support.api import Api, Object, conditions
from tests.support.faulty_front import ANSWER_HELD, FaultyFront
from tests.support.holding import Holding
from tests.support.kinds import CONFIG_MAP, NAMESPACE, SECRET, Kind
from tests.support.operator import OperatorProcess
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

BACKUP = Kind("aiops.example.com/v1", "AITaskBackup", "aitaskbackups")
RESTORE = Kind("aiops.example.com/v1", "AITaskRestore", "aitaskrestores")
FINAL = ("Completed", "PartiallyFailed", "Failed")
PATIENCE = 300.0
"""Seconds to wait for anything; the machine may have much else to do."""
CANARY = "hunter2-a-literal-password"


@pytest.fixture(autouse=True)
def stores(space: Lab) -> None:
    space.let_store()


def make(scene: Scene, kind: Kind, name: str, **spec: Any) -> Object:
    metadata = {"labels": {"test.example.com/operator": scene.label}}
    return scene.api.create(kind, kind.object(name, scene.namespace, metadata=metadata, spec=spec))


def ends(scene: Scene, kind: Kind, name: str, **spec: Any) -> Object:
    """A backup or restore that was made and has run."""
    make(scene, kind, name, **spec)
    return ended(scene, kind, name)


def ended(scene: Scene, kind: Kind, name: str) -> Object:
    what = "it has ended"
    return scene.api.wait(
        kind, name, scene.namespace, lambda o: o.get("status", {}).get("phase") in FINAL, what, PATIENCE
    )


def verdict(found: Object) -> tuple[str, str]:
    return found["status"]["phase"], conditions(found)["Complete"]["reason"]


def outcomes(restore: Object) -> dict[str, str]:
    return {entry["name"]: entry["outcome"] for entry in restore["status"].get("results", [])}


def tasks(scene: Scene) -> dict[str, Object]:
    return {found["metadata"]["name"]: found for found in scene.api.list(AITASK, scene.namespace)}


def written(scene: Scene) -> dict[str, Any]:
    """What a restore could change of the tasks; their status is written by passes over them."""
    keys = ("uid", "generation", "annotations")
    return {name: [found["metadata"].get(key) for key in keys] for name, found in tasks(scene).items()}


def remove_tasks(scene: Scene) -> None:
    for name in tasks(scene):
        scene.api.delete(AITASK, name, scene.namespace)
    until(lambda: not tasks(scene), "the tasks are gone", 120)


def store(scene: Scene, name: str) -> Object:
    found = scene.api.get(SECRET, name, scene.namespace)
    assert found is not None
    return found


def forbidden(scene: Scene) -> list[Object]:
    return [
        entry for entry in scene.audit.requests(scene.namespace, "") if entry["responseStatus"]["code"] in (401, 403)
    ]


def asleep(scene: Scene, name: str, **spec: Any) -> str:
    """A task that nothing happens to."""
    return scene.task(name, suspend=True, **spec)


@pytest.mark.behaviour(
    case="awx-operator#368: deleting one backup deletes all; a backup that was changed is restored",
    sees="each backup has a store of its own, which stays (Retain) or goes with it (Delete), also when that was edited "
    "afterwards; a store of a backup that is gone is restored by its name; one with a changed byte: Failed "
    "ChecksumMismatch, and nothing is written",
)
def test_a_backup_takes_no_other_with_it_and_a_changed_one_is_refused(scene: Scene) -> None:
    asleep(scene, "a", clearThreshold=60)
    before = tasks(scene)["a"]["spec"]
    going = ends(scene, BACKUP, "going", retention="Delete", store="ConfigMap")
    staying = ends(scene, BACKUP, "staying")
    assert (verdict(going), verdict(staying)) == (("Completed", "Saved"), ("Completed", "Saved"))
    kept = staying["status"]["storeName"]
    assert "ownerReferences" not in store(scene, kept)["metadata"]
    there = scene.api.get(CONFIG_MAP, going["status"]["storeName"], scene.namespace)
    assert there is not None
    assert set(there["binaryData"]) == {"archive"}
    for name in ("going", "staying"):
        scene.api.delete(BACKUP, name, scene.namespace)
    scene.api.wait_gone(CONFIG_MAP, going["status"]["storeName"], scene.namespace, PATIENCE)
    remove_tasks(scene)

    restore = ends(scene, RESTORE, "back", storeName=kept)
    assert (verdict(restore), outcomes(restore)) == (("Completed", "Restored"), {"a": "Created"})
    scene.api.delete(RESTORE, "back", scene.namespace)
    scene.api.wait_gone(RESTORE, "back", scene.namespace, PATIENCE)
    made = tasks(scene)["a"]
    assert (made["spec"], made["metadata"].get("ownerReferences")) == (before, None)

    archive = bytearray(base64.b64decode(store(scene, kept)["data"]["archive"]))
    archive[-1] ^= 1
    changed = {"data": {"archive": base64.b64encode(archive).decode()}}
    scene.api.patch(SECRET, kept, scene.namespace, changed)
    before_it = written(scene)
    restore = ends(scene, RESTORE, "changed", storeName=kept, existingPolicy="Overwrite")
    assert verdict(restore) == ("Failed", "ChecksumMismatch")
    assert written(scene) == before_it
    assert forbidden(scene) == []


@pytest.mark.behaviour(
    case="awx-operator#879: restore loops for ever on a wrong name",
    sees="Failed BackupNotFound, once; nothing is written after it",
)
def test_a_restore_of_nothing_fails_once(scene: Scene, operator: OperatorProcess) -> None:
    restore = ends(scene, RESTORE, "r", backupName="nope")
    assert verdict(restore) == ("Failed", "BackupNotFound")
    scene.until_passes(1, "r")
    backup = ends(scene, BACKUP, "b")
    assert (verdict(backup), backup["status"]["objectCount"]) == (("Completed", "Saved"), 0)
    scene.patience = PATIENCE
    scene.api.patch(BACKUP, "b", scene.namespace, {"spec": {"ttlSecondsAfterFinished": 86400}})
    scene.until_passes(2, "b")
    seen = scene.api.get(BACKUP, "b", scene.namespace)
    assert seen is not None
    assert seen["status"] == {**backup["status"], "observedGeneration": 2}
    assert scene.passes("r") == 1
    assert scene.api.get(RESTORE, "r", scene.namespace) == restore


@pytest.mark.behaviour(
    case="a restore meets tasks that exist, and one that the server refuses",
    sees="dryRun: what would be done, and nothing is; Overwrite leaves nothing of the old spec; the refused one is "
    "Failed with the server's words, but not with values of the spec; the others go on: PartiallyFailed, final",
)
def test_one_task_that_is_refused_stops_no_other(scene: Scene, operator: OperatorProcess) -> None:
    asleep(scene, "a", clearThreshold=60, scale={"maxReplicas": 4})
    asleep(scene, "b")
    there, before = tasks(scene), written(scene)
    wanted = saved(there["a"])
    del wanted["spec"]["clearThreshold"], wanted["spec"]["scale"]
    wanted["spec"]["threshold"] = 70
    unlike = {**saved(there["b"]), "metadata": {"name": "c"}}
    bad = {**unlike, "metadata": {"name": "bad"}, "spec": {**unlike["spec"], "comparison": CANARY}}
    archive = pack([wanted, saved(there["b"]), unlike, bad])
    notes = {"aiops.example.com/sha256": archive.sha256}
    metadata = {"labels": {"aiops.example.com/store": "aitask-backup"}, "annotations": notes}
    by_hand = CONFIG_MAP.object("by-hand", scene.namespace, metadata=metadata, binaryData={"archive": archive.text})
    scene.api.create(CONFIG_MAP, by_hand)

    expected = {"a": "WouldUpdate", "b": "Unchanged", "bad": "Failed", "c": "WouldCreate"}
    rehearsed = ends(scene, RESTORE, "dry", storeName="by-hand", existingPolicy="Overwrite", dryRun=True)
    assert (outcomes(rehearsed), written(scene)) == (expected, before)
    restore = ends(scene, RESTORE, "r", storeName="by-hand", existingPolicy="Overwrite")
    assert verdict(restore) == ("PartiallyFailed", "TasksRefused")
    assert outcomes(restore) == {"a": "Updated", "b": "Unchanged", "bad": "Failed", "c": "Created"}
    refused = restore["status"]["results"][0]
    assert (refused["name"], "comparison: Unsupported value" in refused["message"]) == ("bad", True)
    made = tasks(scene)
    assert (set(made), made["a"]["spec"]) == ({"a", "b", "c"}, wanted["spec"])
    scene.until_passes(1, "r")
    assert CANARY not in json.dumps([rehearsed, restore]) + operator.stderr + operator.stdout
    assert forbidden(scene) == []
    before = written(scene)
    again = ends(scene, RESTORE, "fail", storeName="by-hand")
    assert verdict(again) == ("Failed", "TasksExist")
    assert written(scene) == before


@pytest.mark.behaviour(
    case="ttlSecondsAfterFinished",
    sees="the backup deletes itself when its time is over; its store stays, unless retention is Delete",
)
def test_a_backup_goes_when_its_time_is_over(scene: Scene) -> None:
    made = make(scene, BACKUP, "b", ttlSecondsAfterFinished=0)
    scene.api.wait_gone(BACKUP, "b", scene.namespace, PATIENCE)
    (kept,) = [
        found for found in scene.api.list(SECRET, scene.namespace) if found["metadata"]["name"].startswith("ait")
    ]
    assert kept["metadata"]["annotations"]["aiops.example.com/backup-uid"] == made["metadata"]["uid"]
    assert json.loads(gzip.decompress(base64.b64decode(kept["data"]["archive"])))["objects"] == []
    assert forbidden(scene) == []


@pytest.mark.behaviour(
    case="operator-sdk#1513: namespace stuck, with backups and restores",
    sees="a backup whose operator is killed once it has written the store is completed by the next one (attempts 2, "
    "one store); neither has a finalizer: with the operator gone the namespace goes as well",
)
def test_a_killed_backup_is_completed_and_the_namespace_goes_without_the_operator(
    cluster: Cluster, space: Lab, api: Api, audit: AuditLog, installed: Path, tmp_path: Path
) -> None:
    scene = Scene(space, api, audit, space.namespace)
    asleep(scene, "a")
    operators: list[OperatorProcess] = []

    def start(name: str, kubeconfig: Path) -> OperatorProcess:
        place = {"label": scene.label, "namespaces": scene.namespace}
        operators.append(start_operator(cluster, tmp_path / name, kubeconfig, **place))
        return wait_warm(operators[-1])

    with FaultyFront(cluster.server, cluster.ca_file, tmp_path) as front:
        front.plan = holding = Holding()
        holding.hold(scene.namespace, 2, ANSWER_HELD)
        try:
            killed = start("killed", front.kubeconfig(installed, tmp_path / "kubeconfig"))
            make(scene, BACKUP, "b")
            until(lambda: front.held, "the store is written and the answer is held", 300, [killed.check_alive])
            killed.kill()
            after = start("after", installed)
            backup = ended(scene, BACKUP, "b")
            assert (verdict(backup), backup["status"]["attempts"]) == (("Completed", "Saved"), 2)
            restore = ends(scene, RESTORE, "r", backupName="b", existingPolicy="Skip")
            assert outcomes(restore) == {"a": "Skipped"}
            assert [found["metadata"].get("finalizers") for found in (backup, restore)] == [None, None]
            assert after.stop() == 0
        finally:
            for operator in operators:
                operator.clean_up()
    stores = [found["metadata"]["name"] for found in api.list(SECRET, scene.namespace)]
    assert stores == [backup["status"]["storeName"]]
    api.delete(NAMESPACE, scene.namespace)
    api.wait_gone(NAMESPACE, scene.namespace, PATIENCE)
    assert (api.list(BACKUP, scene.namespace), api.list(RESTORE, scene.namespace)) == ([], [])
