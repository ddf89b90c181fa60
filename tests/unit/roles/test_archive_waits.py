"""What keeps a backup or a restore waiting, and that it goes on afterwards: a server in trouble, and the operator's own
rails. The namespace is in memory."""

from __future__ import annotations

import copy
import json
from datetime import timedelta
from typing import Any

import pytest
from aitask_rules.archive import plan_backup, plan_restore, plan_trouble
from aitask_rules.archive.run import parse_refusal
from aitask_rules.values import format_time, parse_time

from tests.unit.roles.archive_simulation import ALL_CLEAR, NOW, Namespace, error, task

KINDS = ("AITaskBackup", "AITaskRestore")
BUSY = (error(429, "later"), error(500, "oh"), error(503, "down"), error(409, "meanwhile"), error(504, "slow"))
SILENT = {"failed": True, "msg": "HTTPSConnectionPool(host='10.0.0.1'): Read timed out."}
DENIED = (
    'secrets \\"x\\" is forbidden: User \\"system:serviceaccount:ops:my-operator\\" cannot get resource '
    '\\"secrets\\" in API group \\"\\" in the namespace \\"shop\\"'
)
BIND = (
    "kubectl -n shop create rolebinding aitask-backup-store --clusterrole=aitask-operator-backup-store-role "
    "--serviceaccount=ops:my-operator"
)


def complete(found: dict[str, Any]) -> dict[str, Any]:
    (condition,) = [entry for entry in found["status"]["conditions"] if entry["type"] == "Complete"]
    return dict(condition)


def kept(found: dict[str, Any]) -> dict[str, Any]:
    (condition,) = [entry for entry in found["status"]["conditions"] if entry["type"] == "StoreKept"]
    return dict(condition)


def seconds(requeue: str) -> int:
    return int(requeue.removesuffix("s"))


def later(space: Namespace, wait: float) -> None:
    moment = parse_time(space.now)
    assert moment is not None
    space.now = format_time(moment + timedelta(seconds=wait))


def prepared(kind: str) -> tuple[Namespace, dict[str, Any]]:
    """Something to save, or to restore, and the one that is to do it."""
    space = Namespace(task("a"))
    if kind == "AITaskBackup":
        return space, space.add(kind, "x")
    space.backup()
    space.tasks, space.writes = {}, []
    return space, space.add(kind, "x", backupName="b")


