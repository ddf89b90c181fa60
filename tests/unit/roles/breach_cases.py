"""Breaches as they are found in clusters: what the role would read, from the short form in `breaches/*.yaml`.

`NAME.txt` beside each is the evidence it gives, to the letter. `python tests/unit/roles/breach_cases.py` writes them
anew after a change that is meant; read the difference.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[3] / "roles" / "aitask")]

from aitask_rules.diagnosis import Facts, collect, redactor_for
from aitask_rules.model import State, Task
from aitask_rules.spec import parse_spec
from aitask_rules.target import parse_target

DIRECTORY = Path(__file__).parent / "breaches"
NAMES = sorted(path.stem for path in DIRECTORY.glob("*.yaml"))
NOW = datetime(2026, 1, 31, 10, 0, 0, tzinfo=UTC)
_NAMESPACE, _DEPLOYMENT, _HASH = "shop", "checkout", "7d9f8c6b5d"


@dataclass(frozen=True)
class Case:
    """A breach, and what must not be in its evidence."""

    facts: Facts
    canaries: tuple[str, ...]

    @property
    def evidence(self) -> tuple[str, ...]:
        return collect(self.facts, redactor_for(self.facts))


def load(name: str) -> Case:
    """Of `breaches/NAME.yaml`."""
    raw = yaml.safe_load((DIRECTORY / f"{name}.yaml").read_text())
    return Case(make_facts(raw), tuple(map(str, raw.get("canaries", ()))))


def make_facts(raw: Mapping[str, Any]) -> Facts:
    """From the short form: what is left out is as it is in a Deployment that is well."""
    deployment = _deployment(raw.get("deployment", {}))
    asked = {"action": "diagnose", "diagnose": {"includeLogs": True}} if "logs" in raw else {"action": "restart"}
    spec = {"targetDeployment": _DEPLOYMENT, "threshold": 80, **asked, **raw.get("spec", {})}
    pods = [_pod(pod, number) for pod in raw.get("pods", [{}]) for number in range(pod.get("times", 1))]
    return Facts(
        task=Task("guard-checkout", _NAMESPACE, "5f0c2b7d-task-uid", 1, "1", {}, ("", ""), False),
        spec=parse_spec(spec),
        target=parse_target(deployment, "5f0c2b7d-task-uid"),
        state=State(
            observed_value=str(raw.get("value", "93")),
            breached=True,
            ineffective=raw.get("ineffective", 0),
            last_action=raw.get("lastAction", {}),
        ),
        reads={
            "deployment": {"resources": [deployment]},
            "pods": {"resources": pods},
            "history": {"resources": [_replica_set(entry) for entry in raw.get("revisions", [{}])]},
            "events": {"resources": [_event(e, n) for e in raw.get("events", []) for n in range(e.get("times", 1))]},
            "logs": {"log": raw["logs"]} if "logs" in raw else {},
        },
    )


def _deployment(raw: Mapping[str, Any]) -> dict[str, Any]:
    replicas = raw.get("replicas", 3)
    containers = raw.get("containers", [{"name": "app", "image": "registry.shop.example/checkout:1.4.2"}])
    healthy = {"updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
    hidden = {"env": [{"name": "DB_PASSWORD", "value": "env-canary-rosebud"}], "args": ["--key=arg-canary"]}
    return {
        "metadata": {
            "name": _DEPLOYMENT,
            "namespace": _NAMESPACE,
            "uid": "deployment-uid",
            "generation": 1,
            "annotations": {"deployment.kubernetes.io/revision": raw.get("revision", "1"), "owner": "note-canary-ann"},
        },
        "spec": {
            "replicas": replicas,
            "paused": raw.get("paused", False),
            "template": {"spec": {"containers": [hidden | container for container in containers]}},
        },
        "status": {"observedGeneration": 1, "replicas": replicas, **healthy, **raw.get("status", {})},
    }  # fmt: skip


def _owner(kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": name, "uid": uid, "controller": True}]


def _pod(raw: Mapping[str, Any], number: int) -> dict[str, Any]:
    digest, ready = raw.get("hash", _HASH), raw.get("ready", True)
    name = raw.get("name", f"{_DEPLOYMENT}-{digest}-x{number:02}z9")
    own = [
        {"name": "app", "ready": ready, "restartCount": 0, "state": {"running": {"startedAt": "2026-01-31T08:00:00Z"}}}
    ]
    status = {
        "phase": raw.get("phase", "Running"),
        "podIP": raw.get("ip", f"10.244.3.{10 + number}"),
        "hostIP": "192.168.7.21",
        "conditions": raw.get("conditions", [{"type": "Ready", "status": str(ready)}]),
        "initContainerStatuses": raw.get("initContainers", []),
        "containerStatuses": raw.get("containers", own),
        **{field: raw[field] for field in ("reason", "message") if field in raw},
    }
    return {
        "metadata": {
            "name": name,
            "namespace": _NAMESPACE,
            "labels": {"pod-template-hash": digest},
            "ownerReferences": _owner("ReplicaSet", f"{_DEPLOYMENT}-{digest}", "rs-uid"),
        },
        "spec": {"nodeName": raw.get("node", "worker-eu-3.shop.example")},
        "status": status,
    }  # fmt: skip


def _replica_set(raw: Mapping[str, Any]) -> dict[str, Any]:
    digest = raw.get("hash", _HASH)
    image = {"name": "app", "image": raw.get("image", "registry.shop.example/checkout:1.4.2")}
    return {
        "metadata": {
            "name": f"{_DEPLOYMENT}-{digest}",
            "labels": {"pod-template-hash": digest},
            "annotations": {"deployment.kubernetes.io/revision": str(raw.get("revision", 1))},
            "ownerReferences": _owner("Deployment", _DEPLOYMENT, "deployment-uid"),
        },
        "spec": {"template": {"spec": {"containers": [image]}}},
    }


def _event(raw: Mapping[str, Any], number: int) -> dict[str, Any]:
    kind = raw.get("kind", "Pod")
    names = {
        "Pod": f"{_DEPLOYMENT}-{_HASH}-x{number:02}z9",
        "ReplicaSet": f"{_DEPLOYMENT}-{_HASH}",
        "Deployment": _DEPLOYMENT,
    }
    return {
        "involvedObject": {"kind": kind, "name": raw.get("name", names.get(kind, "other")), "namespace": _NAMESPACE},
        "type": raw.get("type", "Warning"),
        "reason": raw["reason"],
        "message": str(raw.get("message", "")).replace("NUMBER", str(number)),
        "count": raw.get("count", 1),
        "lastTimestamp": raw.get("time", f"2026-01-31T09:{number % 60:02}:00Z"),
    }


if __name__ == "__main__":
    for case in NAMES:
        (DIRECTORY / f"{case}.txt").write_text("\n".join(load(case).evidence) + "\n")
