"""What a test of the behaviour of tasks works with: a namespace, its Deployment, its metrics, what the operator did.

The operator is not asked what it did: acts are counted in the API server's audit log.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.roles.aitask_lab import ACCOUNT, Lab, stamp
from tests.support.api import Api, Refused, conditions
from tests.support.kinds import DEPLOYMENT, Kind
from tests.support.operator import OperatorProcess
from tests.support.waiting import until

AITASK = Kind("aiops.example.com/v1", "AITask", "aitasks")
POD = Kind("v1", "Pod", "pods")
POD_METRICS = Kind("metrics.k8s.io/v1beta1", "PodMetrics", "pods")
SCALE = 0.1
"""Every duration of a task is this much shorter: 10 s between two evaluations are 1 s."""

ALWAYS = {"metric": {"type": "UnavailableReplicas"}, "comparison": "LessThanOrEqual", "threshold": 0}
"""A breach that no metrics are needed for, as long as all replicas are there."""

_USER = "system:serviceaccount:" + ":".join(ACCOUNT)
_WRITES = ("create", "update", "patch", "delete")


class AuditLog:
    """The requests of the operator's account since this was made, read on from where the last look ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = path.stat().st_size
        self._rest = b""
        self._entries: list[dict[str, Any]] = []

    def requests(self, *namespaces: str) -> list[dict[str, Any]]:
        """Those for objects in these namespaces ("": in none), by runs; the runtime's own are left out."""
        self._read_on()
        return [entry for entry in self._entries if entry["objectRef"].get("namespace", "") in namespaces]

    def _read_on(self) -> None:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if _USER.encode() in line:
                entry = json.loads(line)
                ours = entry.get("userAgent", "").startswith("ansible-operator/")
                if entry["user"]["username"] == _USER and entry.get("objectRef") and not ours:
                    self._entries.append(entry)


class Feeder(threading.Thread):
    """Keeps the metrics of the pods fresh, as a metrics server does: each round tells the present use with its time.

    ``usage`` is that of every container, ``by_pod`` that of single pods, by name; None makes a pod have no metrics.
    ``shift`` is what the clock of the metrics server is ahead, in seconds.
    """

    PERIOD = 0.5

    def __init__(self, api: Api, namespace: str) -> None:
        super().__init__(name=f"metrics of {namespace}", daemon=True)
        self.usage: dict[str, str] | None = None
        self.by_pod: dict[str, dict[str, str] | None] = {}
        self.shift = 0.0
        self._api, self._namespace = api, namespace
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(self.PERIOD):
            with suppress(Refused, OSError, HTTPException):  # the namespace may be going
                self._round()

    def end(self) -> None:
        self._ended.set()
        if self.is_alive():
            self.join()

    def _round(self) -> None:
        for pod in self._api.list(POD, self._namespace):
            name, labels = pod["metadata"]["name"], pod["metadata"].get("labels", {})
            usage = self.by_pod.get(name, self.usage)
            path = POD_METRICS.path(self._namespace, name)
            if usage is None:
                with suppress(Refused):
                    self._api.raw("DELETE", path)
                continue
            moment = stamp(datetime.now(UTC) + timedelta(seconds=self.shift))
            containers = [{"name": c["name"], "usage": usage} for c in pod["spec"]["containers"]]
            body = POD_METRICS.object(name, self._namespace, metadata={"labels": labels})
            body |= {"timestamp": moment, "window": "15s", "containers": containers}
            query = "?fieldManager=metrics&force=true"
            self._api.request("PATCH", path + query, body, "application/apply-patch+yaml")


