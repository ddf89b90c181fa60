"""A cluster that the operator is installed on, and the operator, running outside of it with the installed account."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from localcluster import Cluster
from tests.behaviour.conftest import start_operator
from tests.behaviour.scene import AITASK, ALWAYS, requests
from tests.roles.aitask_lab import ACCOUNT
from tests.support.api import Api, conditions
from tests.support.kinds import DEPLOYMENT
from tests.support.operator import OperatorProcess
from tests.support.waiting import until

SYSTEM, MANAGER = ACCOUNT
LABEL = "site"
# Of all kinds these tell of what happened; the API server throws them away by itself.
_RECORDS = ("events", "events.events.k8s.io")
_LABELS = {"app": "web"}
_TEMPLATE = {
    "metadata": {"labels": _LABELS},
    "spec": {"containers": [{"name": "web", "image": "registry.k8s.io/pause:3.10", "resources": requests()}]},
}
_ADDRESSES = ("--health-probe-bind-address", "--metrics-bind-address")


class Site:
    """Nothing is installed at first."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster, self.directory, self.api = cluster, directory, Api.of_administrator(cluster)
        self.operators: list[OperatorProcess] = []

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(self.cluster.kubectl), "--kubeconfig", str(self.cluster.kubeconfig), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=300)

    def apply(self, manifests: str) -> None:
        """Again, until the kinds that are among them are served."""
        arguments = ("apply", "--server-side", "-f", "-")
        until(lambda: self.run(*arguments, stdin=manifests).returncode == 0, "it is applied", 180)

    # --- the operator ---

    def start(self) -> OperatorProcess:
        """As the installed Deployment says it: its account, its flags but for addresses, what it watches."""
        deployment = self.api.get(DEPLOYMENT, MANAGER, SYSTEM)
        assert deployment is not None
        pod = deployment["spec"]["template"]["spec"]
        [container] = pod["containers"]
        flags = [one for one in container["args"] if not one.startswith(_ADDRESSES)]
        [watched] = [one.get("value", "") for one in container["env"] if one["name"] == "WATCH_NAMESPACE"]
        directory = self.directory / f"operator-{len(self.operators)}"
        directory.mkdir()
        account = self.cluster.service_account_kubeconfig(SYSTEM, pod["serviceAccountName"], directory / "kubeconfig")
        flags.append(f"--leader-election-namespace={SYSTEM}")  # a pod knows its own
        operator = start_operator(self.cluster, directory, account, *flags, label=LABEL, namespaces=watched)
        self.operators.append(operator)
        operator.wait_ready()
        return operator

    def clean_up(self) -> None:
        for operator in self.operators:
            operator.clean_up()

    # --- tasks ---

    def task(self, namespace: str, name: str, **spec: Any) -> None:
        body = task(namespace, name, **spec)
        until(lambda: self._accepted(body), "the guard and the CRD are served", 180)

    def _accepted(self, body: dict[str, Any]) -> bool:
        return self.run("apply", "--server-side", "-f", "-", stdin=json.dumps(body)).returncode == 0

    def work(self, namespace: str, names: Iterable[str] = ("adopted", "owned")) -> None:
        """A task on a Deployment that it adopts, one on a Deployment that it makes; both have acted."""
        if self.run("get", "namespace", namespace).returncode:
            self.kubectl("create", "namespace", namespace)
        adopted, owned = names
        spec = {"replicas": 1, "selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
        self.api.create(DEPLOYMENT, DEPLOYMENT.object(adopted, namespace, spec=spec))
        self.task(namespace, adopted)
        self.task(namespace, owned, template=_TEMPLATE)
        for name in (adopted, owned):
            self.api.wait(AITASK, name, namespace, _has_acted, "it has acted", 180)

    # --- what is there ---

    def left(self, word: str) -> list[str]:
        """Every object anywhere that has this word in it, as kind/namespace/name."""
        kinds = self.kubectl("api-resources", "--verbs=list", "--output=name").split()
        wanted = ",".join(kind for kind in kinds if kind not in _RECORDS)
        done = self.run("get", wanted, "-A", "-o", "json")
        if done.returncode:  # a kind that is just going may still be named
            return [done.stderr]
        listed = json.loads(done.stdout)
        return sorted(
            f"{one['kind']}/{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
            for one in listed["items"]
            if word in json.dumps(_without_managers(one))
        )


def task(namespace: str, name: str, **spec: Any) -> dict[str, Any]:
    """A task that restarts the Deployment of its name, once."""
    full = {"targetDeployment": name, "action": "restart", "intervalSeconds": 10, **ALWAYS, **spec}
    labels = {"test.example.com/operator": LABEL}
    return AITASK.object(name, namespace, metadata={"labels": labels}, spec=full)


def _has_acted(found: dict[str, Any]) -> bool:
    status = found.get("status", {})
    return status.get("lastAction", {}).get("result") == "Succeeded" and bool(conditions(found))


def _without_managers(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "metadata": {key: value for key, value in found["metadata"].items() if key != "managedFields"}}
