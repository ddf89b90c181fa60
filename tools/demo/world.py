"""What the API server says of the demo's tasks and Deployments at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from demo.kubectl import Kubectl

NAMESPACE = "aiops-demo"


@dataclass(frozen=True)
class Task:
    """An AITask, as it is in the API."""

    object: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def spec(self) -> dict[str, Any]:
        return dict(self.object["spec"])

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.object.get("status") or {})

    @property
    def last_action(self) -> dict[str, Any]:
        return dict(self.status.get("lastAction") or {})

    def condition(self, kind: str) -> dict[str, Any]:
        """A condition by type; empty where there is none."""
        return next((c for c in self.status.get("conditions") or () if c["type"] == kind), {})

    def says(self) -> str:
        """The message a person would look at: why it does not act, else what it saw."""
        for kind in ("ActionPermitted", "ThresholdBreached", "Ready"):
            condition = self.condition(kind)
            if condition.get("message") and (kind != "ActionPermitted" or condition["status"] != "Unknown"):
                return str(condition["message"])
        return ""


@dataclass(frozen=True)
class Deployment:
    """A Deployment, as it is in the API."""

    object: dict[str, Any]

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])

    @property
    def wanted(self) -> int:
        return int(self.object["spec"].get("replicas", 1))

    @property
    def available(self) -> int:
        return int((self.object.get("status") or {}).get("availableReplicas", 0))

    @property
    def restarted_at(self) -> str:
        annotations = self.object["spec"]["template"]["metadata"].get("annotations") or {}
        return str(annotations.get("kubectl.kubernetes.io/restartedAt", ""))

    @property
    def settled(self) -> bool:
        """Whether the last rollout has ended."""
        status = self.object.get("status") or {}
        return bool(
            status.get("observedGeneration", 0) >= self.object["metadata"]["generation"]
            and status.get("updatedReplicas", 0) == self.wanted
            and status.get("replicas", 0) == self.wanted
            and self.available == self.wanted
        )


@dataclass(frozen=True)
class World:
    """Tasks and Deployments of the demo's namespace by name."""

    tasks: dict[str, Task] = field(default_factory=dict)
    deployments: dict[str, Deployment] = field(default_factory=dict)


def look(kubectl: Kubectl) -> World:
    """Read everything once."""
    items = kubectl.get("aitasks.aiops.example.com,deployments.apps", "-n", NAMESPACE)["items"]
    tasks = [Task(item) for item in items if item["kind"] == "AITask"]
    deployments = {item["metadata"]["name"]: Deployment(item) for item in items if item["kind"] == "Deployment"}
    return World({task.name: task for task in tasks}, deployments)
