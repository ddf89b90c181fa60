"""What a task writes, how often, and what a pass costs."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster
from tests.behaviour.conftest import start_operator, write_project
from tests.behaviour.scene import AITASK, ALWAYS, POD_METRICS, AuditLog, Scene, moment
from tests.behaviour.test_backup import BACKUP, RESTORE, make
from tests.roles.aitask_lab import ROOT, Lab
from tests.support.api import Api, Object, conditions
from tests.support.faulty_front import HELD, FaultyFront
from tests.support.holding import Holding
from tests.support.kinds import NAMESPACE
from tests.support.operator import OperatorProcess
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

FINALIZER = "test.example.com/stays"


@pytest.mark.behaviour(
    case="target namespace terminating",
    sees="Events are refused there, which is no fault: the pass ends well, its status is written, nothing is tried "
    "again, and the namespace goes",
)
def test_a_pass_in_a_namespace_that_is_being_deleted_ends_well(
    web: Scene, operator: OperatorProcess, front: FaultyFront, holding: Holding
) -> None:
    holding.hold(web.namespace, 3, HELD)
    web.task(**ALWAYS)
    web.api.patch(AITASK, "t", web.namespace, {"metadata": {"finalizers": [FINALIZER]}})
    until(lambda: any(call.namespace == web.namespace for call in front.held), "the first Event is held", 300)
    web.api.delete(NAMESPACE, web.namespace)
    web.wait(lambda task: task["metadata"].get("deletionTimestamp"), "it is being deleted")
    front.let_go()
    status = web.sees("ActionPermitted", "True", "Permitted", "scaled 3 -> 4")
    assert (status["lastAction"]["result"], len(web.acts())) == ("Succeeded", 1)
    refused = [entry for entry in web.audit.requests(web.namespace) if entry["objectRef"]["resource"] == "events"]
    assert {entry["responseStatus"]["code"] for entry in refused if entry["verb"] == "create"} == {403}
    until(lambda: len(operator.ended_runs("t")) == len(operator.runs("t")), "no pass is going on", 120)
    assert operator.records("run failed", namespace=web.namespace) == []
    assert web.passes() <= 2  # one, and one that sees that it is being deleted and writes nothing
    web.api.patch(AITASK, "t", web.namespace, {"metadata": {"finalizers": None}})
    web.api.wait_gone(NAMESPACE, web.namespace)


@pytest.mark.behaviour(
    case="argo-rollouts#3259: status grew until etcd refused it",
    sees="history holds historyLimit entries, and no two equal ones in a row",
)
def test_the_history_is_bounded_and_says_nothing_twice(web: Scene) -> None:
    web.task(historyLimit=3)
    for _ in range(2):
        web.use(None)
        web.sees("MetricsAvailable", "False", "NoData")
        web.use("NaN")
        web.sees("MetricsAvailable", "False", "NotANumber")
    web.evaluated(3)
    task = web.wait(lambda task: True, "there")
    told = [(entry["result"], entry["reason"]) for entry in task["status"]["history"]]
    assert len(told) == 3
    assert all(newer != older for newer, older in pairwise(told)), told
    assert len(json.dumps(task)) < 64 * 1024
    assert web.acts() == []


@pytest.mark.behaviour(
    case="garage-operator#351: own status timestamp triggers the loop",
    sees="a steady task writes its status once an interval; lastTransitionTime stays",
)
def test_a_steady_task_writes_once_an_interval(web: Scene) -> None:
    web.use("20m")
    web.task()
    web.sees("Ready", "True", "Evaluated", "cpu 20% <= 80% (3 pods)")
    before = web.wait(lambda task: True, "there")
    written = len(status_writes(web))
    web.evaluated(6)
    writes = len(status_writes(web)) - written
    after = web.wait(lambda task: True, "there")
    first, last = (moment(task["status"]["lastExecutionTime"]) for task in (before, after))
    intervals = (last - first).total_seconds()  # of a second each: not all times were seen, on a busy machine
    assert writes <= intervals + 2, "the times are whole seconds, and one write may not have been logged at first"
    assert {kind: entry["lastTransitionTime"] for kind, entry in conditions(before).items()} == {
        kind: entry["lastTransitionTime"] for kind, entry in conditions(after).items()
    }
    assert (web.acts(), web.events()) == ([], [])


def status_writes(scene: Scene) -> list[dict[str, Any]]:
    return [e for e in scene.audit.requests(scene.namespace) if e["objectRef"].get("subresource") == "status"]


@pytest.mark.behaviour(
    case="what a pass costs",
    sees="a healthy pass: at most 12 tasks and 6 requests; one that acts: its figures are printed by the test",
)
def test_a_healthy_pass_is_cheap(web: Scene, operator: OperatorProcess, capsys: pytest.CaptureFixture[str]) -> None:
    web.use("20m")
    until(lambda: len(web.api.list(POD_METRICS, web.namespace)) == 3, "there are metrics", 60)
    healthy, asked = cost(web, operator, "healthy")
    acting, acted = cost(web, operator, "acts", **ALWAYS)
    with capsys.disabled():
        print(f"\nhealthy pass: {healthy} tasks, {len(asked)} requests")
        print(f"acting pass: {acting} tasks, {len(acted)} requests, {acted}")
    assert healthy <= 12
    assert len(asked) <= 6, asked
    assert [line for line in asked if line.split()[0] not in ("get", "list")] == ["update aitasks/status"]
    assert len(web.acts()) == 1


def cost(scene: Scene, operator: OperatorProcess, name: str, **spec: Any) -> tuple[int, list[str]]:
    """Tasks and requests of the first pass over a new task, which has no second one for a day."""
    before = len(scene.audit.requests(scene.namespace, ""))
    scene.task(name, intervalSeconds=86400, **spec)
    scene.until_passes(1, name)
    (ended,) = operator.records("run succeeded", namespace=scene.namespace, name=name)
    return ended["recap"]["localhost"]["ok"], [
        f"{entry['verb']} {'/'.join(filter(None, (ref['resource'], ref.get('subresource'))))}"
        for entry in scene.audit.requests(scene.namespace, "")[before:]
        if (ref := entry["objectRef"])
    ]


@pytest.mark.behaviour(
    case="the role itself is broken",
    sees="one that does not load: the operator's condition Failure with the error; one that fails: Ready=False "
    "InternalError naming the task; both go with the next good pass",
)
def test_a_broken_role_is_seen_in_the_status(
    cluster: Cluster, space: Lab, api: Api, audit: AuditLog, installed: Path, tmp_path: Path
) -> None:
    scene = Scene(space, api, audit, space.namespace)
    scene.web()
    project = write_project(tmp_path / "o/project", scene.label)
    (project / "roles").unlink()
    shutil.copytree(ROOT / "roles", project / "roles")
    main = project / "roles/aitask/tasks/main.yml"
    good = main.read_text()
    for role in ("aitask", "aitask_backup", "aitask_restore"):
        (project / "roles" / role / "tasks/main.yml").write_text("- name: Nothing\n  no.such.module_at_all:\n")
    operator = start_operator(cluster, tmp_path / "o", installed, label=scene.label, namespaces=scene.namespace)
    try:
        scene.task(**ALWAYS, suspend=False, dryRun=True)
        make(scene, BACKUP, "b")
        make(scene, RESTORE, "r", backupName="b")
        for kind, name in ((AITASK, "t"), (BACKUP, "b"), (RESTORE, "r")):
            found = api.wait(kind, name, scene.namespace, failed, "it is told", scene.patience)
            assert "no.such.module_at_all" in conditions(found)["Failure"]["message"]
        until(lambda: counted(scene) == {"t", "b", "r"}, "the Events of the failures count on", scene.patience)
        begin = "    - name: Begin with"
        main.write_text(
            good.replace(begin, f"    - name: Break\n      ansible.builtin.fail: {{msg: on purpose}}\n{begin}")
        )
        scene.sees("Ready", "False", "InternalError", "Break: on purpose")
        main.write_text(good)
        scene.sees("Ready", "True", "Evaluated")
        scene.wait(lambda task: not failed(task), "it is over")
        assert operator.stop() == 0
    finally:
        operator.clean_up()


def failed(found: Object) -> bool:
    """The operator says that the last run over it has failed."""
    return bool(conditions(found).get("Failure", {}).get("status") == "True")


def counted(scene: Scene) -> set[str]:
    """The objects whose Events say that runs over them have failed more than once."""
    events = json.loads(scene.kubectl("get", "events", "--field-selector=reason=ReconcileFailed", "-o", "json"))
    return {event["involvedObject"]["name"] for event in events["items"] if event["count"] > 1}
