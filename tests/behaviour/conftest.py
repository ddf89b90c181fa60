"""One operator for the tests of this directory, with the shipped content, account and rights; a namespace for each."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster import Cluster
from tests.behaviour.scene import AITASK, SCALE, AuditLog, Scene
from tests.roles.aitask_lab import ROOT, Lab
from tests.roles.conftest import begun, installed, space
from tests.support.api import Api
from tests.support.faulty_front import FaultyFront
from tests.support.holding import Holding
from tests.support.operator import FLAGS_VARIABLE, OperatorProcess, Options
from tests.support.waiting import until

__all__ = ["begun", "installed", "space"]

StartOperator = Callable[..., OperatorProcess]


def write_project(directory: Path, label: str, root: Path = ROOT) -> Path:
    """The shipped watches.yaml, but for the time scale, the age of pods, and a label: others test on this cluster."""
    watches = {watch["kind"]: watch for watch in yaml.safe_load((root / "watches.yaml").read_text())}
    # An act has its place in the ledger for half a minute: who is slow must not lose it before it is used.
    own = {"aitask_time_scale": SCALE, "aitask_min_pod_age_seconds": 10, "aitask_act_seconds": 300}
    watches["AITask"]["vars"] = own
    for watch in watches.values():
        watch["selector"] = {"matchLabels": {"test.example.com/operator": label}}
    directory.mkdir(parents=True)
    (directory / "watches.yaml").write_text(yaml.safe_dump(list(watches.values())))
    (directory / "roles").symlink_to(root / "roles")
    return directory


def start_operator(
    cluster: Cluster,
    directory: Path,
    kubeconfig: Path,
    *flags: str,
    label: str,
    namespaces: str = "",
    root: Path = ROOT,
    **environment: str,
) -> OperatorProcess:
    """An operator that looks at the tasks with that label. ``root``: the source tree it is of, runtime included."""
    project = directory / "project"
    if not project.exists():
        write_project(project, label, root)
    runtime = {} if root == ROOT else {"PYTHONPATH": str(root / "src")}
    options = Options(
        kubeconfig=kubeconfig,
        work_dir=directory / "work",
        flags=flags,
        environment={"WATCH_NAMESPACE": namespaces, **runtime, **environment},
        path=(cluster.kubectl.parent,),
    )
    return OperatorProcess(project, options)


def wait_warm(operator: OperatorProcess) -> OperatorProcess:
    """Ready, and runs are quick: those that come before take many times as long, which is of no interest here."""
    operator.wait_ready()
    said = ("warm runs are ready", "runs go cold, each in processes of its own")
    if "--cold" not in os.environ.get(FLAGS_VARIABLE, ""):
        until(lambda: any(map(operator.records, said)), "runs are warm", 180, [operator.check_alive])
    return operator


@pytest.fixture(scope="session")
def audit(cluster: Cluster) -> AuditLog:
    return AuditLog(cluster.audit_log)


@pytest.fixture(scope="package")
def front(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyFront]:
    """Between the operator and the API server; it lets everything pass but what a test wants held."""
    with FaultyFront(cluster.server, cluster.ca_file, tmp_path_factory.mktemp("front")) as front:
        front.plan = Holding()
        yield front


@pytest.fixture
def holding(front: FaultyFront) -> Iterator[Holding]:
    """The plan of the front. What still waits at the end of the test may go."""
    assert isinstance(front.plan, Holding)
    yield front.plan
    front.let_go()


@pytest.fixture(scope="package")
def keda(cluster: Cluster) -> None:
    """KEDA's kind is served before the operator starts: how soon it learns of new kinds is not for these tests."""
    names = {"kind": "ScaledObject", "plural": "scaledobjects", "singular": "scaledobject"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "scaledobjects.keda.sh"},
        "spec": {"group": "keda.sh", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    kubectl = [str(cluster.kubectl), "--kubeconfig", str(cluster.kubeconfig)]
    apply = [*kubectl, "apply", "--server-side", "-f", "-"]
    subprocess.run(apply, input=json.dumps(definition), text=True, check=True, capture_output=True)
    wait = [*kubectl, "wait", "--for=condition=Established", "crd/scaledobjects.keda.sh", "--timeout=120s"]
    subprocess.run(wait, check=True, capture_output=True)


@pytest.fixture(scope="package")
def operator(
    cluster: Cluster, installed: Path, keda: None, front: FaultyFront, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """The operator. It must end well, and not have logged a traceback."""
    directory = tmp_path_factory.mktemp("shared")
    kubeconfig = front.kubeconfig(installed, directory / "kubeconfig")
    operator = start_operator(cluster, directory, kubeconfig, label="shared")
    try:
        yield wait_warm(operator)
        assert operator.stop() == 0
        assert operator.complaints() == []
    finally:
        operator.clean_up()


@pytest.fixture
def api(cluster: Cluster) -> Api:
    return Api.of_administrator(cluster)


@pytest.fixture
def scene(space: Lab, api: Api, audit: AuditLog, operator: OperatorProcess) -> Iterator[Scene]:
    """An empty namespace that the operator watches. At its end the tasks go at once: until the namespace has gone they
    would be evaluated each second, beside the next test."""
    scene = Scene(space, api, audit)
    scene.operator = operator
    api.checks.append(operator.check_alive)
    yield scene
    scene.metrics.end()
    api.request("DELETE", AITASK.path(scene.namespace))


@pytest.fixture
def web(scene: Scene) -> Scene:
    """With a Deployment `web` in it, three pods, ready."""
    scene.web()
    return scene


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    """A test that fails shows the end of the operator's log."""
    report = yield
    operator = getattr(item, "funcargs", {}).get("operator") or getattr(
        getattr(item, "funcargs", {}).get("scene"), "operator", None
    )
    if report.failed and operator is not None:  # type: ignore[attr-defined]
        report.sections.append(("operator", operator.log_tail(30)))  # type: ignore[attr-defined]
    return report
