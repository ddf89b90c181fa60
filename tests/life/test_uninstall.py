"""What stays after an uninstall: the record of the last act on Deployments that a task adopted.

On a cluster of its own: everything of the install goes.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster
from tests.behaviour.conftest import start_operator
from tests.behaviour.scene import AITASK, ALWAYS, requests
from tests.roles.aitask_lab import ACCOUNT, ROOT
from tests.support.api import Api, conditions
from tests.support.kinds import DEPLOYMENT
from tests.support.operator import OperatorProcess
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

_LABELS = {"app": "web"}
_TEMPLATE = {
    "metadata": {"labels": _LABELS},
    "spec": {"containers": [{"name": "web", "image": "registry.k8s.io/pause:3.10", "resources": requests()}]},
}
# Of all kinds these tell of what happened; the API server throws them away by itself.
_RECORDS = ("events", "events.events.k8s.io")


class Site:
    """A cluster with the operator installed, and running outside of it with the installed account."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster, self.api = cluster, Api.of_administrator(cluster)
        self.default = self.kubectl("kustomize", str(ROOT / "config" / "default"))
        until(self._installed, "it is installed", 180)
        account = cluster.service_account_kubeconfig(*ACCOUNT, directory / "kubeconfig")
        self.operator: OperatorProcess = start_operator(cluster, directory, account, label="site")

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        done = self._run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(self.cluster.kubectl), "--kubeconfig", str(self.cluster.kubeconfig), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=300)

    def _installed(self) -> bool:
        return self._run("apply", "--server-side", "-f", "-", stdin=self.default).returncode == 0

    def task(self, namespace: str, name: str, **spec: Any) -> None:
        full = {"targetDeployment": name, "action": "restart", "intervalSeconds": 10, **ALWAYS, **spec}
        labels = {"test.example.com/operator": "site"}
        body = AITASK.object(name, namespace, metadata={"labels": labels}, spec=full)
        until(lambda: self._accepted(body), "the guard and the CRD are served", 180)

    def _accepted(self, body: dict[str, Any]) -> bool:
        return self._run("apply", "--server-side", "-f", "-", stdin=json.dumps(body)).returncode == 0

    def work(self, namespace: str) -> None:
        """A task on a Deployment that it adopts, one on a Deployment that it makes; both have acted."""
        self.kubectl("create", "namespace", namespace)
        spec = {"replicas": 1, "selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
        self.api.create(DEPLOYMENT, DEPLOYMENT.object("adopted", namespace, spec=spec))
        self.task(namespace, "adopted")
        self.task(namespace, "owned", template=_TEMPLATE)
        for name in ("adopted", "owned"):
            self.api.wait(AITASK, name, namespace, _has_acted, "it has acted", 180)

    def left(self, word: str) -> list[str]:
        """Every object anywhere that has this word in it, as kind/namespace/name."""
        kinds = self.kubectl("api-resources", "--verbs=list", "--output=name").split()
        wanted = ",".join(kind for kind in kinds if kind not in _RECORDS)
        done = self._run("get", wanted, "-A", "-o", "json")
        if done.returncode:  # a kind that is just going may still be named
            return [done.stderr]
        listed = json.loads(done.stdout)
        return sorted(
            f"{one['kind']}/{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
            for one in listed["items"]
            if word in json.dumps(_without_managers(one))
        )


def _has_acted(task: dict[str, Any]) -> bool:
    found = task.get("status", {})
    return found.get("lastAction", {}).get("result") == "Succeeded" and bool(conditions(task))


def _are_records(left: list[str]) -> bool:
    foreign = [one for one in left if not one.startswith(("Deployment/shop/adopted", "ReplicaSet/shop/adopted-"))]
    print("left, but for records:", foreign)
    return foreign == [] and "Deployment/shop/adopted" in left


def _without_managers(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "metadata": {key: value for key, value in found["metadata"].items() if key != "managedFields"}}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Cluster.start(tmp_path / "cluster", progress=lambda text: None) as cluster:
        site = Site(cluster, tmp_path)
        try:
            site.operator.wait_ready()
            yield site
        finally:
            site.operator.clean_up()


def test_an_uninstall_leaves_adopted_deployments_and_nothing_else(site: Site) -> None:
    """First a namespace is deleted while no operator runs: nothing of a task holds it. Then all of the install."""
    for namespace in ("shop", "bank"):
        site.work(namespace)
    assert site.operator.stop() == 0
    site.kubectl("delete", "namespace", "bank", "--timeout=240s")
    site.kubectl("delete", "--ignore-not-found", "--timeout=240s", "-f", "-", stdin=site.default)
    gone = "the Deployment of a task goes with it"
    until(lambda: site.api.get(DEPLOYMENT, "owned", "shop") is None, gone, 180)
    # The annotations of the last act are its record; the Deployment controller copies them to the ReplicaSets.
    until(lambda: _are_records(site.left("aiops.example.com")), "only records of acts are left", 180)
    notes = (site.api.get(DEPLOYMENT, "adopted", "shop") or {})["metadata"]["annotations"]
    ours = {key for key in notes if "aiops" in key}
    assert ours == {"aiops.example.com/last-action", "aiops.example.com/last-action-time"}
    assert site.left("aitask-operator") == []
