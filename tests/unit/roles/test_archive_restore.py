"""What a restore does, step by step, in a namespace in memory; also with the operator killed at any of its writes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from aitask_rules.archive import pack, plan_restore
from aitask_rules.archive.objects import saved

from tests.unit.roles.archive_simulation import NOW, Namespace, error, task

PERMITS = ("approve", "paused", "allow-gitops")


def reason(restore: dict[str, Any]) -> tuple[str, str]:
    (condition,) = restore["status"]["conditions"]
    return restore["status"]["phase"], condition["reason"]


def outcomes(restore: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["outcome"] for entry in restore["status"].get("results", [])}


def saved_space(*tasks: dict[str, Any], **spec: Any) -> Namespace:
    """With a complete backup `b` of these tasks, which are gone."""
    space = Namespace(*tasks)
    space.backup(**spec)
    space.tasks, space.writes = {}, []
    return space


@pytest.mark.parametrize("store", ["Secret", "ConfigMap"])
def test_tasks_come_back_suspended_without_permits_owner_and_status(store: str) -> None:
    notes = {f"aiops.example.com/{key}": "true" for key in PERMITS} | {"team": "a"}
    space = saved_space(task("a", notes), task("b"), store=store)
    restore = space.restore(backupName="b")
    assert reason(restore) == ("Completed", "Restored")
    assert outcomes(restore) == {"a": "Created", "b": "Created"}
    counts = {key: restore["status"][key] for key in ("restored", "skipped", "failed")}
    assert counts == {"restored": 2, "skipped": 0, "failed": 0}
    for made in space.tasks.values():
        assert made["spec"] == {**task("a")["spec"], "suspend": True}
        assert "status" not in made
        assert {"ownerReferences", "resourceVersion", "creationTimestamp"} & set(made["metadata"]) == set()
    assert set(space.tasks["a"]["metadata"]["annotations"]) == {
        "team",
        "aiops.example.com/restored-by",
        "aiops.example.com/restored-as",
        "ansible.sdk.operatorframework.io/inject-owner",
    }


def test_resumed_tasks_are_as_they_were_but_a_paused_one_rests() -> None:
    space = saved_space(
        task("a"), task("b", {"aiops.example.com/paused": "true"}), task("c", suspend=True),
        task("d", {"aiops.example.com/paused": "false"}),
    )  # fmt: skip
    space.restore(backupName="b", resumeTasks=True)
    assert {name: made["spec"]["suspend"] for name, made in space.tasks.items()} == {
        "a": False, "b": True, "c": True, "d": False
    }  # fmt: skip


def test_named_tasks_only_and_an_unknown_name_restores_nothing() -> None:
    space = saved_space(task("a"), task("b"))
    assert outcomes(space.restore(backupName="b", taskNames=["b"])) == {"b": "Created"}
    restore = space.restore("s", backupName="b", taskNames=["a", "nope"])
    assert reason(restore) == ("Failed", "TaskNotFound")
    assert set(space.tasks) == {"b"}


def test_by_the_name_of_the_store_when_the_backup_is_gone() -> None:
    space = saved_space(task("a"))
    name = space.objects.pop(("AITaskBackup", "b"))["status"]["storeName"]
    assert outcomes(space.restore(storeName=name)) == {"a": "Created"}


def test_of_two_stores_of_one_name_the_secret_is_taken() -> None:
    space = saved_space(task("a"))
    ((_, name), store) = next(iter(space.stores.items()))
    other = pack([saved(task("z"))])
    space.stores["ConfigMap", name] = {
        **copy.deepcopy(store),
        "kind": "ConfigMap",
        "binaryData": {"archive": other.text},
    }
    assert outcomes(space.restore(storeName=name)) == {"a": "Created"}


@pytest.mark.parametrize("policy", ["Fail", "Skip", "Overwrite"])
def test_existing_tasks_meet_the_policy(policy: str) -> None:
    space = saved_space(task("a", threshold=1), task("b"))
    mine = task("a", {"aiops.example.com/approve": "x", "team": "b"}, clearThreshold=3, scale={"maxReplicas": 9})
    space.tasks["a"] = copy.deepcopy(mine)
    restore = space.restore(backupName="b", existingPolicy=policy)
    if policy == "Fail":
        assert (reason(restore), space.tasks) == (("Failed", "TasksExist"), {"a": mine})
        assert space.writes == ["status Running", "status Failed"]
    elif policy == "Skip":
        assert (outcomes(restore), space.tasks["a"]) == ({"a": "Skipped", "b": "Created"}, mine)
        assert (reason(restore), restore["status"]["skipped"]) == (("Completed", "Restored"), 1)
    else:
        assert outcomes(restore) == {"a": "Updated", "b": "Created"}
        assert space.tasks["a"]["spec"] == {**task("a", threshold=1)["spec"], "suspend": True}
        assert "aiops.example.com/approve" not in space.tasks["a"]["metadata"]["annotations"]
        assert space.tasks["a"]["metadata"]["annotations"]["team"] == "b"
        assert space.tasks["a"]["metadata"]["uid"] == mine["metadata"]["uid"]


def test_what_is_as_it_was_saved_is_not_written() -> None:
    space = saved_space(task("a", suspend=True))
    space.tasks["a"] = task("a", suspend=True)
    restore = space.restore(backupName="b", existingPolicy="Overwrite")
    assert (outcomes(restore), space.tasks["a"]) == ({"a": "Unchanged"}, task("a", suspend=True))


def test_a_task_that_is_being_deleted_is_not_overwritten() -> None:
    space = saved_space(task("a"), task("b"))
    space.tasks["a"] = task("a", threshold=1)
    space.tasks["a"]["metadata"]["deletionTimestamp"] = NOW
    restore = space.restore(backupName="b", existingPolicy="Overwrite")
    assert (reason(restore)[0], outcomes(restore)) == ("PartiallyFailed", {"a": "Failed", "b": "Created"})


def test_a_dry_run_says_what_it_would_do_and_does_nothing() -> None:
    space = saved_space(task("a"), task("b"))
    space.tasks["a"] = task("a", threshold=1)
    restore = space.restore(backupName="b", existingPolicy="Overwrite", dryRun=True)
    assert (reason(restore), outcomes(restore)) == (
        ("Completed", "Rehearsed"),
        {"a": "WouldUpdate", "b": "WouldCreate"},
    )
    assert space.tasks == {"a": task("a", threshold=1)}


def test_one_task_that_is_refused_stops_no_other() -> None:
    space = saved_space(task("a", threshold=-1), task("b"), task("c"))
    space.refuse = lambda made: (
        error(422, "spec.threshold: Invalid value: -1: too low") if made["metadata"]["name"] == "a" else None
    )
    restore = space.restore(backupName="b")
    assert (reason(restore), outcomes(restore)) == (
        ("PartiallyFailed", "TasksRefused"), {"a": "Failed", "b": "Created", "c": "Created"}
    )  # fmt: skip
    first = restore["status"]["results"][0]
    assert (first["name"], first["message"]) == ("a", "spec.threshold: Invalid value: …: too low")
    before = copy.deepcopy(space.tasks), copy.deepcopy(restore)
    space.writes = []
    space.run("AITaskRestore", "r")
    assert (space.tasks, restore, space.writes) == (*before, [])


def test_none_restored_is_failed() -> None:
    space = saved_space(task("a"))
    space.refuse = lambda made: error(403, "you may not patch deployment web")
    restore = space.restore(backupName="b")
    assert (reason(restore), space.tasks) == (("Failed", "TasksRefused"), {})


def test_a_busy_server_is_asked_again_and_three_times_in_one_pass() -> None:
    for times, phase in ((1, "Completed"), (2, "Completed"), (9, "Running")):
        space = saved_space(task("a"), task("b"))
        left = {"a": times}

        def busy(made: dict[str, Any], left: dict[str, int] = left) -> dict[str, Any] | None:
            name = made["metadata"]["name"]
            if left.get(name, 0) <= 0:
                return None
            left[name] -= 1
            return error(429, "later")

        space.refuse = busy
        restore = space.restore(backupName="b")
        assert restore["status"]["phase"] == phase
        assert "b" in space.tasks
        assert left["a"] == max(0, times - 3)


def test_in_a_namespace_that_is_being_deleted_it_just_ends() -> None:
    space = saved_space(task("a"))
    space.refuse = lambda made: error(
        403, "unable to create new content in namespace shop because it is being terminated"
    )
    restore = space.restore(backupName="b")
    assert (restore["status"]["phase"], space.writes) == ("Running", ["status Running", "task a"])


@pytest.mark.parametrize("policy", ["Fail", "Skip", "Overwrite"])
@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_killed_at_any_write_it_ends_as_if_it_had_not_been(policy: str, side: str, number: int) -> None:
    space = saved_space(task("a"), task("b"))
    space.add("AITaskRestore", "r", backupName="b", existingPolicy=policy)
    space.run_until_ended("AITaskRestore", "r", (number, side))
    restore = space.objects["AITaskRestore", "r"]
    assert (reason(restore), outcomes(restore)) == (("Completed", "Restored"), {"a": "Created", "b": "Created"})
    assert [write for write in space.writes if write == "task a"] in (["task a"], ["task a"] * (1 + (side == "before")))


def test_a_task_that_somebody_made_after_an_interruption_is_left_alone() -> None:
    space = saved_space(task("a"), task("b"))
    space.add("AITaskRestore", "r", backupName="b")
    space.kill_at = (2, "after")
    with pytest.raises(Exception, match="task a"):
        space.run("AITaskRestore", "r")
    space.kill_at = (0, "")
    space.tasks["b"] = task("b", threshold=1)
    space.run("AITaskRestore", "r")
    restore = space.objects["AITaskRestore", "r"]
    assert (reason(restore)[0], outcomes(restore)) == ("PartiallyFailed", {"b": "Failed", "a": "Created"})
    assert space.tasks["b"] == task("b", threshold=1)


def test_the_fourth_start_is_the_end() -> None:
    space = saved_space(task("a"))
    restore = space.add("AITaskRestore", "r", backupName="b")
    restore["status"] = {"phase": "Running", "attempts": 3}
    space.run("AITaskRestore", "r")
    assert (reason(restore), space.tasks) == (("Failed", "TooManyAttempts"), {})


def spoil(space: Namespace, **changes: Any) -> None:
    (store,) = space.stores.values()
    for path, value in changes.items():
        if path == "archive":
            store["data"]["archive"] = value
        else:
            store["metadata"]["annotations"][f"aiops.example.com/{path.replace('_', '-')}"] = value


OTHER = pack([saved(task("z"))])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"archive": OTHER.text}, "ChecksumMismatch"),
        ({"archive": OTHER.text, "sha256": OTHER.sha256}, "ChecksumMismatch"),
        ({"archive": "*"}, "CorruptArchive"),
        ({"backup_uid": "another"}, "StoreConflict"),
        ({"sha256": ""}, "NotAStore"),
    ],
)
def test_a_store_that_was_changed_restores_nothing(changes: dict[str, str], why: str) -> None:
    space = saved_space(task("a"))
    spoil(space, **changes)
    restore = space.restore(backupName="b", existingPolicy="Overwrite")
    assert (reason(restore), space.tasks) == (("Failed", why), {})


def test_any_other_secret_is_no_store() -> None:
    space = saved_space(task("a"))
    space.stores["Secret", "db"] = {"kind": "Secret", "metadata": {"name": "db"}, "data": {"archive": OTHER.text}}
    assert reason(space.restore(storeName="db")) == ("Failed", "NotAStore")
    assert reason(space.restore("s", storeName="nope")) == ("Failed", "StoreNotFound")


def test_a_missing_store_a_missing_backup_and_one_that_is_not_complete() -> None:
    space = saved_space(task("a"))
    space.stores.clear()
    assert reason(space.restore("r1", backupName="b")) == ("Failed", "StoreNotFound")
    assert reason(space.restore("r2", backupName="nope")) == ("Failed", "BackupNotFound")
    space.add("AITaskBackup", "new")
    assert reason(space.restore("r3", backupName="new")) == ("Failed", "BackupNotComplete")
    assert space.tasks == {}


def test_a_field_that_the_schema_dropped_is_told() -> None:
    space = saved_space(task("a", novelty={"deep": 1}, scale={"maxReplicas": 3}))
    put = space._put_task

    def dropping(manifest: dict[str, Any]) -> dict[str, Any]:
        made = put(manifest)
        del made["spec"]["novelty"]
        return made

    space._put_task = dropping  # type: ignore[method-assign]
    restore = space.restore(backupName="b")
    (entry,) = restore["status"]["results"]
    assert (entry["outcome"], "spec.novelty" in entry["message"]) == ("Created", True)


def test_results_after_the_400th_are_only_counted() -> None:
    space = saved_space(*[task(f"t-{number:03}") for number in range(401)])
    space.refuse = lambda made: error(422, "no") if made["metadata"]["name"] == "t-400" else None
    status = space.restore(backupName="b")["status"]
    assert (len(status["results"]), status["results"][0]["name"], status["restored"]) == (400, "t-400", 400)


def test_an_archive_that_is_given_directly_needs_no_status() -> None:
    """As the playbook has it."""
    world: dict[str, Any] = {
        "object": {"metadata": {"name": "playbook", "namespace": "shop", "uid": "u"}}, "spec": {}, "now": NOW
    }  # fmt: skip
    reads = {"begun": True, "archive": OTHER.text}
    assert plan_restore({**world, "reads": reads}) == {"next": "look"}
    plan = plan_restore({**world, "reads": {**reads, "tasks": {"resources": []}}})
    assert (plan["next"], [made["metadata"]["name"] for made in plan["to_create"]]) == ("put", ["z"])
    assert plan_restore({**world, "reads": {**reads, "archive": "*"}})["failed"] is True
