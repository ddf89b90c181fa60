"""A cluster with the operator installed as pods, whoever installed it: what a smoke test asks of it, and does to it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from localcluster import Cluster
from tests.behaviour.scene import AITASK, ALWAYS, POD
from tests.support.api import Api, Refused, conditions
from tests.support.audit_log import entries
from tests.support.kinds import DEPLOYMENT, LEASE, NAMESPACE
from tests.support.waiting import until

SECONDS = 300.0
"""For whatever a pod has to start for."""
LAST_ACTION, _TIME = "aiops.example.com/last-action", "aiops.example.com/last-action-time"
_LABELS = "control-plane=controller-manager,app.kubernetes.io/name=aitask-operator"


@dataclass
class Site:
    """The names are those of config/default."""

    cluster: Cluster
    workload_image: str
    """Of pods that do nothing, and have a /busybox."""
    namespace: str = "aitask-operator-system"
    deployment: str = "aitask-operator-controller-manager"
    lease: str = "aitask-operator"
    api: Api = field(init=False)
    spaces: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.api = Api.of_administrator(self.cluster)

    # --- the operator ---

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """What it prints; both streams where it failed and that is no fault."""
        command = [str(self.cluster.kubectl), "--kubeconfig", str(self.cluster.kubeconfig), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=SECONDS)
        assert done.returncode == 0 or not check, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def settled(self) -> None:
        """Wait until as many pods as wanted are ready, of the newest template and no others."""
        self.kubectl("-n", self.namespace, "rollout", "status", f"deployment/{self.deployment}", "--timeout=240s")
        wanted = self.wanted()
        until(lambda: len(self.pods()) == wanted and all(map(is_ready, self.pods())), "its pods are ready", SECONDS)

    def wanted(self) -> int:
        """Replicas of the operator."""
        found = self.api.get(DEPLOYMENT, self.deployment, self.namespace)
        assert found is not None
        replicas: int = found["spec"]["replicas"]
        return replicas

    def pods(self) -> list[dict[str, Any]]:
        """The operator's, also one that is about to end."""
        path = f"{POD.path(self.namespace)}?labelSelector={_LABELS}"
        found: list[dict[str, Any]] = self.api.request("GET", path)["items"]
        return found

    def pod(self) -> str:
        """The name of the one that is ready; the leader, where there are two."""
        names = [pod["metadata"]["name"] for pod in self.pods() if is_ready(pod)]
        [name] = names if len(names) == 1 else [self.leader()]
        return name

    def leader(self) -> str:
        """The pod that holds the lease, once there is one."""
        return until(self._leader, "somebody leads")

    def _leader(self) -> str:
        holder = ((self.api.get(LEASE, self.lease, self.namespace) or {}).get("spec") or {}).get("holderIdentity") or ""
        names = [pod["metadata"]["name"] for pod in self.pods()]
        return next((name for name in names if holder.startswith(name)), "")

    def execute(self, script: str, pod: str = "", check: bool = True) -> str:
        """What a shell in the operator's container prints."""
        inside = ("exec", pod or self.pod(), "-c", "manager", "--", "sh", "-ec", script)
        return self.kubectl("-n", self.namespace, *inside, check=check)

    def container(self, pod: str) -> dict[str, Any]:
        """The status of the operator's container."""
        found = self.api.get(POD, pod, self.namespace)
        statuses: list[dict[str, Any]] = ((found or {}).get("status") or {}).get("containerStatuses") or [{}]
        return statuses[0]

    def ended(self, pod: str) -> str:
        """Why the operator's container ended last; empty where it has not."""
        found = self.container(pod)
        states = [found.get(name, {}).get("terminated") or {} for name in ("state", "lastState")]
        return next((one["reason"] for one in states if one), "")

    # --- what it works on ---

    def space(self, name: str) -> None:
        """A namespace for a test."""
        self.spaces.append(name)
        self.api.create(NAMESPACE, NAMESPACE.object(name))

    def clear(self) -> None:
        """Remove the namespaces of the tests, while the operator is there to let its tasks go."""
        for name in self.spaces:
            self.api.delete(NAMESPACE, name)
        for name in self.spaces:
            self.api.wait_gone(NAMESPACE, name, seconds=SECONDS)
        self.spaces.clear()

    def objects(self) -> set[tuple[str, ...]]:
        """Kind, namespace and name of every object, but those that tell of what happened and of who is alive."""
        kinds = self.kubectl("api-resources", "--verbs=list", "--output=name").split()
        wanted = ",".join(kind for kind in kinds if kind.split(".")[0] not in ("events", "leases"))
        columns = "--output=custom-columns=:.kind,:.metadata.namespace,:.metadata.name"
        lines = self.kubectl("get", wanted, "--all-namespaces", "--no-headers", columns).splitlines()
        return {tuple(line.split()) for line in lines}

    def workload(self, namespace: str, name: str = "web", replicas: int = 1, command: tuple[str, ...] = ()) -> None:
        """A Deployment, once its pods are there."""
        self.api.create(DEPLOYMENT, DEPLOYMENT.object(name, namespace, spec=self.spec(name, replicas, command)))
        self.running(namespace, name, replicas)

    def spec(self, name: str, replicas: int, command: tuple[str, ...] = ()) -> dict[str, Any]:
        """Of a Deployment."""
        labels = {"app": name}
        container: dict[str, Any] = {"name": "main", "image": self.workload_image}
        container |= {"command": list(command)} if command else {}
        # What is to end at once ends at once: process 1 of these pods heeds no signal.
        pod = {"terminationGracePeriodSeconds": 0, "containers": [container]}
        template = {"metadata": {"labels": labels}, "spec": pod}
        return {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}

    def running(self, namespace: str, name: str, replicas: int) -> dict[str, Any]:
        """The Deployment, once that many pods are wanted and available."""

        def settled(found: dict[str, Any]) -> bool:
            status, wanted = found.get("status", {}), found["spec"]["replicas"]
            numbers = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")]
            return [wanted, *numbers] == [replicas] * 4

        return self.api.wait(DEPLOYMENT, name, namespace, settled, f"{replicas} pods are available", SECONDS)

    def task(self, namespace: str, name: str = "t", **spec: Any) -> None:
        """By default it acts once, as long as no pod is missing. Asked for until the guard lets it through."""
        full = {"targetDeployment": "web", "action": "scale-up", "intervalSeconds": 10, **ALWAYS, **spec}
        full["policy"] = {"cooldownSeconds": 3600, **spec.get("policy", {})}
        body = AITASK.object(name, namespace, spec=full)
        refusals: list[Refused] = []
        try:
            until(lambda: self._accepted(body, refusals), "the kind and the guard are served", SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}; {refusals[-1]}") from None

    def _accepted(self, body: dict[str, Any], refusals: list[Refused]) -> bool:
        try:
            self.api.create(AITASK, body)
        except Refused as error:
            refusals.append(error)
            return False
        return True

    def evaluated(self, namespace: str, name: str = "t") -> dict[str, Any]:
        """The status of a task, once it was looked at later than now."""
        before = (self.api.get(AITASK, name, namespace) or {}).get("status", {}).get("lastExecutionTime")

        def again(task: dict[str, Any]) -> bool:
            seen = task.get("status", {}).get("lastExecutionTime")
            return bool(seen) and seen != before

        found = self.api.wait(AITASK, name, namespace, again, "it is evaluated", SECONDS)
        status: dict[str, Any] = found["status"]
        return status

    def works(self, namespace: str) -> None:
        """Wait until a task that is new is evaluated: whatever has happened before, the operator is at work."""
        self.space(namespace)
        self.task(namespace, action="notify", targetDeployment="absent")
        self.api.wait(AITASK, "t", namespace, conditions, "it is evaluated", SECONDS)


