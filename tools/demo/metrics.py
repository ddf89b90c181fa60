"""The metrics that the operator reads: PodMetrics objects, set through the API, kept fresh as a metrics server would.

They are simulated, and the view says so. Nothing else of the demo is.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from demo.errors import DemoError
from demo.kubectl import Kubectl

_FRESH_SECONDS = 5.0


@dataclass(frozen=True)
class Load:
    """Use of every pod of a Deployment, in percent of what the pods ask for: 100m CPU and 64Mi memory (samples)."""

    cpu_percent: int
    memory_percent: int


class SimulatedMetrics:
    """Writes PodMetrics for the pods of some Deployments, again and again, in a thread of its own."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self._kubectl = kubectl
        self._namespace = namespace
        self._loads: dict[str, Load] = {}
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
        self.fault: str | None = None

    def __enter__(self) -> SimulatedMetrics:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def set(self, deployment: str, load: Load) -> None:
        """From now on the pods of this Deployment (label app=NAME) show this load."""
        with self._changed:
            self._loads[deployment] = load
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._ended:
                    return
                loads = dict(self._loads)
            self._write(loads)
            with self._changed:
                if not self._ended and loads == self._loads:
                    self._changed.wait(_FRESH_SECONDS)

    def _write(self, loads: dict[str, Load]) -> None:
        try:
            pods = self._kubectl.get("pods", "-n", self._namespace)["items"] if loads else []
            objects = [pod_metrics(pod, load) for pod in pods if (load := loads.get(_app(pod)))]
            if objects:
                self._kubectl.apply(*objects)
            self.fault = None
        except DemoError as error:
            self.fault = str(error)  # a pod that has just gone, say; the next round is a few seconds away


def _app(pod: dict[str, Any]) -> str:
    return str(pod["metadata"].get("labels", {}).get("app", ""))


def pod_metrics(pod: dict[str, Any], load: Load) -> dict[str, Any]:
    """What a metrics server would say of the pod. It goes with the pod, which owns it."""
    meta = pod["metadata"]
    usage = {"cpu": f"{load.cpu_percent}m", "memory": f"{load.memory_percent * 64 * 1024 // 100}Ki"}
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": meta.get("labels", {}),
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}],
        },
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "window": "15s",
        "containers": [{"name": container["name"], "usage": usage} for container in pod["spec"]["containers"]],
    }
