"""Many tasks that want to act at once, and an operator that is killed in between: the limits of the operator hold.

What was done is counted in the audit log, and compared with what the ledger of acts says was admitted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

from localcluster import Cluster
from localcluster.ports import free_port
from tests.behaviour.conftest import start_operator, wait_warm, write_project
from tests.behaviour.scene import AITASK, ALWAYS, AuditLog, Scene, moment, requests
from tests.roles.aitask_lab import ACCOUNT, ROOT, Lab
from tests.support.api import Api, conditions
from tests.support.kinds import CONFIG_MAP, DEPLOYMENT
from tests.support.operator import OperatorProcess
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

TASKS, AT_ONCE, AN_HOUR = 16, 3, 7
PLACE = 14
"""Seconds that an act takes a place; nothing is scaled here, so that an hour is longer than any test."""
SETTINGS = {
    "excludedNamespaces": [],
    "limits": {
        "maxConcurrentActions": AT_ONCE,
        "maxActionsPerHour": AN_HOUR,
        "maxActionsPerNamespacePerHour": AN_HOUR,  # all of them are in one
    },
    "storm": {"percent": 100},
}
KILLED_AFTER = (1, 4)
"""Acts that were seen by then."""
PATIENCE = 400


def project(directory: Path, label: str, namespace: str) -> None:
    """As shipped, but for the place of its rails, and how long an act takes."""
    path = write_project(directory / "project", label) / "watches.yaml"
    watches = {watch["kind"]: watch for watch in yaml.safe_load(path.read_text())}
    watches["AITask"]["vars"] = {
        "aitask_operator_namespace": namespace,
        "aitask_act_seconds": PLACE,
        "aitask_min_pod_age_seconds": 0,
    }
    path.write_text(yaml.safe_dump(list(watches.values())))


@pytest.fixture
def crowd(space: Lab, api: Api, audit: AuditLog, tmp_path: Path) -> Iterator[Scene]:
    """Many Deployments of one pod each, settled."""
    scene = Scene(space, api, audit, space.namespace)
    scene.patience = PATIENCE
    space.own_rails(SETTINGS)
    project(tmp_path, scene.label, space.namespace)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: deploy(scene, name), names()))
    until(lambda: all(_is_up(scene, name) for name in names()), "all are up", PATIENCE)
    yield scene
    scene.metrics.end()


def deploy(scene: Scene, name: str) -> None:
    """A Deployment of one pod."""
    labels = {"app": name}
    container = {"name": "web", "image": "registry.k8s.io/pause:3.10", "resources": requests()}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    scene.api.create(DEPLOYMENT, DEPLOYMENT.object(name, scene.namespace, spec=spec))


def names() -> list[str]:
    return [f"web{number}" for number in range(TASKS)]


def _is_up(scene: Scene, name: str) -> bool:
    status = scene.deployment(name).get("status", {})
    progress = {c["type"]: c["reason"] for c in status.get("conditions", [])}.get("Progressing")
    return status.get("availableReplicas") == 1 and progress == "NewReplicaSetAvailable"


@pytest.mark.behaviour(
    case="many tasks breached at once, killed twice",
    sees="no more acts under way and in the hour than limits allow, each Deployment changed once at most; the others "
    "show ActionPermitted=False GlobalLimit with the limit and the time",
)
def test_a_crowd_never_exceeds_the_limits_though_the_operator_is_killed(
    cluster: Cluster, crowd: Scene, installed: Path, tmp_path: Path
) -> None:
    flags = (
        *("--leader-elect", f"--leader-election-namespace={ACCOUNT[0]}", "--leader-elect-lease-duration=10s"),
        *("--leader-elect-renew-deadline=8s", f"--leader-election-id={crowd.namespace}"),
    )
    started: list[OperatorProcess] = []

    def start() -> OperatorProcess:
        own = (*flags, f"--user-metrics-bind-address=127.0.0.1:{free_port()}")
        where = {"label": crowd.label, "namespaces": crowd.namespace}
        started.append(start_operator(cluster, tmp_path, installed, *own, **where))
        started[-1].wait_ready()
        return started[-1]

    try:
        wait_warm(start())
        for name in names():
            crowd.task(name, targetDeployment=name, intervalSeconds=15, **ALWAYS)
        for count in KILLED_AFTER:
            crowd.until_acts(count)
            started[-1].kill()
            start()
        crowd.until_acts(AN_HOUR)
        until(lambda: len(held(crowd)) == TASKS - AN_HOUR, "all others are held", PATIENCE, [started[-1].check_alive])
        judge(crowd)
        check_metrics(started[-1])
        assert started[-1].stop() == 0
        assert started[-1].complaints() == []
    finally:
        for operator in started:
            operator.clean_up()


def held(scene: Scene) -> list[str]:
    """The tasks that the hourly limit holds, and say so."""
    shown = {
        task["metadata"]["name"]: conditions(task).get("ActionPermitted", {})
        for task in scene.api.list(AITASK, scene.namespace)
    }
    limit = f"{AN_HOUR} acts in the last hour, the operator's maxActionsPerHour is {AN_HOUR}, not before"
    return [name for name, c in shown.items() if c.get("reason") == "GlobalLimit" and limit in c["message"]]


def judge(scene: Scene) -> None:
    """The acts in the audit log against what was admitted: each had its place, and never were more under way."""
    ledger = scene.api.get(CONFIG_MAP, "aitask-ledger", scene.namespace)
    assert ledger is not None
    admitted = {act["id"]: moment(act["until"]) for act in json.loads(ledger["data"]["ledger.json"])["acts"]}
    place = timedelta(seconds=PLACE)
    for end in admitted.values():
        under_way = [other for other in admitted.values() if other - place <= end - place < other]
        assert len(under_way) <= AT_ONCE, admitted
    acts = dict(done(scene))
    assert len(acts) == len(done(scene)) == len(admitted) == AN_HOUR
    assert {identity for identity, time in acts.items() if time >= admitted[identity] - place} == set(admitted)
    replicas = sorted(scene.replicas(name) for name in names())
    assert replicas == [1] * (TASKS - AN_HOUR) + [2] * AN_HOUR


def done(scene: Scene) -> list[tuple[str, datetime]]:
    """Identity and time of each act."""
    return [
        (
            entry["requestObject"]["metadata"]["annotations"]["aiops.example.com/last-action"],
            moment(entry["stageTimestamp"]),
        )
        for entry in scene.audit.requests(scene.namespace)
        if entry["objectRef"]["resource"] == "deployments"
        and entry["verb"] == "patch"
        and entry["responseStatus"]["code"] < 300
        and "dryRun" not in entry["requestURI"]
    ]


def check_metrics(operator: OperatorProcess) -> None:
    """The operator counts what the role reports, and exports whatever the alerts look at."""
    assert operator.metric("aitask_actions_total", action="scale", result="Succeeded") >= 1
    assert operator.metric("aitask_guard_installed") == 1
    rules = yaml.safe_load((ROOT / "config" / "prometheus" / "rules.yaml").read_text())
    text = " ".join(rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"])
    # The role reports this one, when a hold begins: see tests/unit/roles/test_aitask_rails.py.
    named = set(re.findall(r"\b([a-z_]+)\{", text)) - {"aitask_held_total"}
    assert len(named) >= 5
    missing = {name for name in named if not re.search(rf"^{name}(\{{| )", operator.metrics_page(), re.MULTILINE)}
    assert missing == set()