def configured(text: str) -> dict[str, Any]:
    return {**ALL_CLEAR, "settings": {"resources": [{"data": {"config.yaml": text}}]}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer", [*BUSY, SILENT, error(403, DENIED)])
def test_what_passes_is_waited_for_two_minutes_and_then_it_fails_with_the_cause(
    kind: str, answer: dict[str, Any]
) -> None:
    space, found = prepared(kind)
    space.unreadable = lambda kind: answer
    waits: list[int] = []
    while len(waits) < 20:
        space.run(kind, "x")
        if found["status"]["phase"] != "Running":
            break
        assert (complete(found)["status"], found["status"]["attempts"]) == ("False", 0)
        waits.append(seconds(space.requeue))
        later(space, waits[-1])
    assert (waits[:5], sum(waits) >= 120, max(waits)) == ([5, 10, 20, 40, 60], True, 60)
    reason = "Forbidden" if answer["msg"].count("403") else "ServerTrouble"
    assert (found["status"]["phase"], complete(found)["reason"]) == ("Failed", reason)
    assert "given up after 5 more tries" in complete(found)["message"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("refused", ["reading", "writing"])
def test_it_goes_on_when_the_trouble_is_over(kind: str, refused: str) -> None:
    space, found = prepared(kind)
    in_trouble = {"reading": error(503, "down"), "writing": error(503, "down")}
    space.unreadable = lambda kind: in_trouble["reading"] if refused == "reading" else None
    space.refuse = lambda manifest: in_trouble["writing"] if refused == "writing" else None
    for _ in range(4):
        space.run(kind, "x")
        later(space, seconds(space.requeue))
    assert (found["status"]["phase"], found["status"]["retries"]) == ("Running", 4)
    assert "down" in complete(found)["message"]
    space.unreadable, space.refuse = lambda kind: None, lambda manifest: None
    space.run(kind, "x")
    assert (found["status"]["phase"], found["status"]["attempts"]) == ("Completed", 1)


def test_many_quick_passes_do_not_use_up_the_two_minutes() -> None:
    """An edit brings a pass at once, and so does a new operator."""
    space, found = prepared("AITaskBackup")
    space.unreadable = lambda kind: BUSY[0]
    for _ in range(30):
        space.run("AITaskBackup", "x")
    assert (found["status"]["phase"], space.requeue) == ("Running", "60s")


def test_a_long_silence_of_the_operator_does_not_use_up_the_tries() -> None:
    space, found = prepared("AITaskBackup")
    space.unreadable = lambda kind: BUSY[0]
    space.run("AITaskBackup", "x")
    later(space, 86400)
    space.run("AITaskBackup", "x")
    assert (found["status"]["phase"], space.requeue) == ("Running", "10s")


def test_a_store_that_somebody_changes_meanwhile_is_written_again() -> None:
    space, found = prepared("AITaskBackup")
    space.refuse = lambda manifest: error(409, "meanwhile")
    space.run("AITaskBackup", "x")
    assert (complete(found)["reason"], space.requeue) == ("ServerTrouble", "5s")


@pytest.mark.parametrize("kind", KINDS)
def test_the_guard_is_asked_for_before_anything_is_done(kind: str) -> None:
    plan = {"AITaskBackup": plan_backup, "AITaskRestore": plan_restore}[kind]
    _, found = prepared(kind)
    world = {"object": found, "spec": found["spec"], "now": NOW, "require_guard": True}
    settings = {"settings": {"resources": []}}
    assert plan({**world, "reads": settings})["next"] == "permit"
    assert plan({**world, "reads": settings, "require_guard": False})["next"] in ("save", "find")


def test_a_restart_in_between_still_counts() -> None:
    space, found = prepared("AITaskBackup")
    space.unreadable = lambda kind: BUSY[0]
    space.run("AITaskBackup", "x")
    space.unreadable = lambda kind: None
    for number in (1, 2, 3):
        space.kill_at, space.writes = (2, "after"), []
        with pytest.raises(Exception, match="store"):
            space.run("AITaskBackup", "x")
        assert found["status"]["attempts"] == number
    space.kill_at = (0, "")
    space.run("AITaskBackup", "x")
    assert complete(found)["reason"] == "TooManyAttempts"


def test_a_restore_of_which_some_tasks_wait_ends_with_what_it_could_do() -> None:
    space, found = prepared("AITaskRestore")
    space.tasks = {"b": task("b")}
    space.refuse = lambda manifest: error(503, "down")
    for _ in range(6):
        space.run("AITaskRestore", "x")
        if space.requeue:
            later(space, seconds(space.requeue))
    assert (found["status"]["phase"], complete(found)["reason"]) == ("Failed", "TasksRefused")
    assert found["status"]["results"] == [{"name": "a", "outcome": "Failed", "message": "down"}]


def test_a_right_that_is_missing_is_said_with_the_command_that_gives_it() -> None:
    for kind in KINDS:
        space, found = prepared(kind)
        space.unreadable = lambda kind: error(403, DENIED) if kind == "Secret" else None
        space.run(kind, "x")
        assert f"allow it: {BIND}; tried again in 5s" in complete(found)["message"]
    space, found = prepared("AITaskBackup")
    space.unreadable = lambda kind: error(403, "exceeded quota: secrets")
    space.run("AITaskBackup", "x")
    assert "kubectl" not in complete(found)["message"]


@pytest.mark.parametrize("as_bytes", [True, False])
def test_the_answer_of_a_server_is_read_as_it_comes(as_bytes: bool) -> None:
    """A reading task repeats headers before it, and a traceback and its own parameters after it."""
    status = {"kind": "Status", "metadata": {}, "message": 'a "b" isn\'t c', "code": 403}
    body = f"{json.dumps(status)}\n"
    shown = repr(body.encode()) if as_bytes else body
    headers = "403\nReason: Forbidden\nHTTP response headers: HTTPHeaderDict({'Audit-Id': '1'})\n"
    after = "Original traceback: {}\n' raised while trying to get resource using {'name': 'x'}"
    found = parse_refusal(f"Exception '{headers}HTTP response body: {shown}\n{after}")
    assert (found.code, found.words) == (403, 'a "b" isn\'t c')


def test_in_a_namespace_that_is_being_deleted_a_failed_reading_just_ends() -> None:
    world = {"object": Namespace().add("AITaskBackup"), "spec": {}, "now": NOW}
    assert plan_trouble(world, "a", error(403, "x is being terminated")["msg"])["next"] == "nothing"


# --- a finished one ---


def test_nothing_is_written_over_what_is_finished() -> None:
    space = Namespace(task("a"))
    backup = space.backup()
    backup["spec"]["retention"], backup["metadata"]["generation"] = "Delete", 2
    finished = copy.deepcopy(backup["status"])
    space.refuse = lambda manifest: error(403, "cannot set blockOwnerDeletion")
    space.run("AITaskBackup", "b")
    (condition,) = finished["conditions"]
    assert complete(backup) == condition
    assert {**backup["status"], "conditions": finished["conditions"]} == finished
    told = kept(backup)
    assert (told["status"], told["reason"], space.requeue) == ("False", "Forbidden", "600s")
    assert "cannot set blockOwnerDeletion" in told["message"]
    space.refuse = lambda manifest: None
    space.run("AITaskBackup", "b")
    assert (kept(backup)["status"], complete(backup)) == ("True", condition)
    assert backup["status"]["observedGeneration"] == 2
    assert [owner["uid"] for owner in space.store_of(backup)["metadata"]["ownerReferences"]] == ["AITaskBackup-b"]


def test_an_end_whose_answer_was_lost_stays_the_end() -> None:
    space = Namespace(task("a"))
    before = copy.deepcopy(space.add("AITaskBackup", "b"))
    space.run("AITaskBackup", "b")
    ended = space.objects["AITaskBackup", "b"]
    world = {"object": before, "spec": {}, "now": NOW, "reads": {"seen": {"resources": [ended]}}}
    plan = plan_trouble(world, "report | Write the status", SILENT["msg"])
    assert (plan["status"], plan["requeue"]) == ({}, "5s")


# --- what holds for the operator as a whole ---

HOLDS = [
    (configured("mode: 'Off'"), "OperatorOff", "mode: Off"),
    (configured("mode: Observe"), "ObserveMode", "mode: Observe"),
    (configured("excludedNamespaces: [shop]"), "NamespaceExcluded", "excludedNamespaces"),
    (
        configured("allowedNamespaces: {team: a}") | {"namespace": {"resources": [{"metadata": {"labels": {}}}]}},
        "NamespaceExcluded",
        "team=a",
    ),
    ({**ALL_CLEAR, "guard": {"resources": []}}, "GuardAbsent", "install config/guard"),
    (configured("nonsense: 1"), "OperatorOff", "nonsense"),
    ({**ALL_CLEAR, "settings": {"msg": "no answer"}}, "OperatorOff", "cannot be read"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("permission", "reason", "words"), HOLDS)
def test_where_the_operator_is_to_keep_off_it_waits_and_goes_on_afterwards(
    kind: str, permission: dict[str, Any], reason: str, words: str
) -> None:
    space, found = prepared(kind)
    stores = copy.deepcopy(space.stores)
    space.permission = permission
    for _ in range(5):
        space.run(kind, "x")
        assert (found["status"]["phase"], complete(found)["reason"], space.requeue) == ("Pending", reason, "60s")
        later(space, 60)
    assert (words in complete(found)["message"], "attempts" in found["status"]) == (True, False)
    assert (space.stores, set(space.writes)) == (stores, {"status Pending"})
    space.permission = ALL_CLEAR
    space.run(kind, "x")
    assert (found["status"]["phase"], found["status"]["attempts"]) == ("Completed", 1)


def test_where_the_guard_is_not_asked_for_none_is_needed() -> None:
    space, found = prepared("AITaskBackup")
    space.permission = configured("requireGuard: false") | {"guard": {"resources": []}}
    space.run("AITaskBackup", "x")
    assert found["status"]["phase"] == "Completed"


def test_a_finished_backup_keeps_off_as_well() -> None:
    space = Namespace(task("a"))
    backup = space.backup(ttlSecondsAfterFinished=0)
    finished = copy.deepcopy(backup)
    space.permission = configured("mode: 'Off'")
    space.run("AITaskBackup", "b")
    assert (space.objects["AITaskBackup", "b"], space.requeue) == (finished, "60s")
    space.permission = ALL_CLEAR
    space.run("AITaskBackup", "b")
    assert space.objects == {}


def test_a_finished_backup_that_has_nothing_to_do_does_not_come_back() -> None:
    space = Namespace(task("a"))
    space.backup()
    space.permission = configured("mode: 'Off'")
    space.run("AITaskBackup", "b")
    assert space.requeue == ""


# --- tasks with a Deployment of their own ---


@pytest.mark.parametrize(("resume", "said"), [(False, True), (True, False)])
def test_a_restore_says_how_many_deployments_are_still_to_come(resume: bool, said: bool) -> None:
    space = Namespace(task("a", template={"spec": {}}), task("b"))
    space.backup()
    space.tasks = {}
    restore = space.restore(backupName="b", resumeTasks=resume)
    text = "1 of them own a Deployment: it is made when suspend is false"
    assert (text in complete(restore)["message"]) is said
