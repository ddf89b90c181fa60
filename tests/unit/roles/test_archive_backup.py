"""What a backup does, step by step, in a namespace in memory; also with the operator killed at any of its writes."""

from __future__ import annotations

from typing import Any

import pytest
from aitask_rules.archive import pack, plan_trouble, unpack
from aitask_rules.archive.content import MAX_STORED
from aitask_rules.archive.run import parse_refusal
from aitask_rules.archive.store import content_of, store_name

from tests.unit.roles.archive_simulation import Namespace, error, task

WRITES = ("status Running", "store", "status Completed")


def complete(backup: dict[str, Any]) -> tuple[str, str]:
    (condition,) = backup["status"]["conditions"]
    return condition["status"], condition["reason"]


def message(backup: dict[str, Any]) -> str:
    (condition,) = backup["status"]["conditions"]
    return str(condition["message"])


def names(space: Namespace, backup: dict[str, Any]) -> list[str]:
    return [found["metadata"]["name"] for found in unpack(content_of(space.store_of(backup)))]


@pytest.mark.parametrize("store", ["Secret", "ConfigMap"])
def test_all_tasks_are_saved_and_the_status_says_what_and_where(store: str) -> None:
    space = Namespace(task("b"), task("a"))
    backup = space.backup(store=store)
    status = backup["status"]
    assert (status["phase"], complete(backup), status["attempts"]) == ("Completed", ("True", "Saved"), 1)
    assert (status["objectCount"], status["formatVersion"]) == (2, 1)
    made = space.store_of(backup)
    assert made["kind"] == store
    assert status["sizeBytes"] == len(content_of(made))
    assert names(space, backup) == ["a", "b"]
    assert made["metadata"]["annotations"]["aiops.example.com/sha256"] == status["sha256"]
    assert [write.partition(" aitask")[0] for write in space.writes] == list(WRITES)


def test_a_backup_of_nothing_is_complete() -> None:
    backup = (space := Namespace()).backup()
    assert (backup["status"]["phase"], backup["status"]["objectCount"], names(space, backup)) == ("Completed", 0, [])


def test_only_named_tasks_are_saved_and_an_unknown_name_saves_nothing() -> None:
    space = Namespace(task("a"), task("b"))
    assert names(space, space.backup(taskNames=["b"])) == ["b"]
    backup = space.backup("c", taskNames=["b", "nope"])
    assert (backup["status"]["phase"], complete(backup)) == ("Failed", ("False", "TaskNotFound"))
    assert "nope" in message(backup)
    assert len(space.stores) == 1


def test_a_task_that_is_being_deleted_is_not_saved() -> None:
    space = Namespace(task("a"), task("b"))
    space.tasks["a"]["metadata"]["deletionTimestamp"] = space.now
    assert names(space, space.backup()) == ["b"]


def test_what_is_too_large_for_a_secret_is_refused_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aitask_rules.archive.backup.MAX_STORED", 100)
    backup = (space := Namespace(task("a"))).backup()
    assert (backup["status"]["phase"], complete(backup)[1], space.stores) == ("Failed", "TooLarge", {})
    assert "taskNames" in message(backup)
    assert MAX_STORED == 900 * 1024


def test_a_finished_backup_never_runs_again() -> None:
    space = Namespace(task("a"))
    backup = space.backup()
    store, status = space.store_of(backup), dict(backup["status"])
    space.tasks["b"] = task("b")
    backup["metadata"]["generation"] = 2
    backup["spec"]["ttlSecondsAfterFinished"] = 3600
    space.writes = []
    space.run("AITaskBackup", "b")
    assert (space.store_of(backup), names(space, backup)) == (store, ["a"])
    assert backup["status"] == {**status, "observedGeneration": 2}
    assert (space.writes, space.requeue) == (["status"], "3600s")
    space.run("AITaskBackup", "b")
    assert space.writes == ["status"]


@pytest.mark.parametrize("number", range(1, len(WRITES) + 1))
@pytest.mark.parametrize("side", ["before", "after"])
def test_killed_at_any_write_it_saves_once_and_completes(number: int, side: str) -> None:
    space = Namespace(task("a"))
    backup = space.add("AITaskBackup", "b")
    space.run_until_ended("AITaskBackup", "b", (number, side))
    assert backup["status"]["phase"] == "Completed"
    assert (names(space, backup), len(space.stores)) == (["a"], 1)
    assert backup["status"]["attempts"] == (1 if (number, side) in ((1, "before"), (3, "after")) else 2)


def test_the_fourth_start_is_the_end() -> None:
    space = Namespace(task("a"))
    backup = space.add("AITaskBackup", "b")
    for _ in range(3):
        space.kill_at, space.writes = (2, "after"), []
        with pytest.raises(Exception, match="store"):
            space.run("AITaskBackup", "b")
    assert backup["status"]["phase"] == "Running"
    space.kill_at = (0, "")
    space.run("AITaskBackup", "b")
    assert (backup["status"]["phase"], complete(backup)[1]) == ("Failed", "TooManyAttempts")
    assert backup["status"]["attempts"] == 3


def test_a_store_of_somebody_else_is_left_alone() -> None:
    space = Namespace(task("a"))
    backup = space.add("AITaskBackup", "b")
    there = {"kind": "Secret", "metadata": {"name": store_name(backup)}, "data": {"password": "eA=="}}
    space.stores["Secret", store_name(backup)] = there
    space.run("AITaskBackup", "b")
    assert (backup["status"]["phase"], complete(backup)[1]) == ("Failed", "StoreConflict")
    assert space.stores["Secret", store_name(backup)] is there


