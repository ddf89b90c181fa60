"""What the fleet soak works on: namespaces, Deployments, autoscalers, tasks, and metrics that wander."""

from __future__ import annotations

import json
import random
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import urllib3
import yaml

from localcluster import Cluster
from tests.bench.common import api_of
from tests.support.api import Refused
from tests.support.kinds import DEPLOYMENT, Kind
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
ACCOUNT = ("aitask-operator-system", "aitask-operator-controller-manager")
AITASK = Kind("aiops.example.com/v1", "AITask", "aitasks")
POD = Kind("v1", "Pod", "pods")
POD_METRICS = Kind("metrics.k8s.io/v1beta1", "PodMetrics", "pods")
NAMESPACE = Kind("v1", "Namespace", "namespaces")
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
HPA = Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")

NAMESPACES = tuple(f"team-{number}" for number in range(5))
REQUEST = 100
"""CPU that each container asks for, in thousandths of a core."""
COOLDOWN = 60
"""Seconds between two acts on one target."""
LEAST, MOST = 1, 6
"""Limits of action scale."""
LIMITS = {"maxConcurrentActions": 5, "maxActionsPerHour": 60, "maxActionsPerNamespacePerHour": 20}
PLACE_SECONDS = 60
"""How long an act takes one of the places of maxConcurrentActions (role aitask, `aitask_ledger`)."""
STORM_SECONDS = 60

Target = tuple[str, str]
"""Namespace and name of a Deployment."""


def targets(count: int) -> list[Target]:
    return [(NAMESPACES[number % len(NAMESPACES)], f"web-{number}") for number in range(count)]


def has_autoscaler(target: Target) -> bool:
    """Every tenth."""
    return int(target[1].removeprefix("web-")) % 10 == 3


def deployment(target: Target) -> dict[str, Any]:
    namespace, name = target
    labels = {"app": name}
    resources = {"requests": {"cpu": f"{REQUEST}m", "memory": "64Mi"}}
    container = {"name": "web", "image": "registry.k8s.io/pause:3.10", "resources": resources}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return DEPLOYMENT.object(name, namespace, spec=spec)


def tasks_of(target: Target, interval: int) -> Iterator[dict[str, Any]]:
    """Three on each Deployment: up, down, and a restart or a notification on what is not available."""
    namespace, name = target
    policy = {"cooldownSeconds": COOLDOWN, "maxActionsPerHour": 20, "maxIneffectiveActions": 10}
    common = {"targetDeployment": name, "intervalSeconds": interval, "policy": policy}
    scale = {"minReplicas": LEAST, "maxReplicas": MOST}
    missing = {"type": "UnavailableReplicas"}
    third = "restart" if int(name.removeprefix("web-")) % 2 else "notify"
    specs = {
        "up": {**common, "threshold": 80, "action": "scale-up", "scale": scale},
        "down": {**common, "threshold": 20, "comparison": "LessThan", "action": "scale-down", "scale": scale},
        "third": {**common, "threshold": 0, "metric": missing, "action": third},
    }
    for suffix, spec in specs.items():
        yield AITASK.object(f"{name}-{suffix}", namespace, spec=spec)


def autoscaler(target: Target) -> dict[str, Any]:
    goal = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target[1]}
    wanted = {"type": "Utilization", "averageUtilization": 50}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": wanted}}
    return HPA.object(target[1], target[0], spec={"scaleTargetRef": goal, "maxReplicas": 5, "metrics": [metric]})


class Site:
    """The cluster with all of it, and the manifests of config/default installed."""

    def __init__(self, cluster: Cluster, targets: list[Target], interval: int) -> None:
        self.cluster, self.api, self.targets, self.interval = cluster, api_of(cluster), targets, interval

    def build(self) -> None:
        for directory in ("crd", "testing", "default"):
            until(lambda d=directory: self._apply(d), f"config/{directory} is installed", 120)  # type: ignore[misc]
        storm = {"percent": 30, "minTasks": 5, "cooldownSeconds": STORM_SECONDS}
        settings = yaml.safe_dump({"limits": LIMITS, "storm": storm})
        self.api.patch(CONFIG_MAP, "aitask-operator-config", ACCOUNT[0], {"data": {"config.yaml": settings}})
        for namespace in NAMESPACES:
            self.api.create(NAMESPACE, NAMESPACE.object(namespace))
        for target in self.targets:
            self.api.create(DEPLOYMENT, deployment(target))
            if has_autoscaler(target):
                self.api.create(HPA, autoscaler(target))
        self._until_running()
        for target in self.targets:
            for task in tasks_of(target, self.interval):
                self.api.create(AITASK, task)

    def _apply(self, directory: str) -> bool:
        command = [self.cluster.kubectl, "--kubeconfig", self.cluster.kubeconfig, "apply", "--server-side", "-k"]
        done = subprocess.run([*command, ROOT / "config" / directory], capture_output=True, check=False)
        return done.returncode == 0

    def _until_running(self) -> None:
        def available() -> bool:
            found = [one for namespace in NAMESPACES for one in self.api.list(DEPLOYMENT, namespace)]
            return sum(one.get("status", {}).get("availableReplicas", 0) >= 1 for one in found) == len(self.targets)

        until(available, "the Deployments are available", 300)


