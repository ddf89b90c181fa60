"""A task on its way into an archive and out of it again."""

from collections.abc import Mapping
from typing import Any

from ..gates import ALLOW_GITOPS
from ..proposal import APPROVE
from ..values import mapping
from .content import API_VERSION, KIND

PAUSED = "aiops.example.com/paused"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
RESTORED_BY = "aiops.example.com/restored-by"
"""Uid of the restore that made or replaced the task: started again, it knows what it has done."""
RESTORED_AS = "aiops.example.com/restored-as"
INJECT_OWNER = "ansible.sdk.operatorframework.io/inject-owner"

_PERMITS = (APPROVE, PAUSED, ALLOW_GITOPS)
"""What was approved, paused or allowed was so for what the task was then."""
_LOCAL = (*_PERMITS, LAST_APPLIED, RESTORED_BY, RESTORED_AS)


def saved(task: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a task: what a person wrote, and neither its identity in this cluster nor its status.

    The annotation of `kubectl apply` repeats the spec, and would make the next apply compare with the wrong thing."""
    meta = mapping(task.get("metadata"))
    kept: dict[str, Any] = {key: meta[key] for key in ("name", "namespace", "labels") if meta.get(key)}
    notes = {key: text for key, text in mapping(meta.get("annotations")).items() if key != LAST_APPLIED}
    if notes:
        kept["annotations"] = notes
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": kept, "spec": dict(mapping(task.get("spec")))}


def wanted_spec(entry: Mapping[str, Any], resume: bool) -> dict[str, Any]:
    """The spec to restore: suspended, so that old thresholds do not act at once, unless asked for as it was.

    The pause of a task is an annotation, which is dropped; it becomes a suspension, or it would end by the restore."""
    note = mapping(mapping(entry.get("metadata")).get("annotations")).get(PAUSED)
    rests = not resume or note not in (None, "false")
    spec = {key: value for key, value in mapping(entry.get("spec")).items() if value is not None}
    return {**spec, "suspend": True} if rests else spec


def creation(entry: Mapping[str, Any], namespace: str, mark: str, resume: bool) -> dict[str, Any]:
    """A manifest that makes the task, for a server-side apply: without owner, status and permits."""
    meta = mapping(entry.get("metadata"))
    notes = {key: str(text) for key, text in mapping(meta.get("annotations")).items() if key not in _LOCAL}
    made: dict[str, Any] = {
        "name": meta["name"],
        "namespace": namespace,
        "annotations": {**notes, RESTORED_BY: mark, RESTORED_AS: "Created", INJECT_OWNER: "false"},
    }
    labels = {key: str(text) for key, text in mapping(meta.get("labels")).items()}
    if labels:
        made["labels"] = labels
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": made, "spec": wanted_spec(entry, resume)}


def replacement(entry: Mapping[str, Any], existing: Mapping[str, Any], mark: str, resume: bool) -> dict[str, Any]:
    """A merge patch that leaves nothing of the old spec; empty if the task is as wanted already.

    It carries the uid: another task that took the name meanwhile is refused. Not the resourceVersion: every pass over
    the task moves that."""
    meta = mapping(existing.get("metadata"))
    notes = mapping(meta.get("annotations"))
    old, new = mapping(existing.get("spec")), wanted_spec(entry, resume)
    permits = {key: None for key in _PERMITS if key in notes}
    if old == new and not permits:
        return {}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
            "annotations": {**permits, RESTORED_BY: mark, RESTORED_AS: "Updated"},
        },
        "spec": difference(old, new),
    }


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON merge patch from old to new."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = difference(before, value)
            if inner:
                patch[key] = inner
        elif key not in old or before != value:
            patch[key] = value
    return patch


def lost(wanted: Any, kept: Any, path: str = "spec") -> list[str]:
    """Fields that were sent and are not there: a schema that does not know them drops them without a word."""
    if isinstance(wanted, Mapping):
        there = mapping(kept)
        return [
            entry
            for key, value in wanted.items()
            if value is not None
            for entry in ([f"{path}.{key}"] if key not in there else lost(value, there[key], f"{path}.{key}"))
        ]
    if isinstance(wanted, list) and isinstance(kept, list) and len(wanted) == len(kept):
        return [entry for pair in zip(wanted, kept, strict=True) for entry in lost(*pair, f"{path}[]")]
    return []