class Scene(Lab):
    """A lab that an operator works in by itself."""

    def __init__(self, lab: Lab, api: Api, audit: AuditLog, label: str = "shared") -> None:
        super().__init__(lab.cluster, lab.namespace, lab.kubeconfig, lab.directory)
        self.api, self.audit, self.label = api, audit, label
        self.metrics = Feeder(api, self.namespace)
        self.operator: OperatorProcess | None = None
        self.patience = 120.0
        """Seconds to wait for anything; the machine may have much else to do."""

    # --- what the test does ---

    def web(self, name: str = "web", replicas: int = 3, *, settle: bool = True, **changes: Any) -> None:
        """A Deployment; ``changes`` are fields of its spec besides."""
        container = {"name": "web", "image": "registry.k8s.io/pause:3.10", "resources": requests()}
        labels = {"app": "web"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **changes}
        self.api.create(DEPLOYMENT, DEPLOYMENT.object(name, self.namespace, spec=spec))
        if settle:
            self.settled(replicas)

    def task(self, name: str = "t", notes: dict[str, str] | None = None, **spec: Any) -> str:
        """A task that the operator of this scene looks at. It evaluates each second, and acts once only."""
        full = {"targetDeployment": "web", "threshold": 80, "action": "scale-up", "intervalSeconds": 10, **spec}
        full["policy"] = {"cooldownSeconds": 3600, **spec.get("policy", {})}
        metadata = {"labels": {"test.example.com/operator": self.label}, "annotations": notes or {}}
        self.api.create(AITASK, AITASK.object(name, self.namespace, metadata=metadata, spec=full))
        return name

    def settled(self, replicas: int = 3) -> None:
        self.api.wait(
            DEPLOYMENT, "web", self.namespace, lambda found: _is_settled(found, replicas), "settled", self.patience
        )

    def edit(self, name: str = "t", **spec: Any) -> None:
        """A merge patch of the spec."""
        self.api.patch(AITASK, name, self.namespace, {"spec": spec})

    def use(self, cpu: str | None, memory: str = "32Mi") -> None:
        """What every container uses from now on; each requests 100m and 64Mi. None: nobody says."""
        self.metrics.usage = None if cpu is None else {"cpu": cpu, "memory": memory}
        if self.metrics.ident is None:
            self.metrics.start()

    # --- what it sees ---

    def wait(self, condition: Callable[[dict[str, Any]], Any], what: str, name: str = "t") -> dict[str, Any]:
        """The task as it is when the condition first holds; it may be another by then, a second is enough for that."""
        return self.api.wait_for_state(AITASK, name, self.namespace, condition, what, self.patience)

    def sees(self, kind: str, status: str, reason: str, *words: str, name: str = "t") -> dict[str, Any]:
        """The status, once a condition of the task says so, with these words in its message."""

        def said(task: dict[str, Any]) -> bool:
            found = conditions(task).get(kind, {})
            same = (found.get("status"), found.get("reason")) == (status, reason)
            return same and all(word in found["message"] for word in words)

        task = self.wait(said, f"{kind} is {status}, {reason}, with {words}", name)
        found: dict[str, Any] = task["status"]
        return found

    def evaluated(self, times: int = 2, name: str = "t") -> dict[str, Any]:
        """The status after the task was evaluated that many times more: what was to happen has happened by then."""
        seen = {str(self.status(name).get("lastExecutionTime"))}

        def enough(task: dict[str, Any]) -> bool:
            seen.add(str(task.get("status", {}).get("lastExecutionTime")))
            return len(seen) > times

        status: dict[str, Any] = self.wait(enough, f"{times} more evaluations", name)["status"]
        return status

    def status(self, name: str = "t") -> dict[str, Any]:
        found = self.api.get(AITASK, name, self.namespace)
        assert found is not None
        status: dict[str, Any] = found.get("status", {})
        return status

    def deployment(self, name: str = "web") -> dict[str, Any]:
        found = self.api.get(DEPLOYMENT, name, self.namespace)
        assert found is not None
        return found

    def replicas(self, name: str = "web") -> int:
        wanted: int = self.deployment(name)["spec"]["replicas"]
        return wanted

    def acts(self) -> list[dict[str, Any]]:
        """What the operator changed in Deployments: the bodies of the writes that the API server let through."""
        return [
            entry["requestObject"]
            for entry in self.audit.requests(self.namespace)
            if entry["objectRef"]["resource"] == "deployments"
            and entry["verb"] in _WRITES
            and entry["responseStatus"]["code"] < 300
            and "dryRun" not in entry["requestURI"]
        ]

    def until_acts(self, count: int) -> list[dict[str, Any]]:
        """The acts, once there are that many."""
        return until(
            lambda: self.acts() if len(self.acts()) >= count else [], f"{count} acts", self.patience, self.api.checks
        )

    def passes(self, name: str = "t") -> int:
        """Runs over a task that have ended."""
        assert self.operator is not None
        return sum(run.namespace == self.namespace for run in self.operator.ended_runs(name))

    def until_passes(self, count: int, name: str = "t") -> None:
        until(lambda: self.passes(name) >= count, f"{count} passes over {name}", self.patience, self.api.checks)

    def until_events(self, *expected: tuple[str, str]) -> None:
        """Once these are the Events of the operator: kind of the object and reason, sorted."""
        try:
            until(lambda: self.events() == sorted(expected), f"events {expected}", self.patience)
        except AssertionError as error:
            raise AssertionError(f"{error}; there are {self.events()}") from None


def _is_settled(deployment: dict[str, Any], replicas: int) -> bool:
    """Nothing is rolling out, and as many pods as wanted are ready."""
    status = deployment.get("status", {})
    numbers = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")]
    progress = {c["type"]: c["reason"] for c in status.get("conditions", [])}.get("Progressing")
    seen = status.get("observedGeneration") == deployment["metadata"]["generation"]
    return numbers == [replicas] * 3 and seen and progress == "NewReplicaSetAvailable"


def requests(cpu: str = "100m", memory: str = "64Mi") -> dict[str, Any]:
    """The resources of a container."""
    return {"requests": {"cpu": cpu, "memory": memory}}


def moment(text: str) -> datetime:
    """A time of a status."""
    return datetime.fromisoformat(text)


def time_of_day(text: str) -> str:
    """A time of a status as messages have it."""
    return moment(text).strftime("%H:%M:%SZ")