def is_ready(pod: dict[str, Any]) -> bool:
    """Whether it is ready, and to stay."""
    found = pod.get("status", {}).get("conditions", [])
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in found)
    return ready and "deletionTimestamp" not in pod["metadata"]


@dataclass(frozen=True)
class Act:
    """A change of a Deployment's replicas that the API server let through: by which pod, to what, and when it was
    decided."""

    pod: str
    target: str
    id: str
    replicas: int
    decided: datetime


def acts(log: Path, account: str, since: int = 0) -> list[Act]:
    """In the order of the audit log."""
    found = []
    for entry in entries(log, since, LAST_ACTION):
        body, subject = entry.get("requestObject") or {}, entry["objectRef"]
        ours = entry["user"]["username"] == account and subject.get("resource") == "deployments"
        if not ours or "dryRun" in entry["requestURI"] or entry["responseStatus"]["code"] >= 300:
            continue
        notes = body.get("metadata", {}).get("annotations", {})
        if LAST_ACTION in notes and "replicas" in body.get("spec", {}):
            target, decided = f"{subject['namespace']}/{subject['name']}", datetime.fromisoformat(notes[_TIME])
            found.append(Act(pod_of(entry), target, notes[LAST_ACTION], body["spec"]["replicas"], decided))
    return found


def pod_of(entry: dict[str, Any]) -> str:
    """The pod whose token a request was made with."""
    [name] = entry["user"].get("extra", {}).get("authentication.kubernetes.io/pod-name", [""])
    return str(name)
