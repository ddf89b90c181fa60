"""The Kubernetes Event that tells of a failed run: what it says, and when two are the same.

core/v1, since ``kubectl describe`` and ``kubectl get events`` show its count and its two times.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Any

from ansible_operator.model.conditions import rfc3339
from ansible_operator.model.events import shorten
from ansible_operator.model.gvk import Object

REASON = "ReconcileFailed"
MAX_NOTE = 1024
"""Characters; the API server takes no more in a message."""

COMPONENT = "ansible-operator"
_CLUSTER_SCOPED = "default"
"""The namespace of Events about objects that have none, as the API server asks for."""

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_NAME = 200


def namespace_of(obj: Object) -> str:
    """Where an Event about the object belongs."""
    return obj["metadata"].get("namespace") or _CLUSTER_SCOPED


def name_of(obj: Object, task: str) -> str:
    """One name for one object and one failing task, so that the same failure is one Event, also after a restart."""
    meta = obj["metadata"]
    digest = hashlib.sha256(f"{meta['uid']}/{REASON}/{task}".encode(errors="replace")).hexdigest()[:16]
    name = meta["name"] if _SUBDOMAIN.fullmatch(meta["name"]) else str(obj.get("kind", "object")).lower()
    return f"{name[:_MAX_NAME].rstrip('.-')}.{digest}"


def note(message: str, task: str, path: str) -> str:
    """What the Event says: the failing task, where it stands, and its message."""
    if not task or message.startswith(f"task {task!r} failed"):
        return shorten(message, MAX_NOTE)
    where = f" ({path})" if path else ""
    return shorten(f"task {task!r}{where} failed: {message}", MAX_NOTE)


def changes(text: str, now: datetime) -> dict[str, Any]:
    """What differs each time the failure happens again, but for the count."""
    return {"message": text, "lastTimestamp": rfc3339(now)}


def failure_event(obj: Object, name: str, text: str, now: datetime) -> dict[str, Any]:
    """The Event of a failure that has not happened before."""
    meta = obj["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace_of(obj)},
        "involvedObject": {
            "apiVersion": obj.get("apiVersion", ""),
            "kind": obj.get("kind", ""),
            "namespace": meta.get("namespace", ""),
            "name": meta["name"],
            "uid": meta["uid"],
            "resourceVersion": meta.get("resourceVersion", ""),
        },
        "type": "Warning",
        "reason": REASON,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": rfc3339(now),
        "count": 1,
        **changes(text, now),
    }
