"""Kubernetes Events, as manifests. The name follows from what is told, so that telling it twice makes no second one."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from .model import Target, Task
from .values import format_time

COMPONENT = "aitask-operator"


def about_task(task: Task, reason: str, message: str, kind: str, time: datetime, key: str) -> dict[str, Any]:
    subject = {"apiVersion": "aiops.example.com/v1", "kind": "AITask", "name": task.name, "uid": task.uid}
    return _event(task, subject, reason, message, kind, time, key)


def about_act(task: Task, target: Target, reason: str, message: str, kind: str, time: datetime, key: str) -> list[Any]:
    """On the task and on what it acted on: whoever looks at either is told."""
    subject = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target.name, "uid": target.uid}
    told = _event(task, subject, reason, f"AITask {task.name}: {message}", kind, time, key)
    return [about_task(task, reason, message, kind, time, key), told]


def _event(
    task: Task, subject: Mapping[str, Any], reason: str, message: str, kind: str, time: datetime, key: str
) -> dict[str, Any]:
    digest = sha256(f"{task.uid}|{subject['uid']}|{reason}|{key}".encode()).hexdigest()[:16]
    moment = format_time(time)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{str(subject['name'])[:200].rstrip('-.')}.{digest}",
            "namespace": task.namespace,
            # The record of an act outlives the task that did it.
            "annotations": {"ansible.sdk.operatorframework.io/inject-owner": "false"},
        },
        "involvedObject": {**subject, "namespace": task.namespace},
        "type": kind,
        "reason": reason,
        "message": message[:1024],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": COMPONENT,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