def test_what_is_read_back_must_be_what_was_written() -> None:
    space = Namespace(task("a"))
    apply = space._apply_store

    def damaged(manifest: dict[str, Any]) -> dict[str, Any]:
        return apply({**manifest, "data": {"archive": pack([]).text}})

    space._apply_store = damaged  # type: ignore[method-assign]
    backup = space.backup()
    assert (backup["status"]["phase"], complete(backup)[1]) == ("Failed", "ChecksumMismatch")


@pytest.mark.parametrize(
    ("answer", "phase", "reason"),
    [
        (error(422, "too long"), "Failed", "StoreRefused"),
        (error(403, "unable to create: shop is being terminated"), "Running", "Running"),
    ],
)
def test_a_store_that_is_refused_ends_it(answer: dict[str, Any], phase: str, reason: str) -> None:
    space = Namespace(task("a"))
    space.refuse = lambda manifest: answer
    backup = space.backup()
    assert (backup["status"]["phase"], complete(backup)[1]) == (phase, reason)


def test_only_with_retention_delete_the_store_has_an_owner_and_the_choice_may_change() -> None:
    space = Namespace(task("a"))
    backup = space.backup()
    meta = space.store_of(backup)["metadata"]
    assert (meta["ownerReferences"], meta["annotations"]["ansible.sdk.operatorframework.io/inject-owner"]) == (
        [],
        "false",
    )
    others = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "other"}
    meta["ownerReferences"] = [others]
    for retention, owners in (("Delete", ["other", "AITaskBackup-b"]), ("Retain", ["other"]), ("Retain", ["other"])):
        backup["spec"]["retention"] = retention
        space.run("AITaskBackup", "b")
        assert [entry["uid"] for entry in meta["ownerReferences"]] == owners
    (owner,) = space.store_of(space.backup("d", retention="Delete"))["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == ("AITaskBackup-d", True, False)


@pytest.mark.parametrize(
    ("ttl", "later", "requeue", "gone"),
    [
        (None, "2026-02-28T10:00:00Z", "", False),
        (60, "2026-01-31T10:00:30Z", "30s", False),
        (60, "2026-01-31T10:01:00Z", "", True),
        (60, "2026-01-31T09:00:00Z", "60s", False),
        (0, "2026-01-31T10:00:00Z", "", True),
        ("60", "2026-01-31T10:01:00Z", "", True),
    ],
)
def test_a_backup_goes_when_its_time_is_over(ttl: Any, later: str, requeue: str, gone: bool) -> None:
    space = Namespace(task("a"))
    space.backup(**({} if ttl is None else {"ttlSecondsAfterFinished": ttl}))
    assert space.requeue == ("" if ttl is None else f"{ttl or 1}s")
    space.now = later
    space.run("AITaskBackup", "b")
    assert (space.requeue, ("AITaskBackup", "b") not in space.objects, len(space.stores)) == (requeue, gone, 1)


def test_a_failed_backup_goes_as_well() -> None:
    space = Namespace()
    space.backup(taskNames=["x"], ttlSecondsAfterFinished=5)
    assert space.requeue == "5s"
    space.now = "2026-01-31T10:01:00Z"
    space.run("AITaskBackup", "b")
    assert space.objects == {}


def test_a_store_that_was_deleted_is_not_made_again() -> None:
    space = Namespace(task("a"))
    backup = space.backup()
    space.stores.clear()
    backup["spec"]["retention"] = "Delete"
    space.run("AITaskBackup", "b")
    assert (space.stores, backup["status"]["phase"]) == ({}, "Completed")


def test_a_backup_that_is_being_deleted_is_left_alone() -> None:
    space = Namespace(task("a"))
    space.add("AITaskBackup", "b")["metadata"]["deletionTimestamp"] = space.now
    space.run("AITaskBackup", "b")
    assert (space.writes, space.stores) == ([], {})


def test_a_task_of_the_role_that_failed_is_named_with_the_words_of_the_server_alone() -> None:
    space = Namespace()
    backup = space.add("AITaskBackup", "b")
    headers = "Exception '403\nReason: Forbidden\nHTTP response headers: HTTPHeaderDict({'Audit-Id': '1'})\n"
    text = f"{headers}HTTP response body: {error(403, 'secrets is forbidden')['msg'].partition(': ')[2]}\n' raised"
    plan = plan_trouble({"object": backup, "now": space.now}, "save | Look for the store", text)
    (condition,) = plan["status"]["conditions"]
    assert (plan["status"]["phase"], condition["status"], condition["reason"]) == ("Running", "False", "Forbidden")
    assert condition["message"] == "save | Look for the store: secrets is forbidden; tried again in 5s"
    (condition,) = plan_trouble({"object": backup, "now": space.now}, "a", "{{ nobody }} said")["status"]["conditions"]
    assert (condition["reason"], condition["message"]) == (
        "InternalError", "a: { { nobody }} said; tried again in 5s"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (error(422, 'a: Invalid value: \\"hunter2\\": too low')["msg"], 422, "a: Invalid value: …: too low"),
        (error(422, "a: Unsupported value: hunter2: not b")["msg"], 422, "a: Unsupported value: …: not b"),
        ('Failed: {"code": 409, "message": "conflict"}', 409, "conflict"),
        ("Failed to apply object: (503) unavailable", 503, "Failed to apply object: (503) unavailable"),
        ("Failed to patch object: b'é{", 0, "Failed to patch object: b'é{"),
        ("", 0, ""),
    ],
)  # fmt: skip
def test_refusals_are_read_and_repeat_no_values(text: str, code: int, words: str) -> None:
    found = parse_refusal(text)
    assert (found.code, found.words) == (code, words)