class Metrics(threading.Thread):
    """Use of CPU that wanders from Deployment to Deployment, told anew for every pod each round."""

    PERIOD = 15.0

    def __init__(self, cluster: Cluster, site: Site, seed: int) -> None:
        super().__init__(name="metrics", daemon=True)
        self.storm = False
        """While it is set every Deployment is busy."""
        self._site, self._random = site, random.Random(seed)
        self._load = {target: self._random.uniform(30, 70) for target in site.targets}
        self._ended = threading.Event()
        token = (cluster.directory / "admin.token").read_text()
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/apply-patch+yaml"}
        self._pool = urllib3.PoolManager(ca_certs=str(cluster.ca_file))

    def run(self) -> None:
        while not self._ended.wait(self.PERIOD):
            self._wander()
            for namespace in NAMESPACES:
                self._tell(namespace)

    def end(self) -> None:
        self._ended.set()
        self.join()

    def _wander(self) -> None:
        """A few become busy or idle, the others go back to the middle."""
        for target, load in self._load.items():
            turns = self._random.random() < 0.02
            base = self._random.choice((5.0, 95.0)) if turns else load + (50 - load) * 0.05
            self._load[target] = min(120.0, max(1.0, base + self._random.gauss(0, 4)))

    def _tell(self, namespace: str) -> None:
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for pod in self._site.api.list(POD, namespace):
            name, app = pod["metadata"]["name"], pod["metadata"].get("labels", {}).get("app", "")
            load = 95.0 if self.storm else self._load.get((namespace, app))
            if load is None or pod["metadata"].get("deletionTimestamp"):
                continue
            usage = {"cpu": f"{int(load * REQUEST / 100)}m", "memory": "32Mi"}
            body = POD_METRICS.object(name, namespace, metadata={"labels": {"app": app}})
            body |= {"timestamp": moment, "window": "15s", "containers": [{"name": "web", "usage": usage}]}
            path = self._site.cluster.server + POD_METRICS.path(namespace, name)
            self._pool.request(
                "PATCH", f"{path}?fieldManager=metrics&force=true", body=json.dumps(body), headers=self._headers
            )


class Chaos(threading.Thread):
    """People: rollouts, deletions of Deployments and of tasks, one each few seconds."""

    def __init__(self, site: Site, seed: int, period: float = 4.0) -> None:
        super().__init__(name="chaos", daemon=True)
        self.done: dict[str, int] = {}
        self._site, self._random, self._period = site, random.Random(seed), period
        self._ended = threading.Event()

    def run(self) -> None:
        deeds = (self._roll_out, self._delete_target, self._delete_task)
        while not self._ended.wait(self._period):
            deed = self._random.choices(deeds, (6, 1, 2))[0]
            try:
                deed(self._random.choice(self._site.targets))
                self.done[deed.__name__.strip("_")] = self.done.get(deed.__name__.strip("_"), 0) + 1
            except Refused as error:
                print(f"chaos: {error}", flush=True)

    def end(self) -> None:
        self._ended.set()
        self.join()

    def _roll_out(self, target: Target) -> None:
        notes = {"example.com/release": str(self._random.random())}
        change = {"spec": {"template": {"metadata": {"annotations": notes}}}}
        self._site.api.patch(DEPLOYMENT, target[1], target[0], change)

    def _delete_target(self, target: Target) -> None:
        """And make it again at once, with another uid."""
        api = self._site.api
        api.delete(DEPLOYMENT, target[1], target[0])
        api.wait_gone(DEPLOYMENT, target[1], target[0])
        api.create(DEPLOYMENT, deployment(target))

    def _delete_task(self, target: Target) -> None:
        task = self._random.choice(list(tasks_of(target, self._site.interval)))
        self._site.api.delete(AITASK, task["metadata"]["name"], target[0])
        self._site.api.wait_gone(AITASK, task["metadata"]["name"], target[0])
        self._site.api.create(AITASK, task)
