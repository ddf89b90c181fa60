"""The Deployment that a task owns: what `spec.template` makes of it, and when it has to be applied again.

It is created and changed by server-side apply under one field manager, so that what goes from the template goes from
the Deployment as well, and without `replicas`: an autoscaler, a person or an act sets these. `spec.replicas` is a patch
of its own, once for each change. What has been applied stands on the Deployment, in the same write: no crash can part
the two.

    template-hash        of spec.template as it was applied last
    template-overridden  the hash from which an act (rollback, patchResources) has departed since: it stays so until the
                         template is edited
    requested-replicas   the value of spec.replicas that was applied last
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from .drift import covers
from .model import Spec, Target, Task
from .target import REQUESTED_REPLICAS, RESTARTED_AT, TEMPLATE_HASH, TEMPLATE_OVERRIDDEN, patch_of_target
from .values import mapping

FIELD_MANAGER = "aitask-template"
TASK_UID = "aiops.example.com/task-uid"
"""Label that selects the pods: no other task has the same, also one that was restored under the same name."""


def manifest(spec: Spec, task: Task) -> dict[str, Any]:
    """The Deployment as the template wants it, to be applied."""
    template = mapping(spec.template)
    meta = mapping(template.get("metadata"))
    pods: dict[str, Any] = {"labels": {**mapping(meta.get("labels")), TASK_UID: task.uid}}
    # A template that was copied from a Deployment may tell of a restart of that one; the next one here would be undone.
    notes = {key: text for key, text in mapping(meta.get("annotations")).items() if key != RESTARTED_AT}
    if notes:
        pods["annotations"] = notes
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": spec.target,
            "namespace": task.namespace,
            "labels": {"app.kubernetes.io/managed-by": "aitask-operator"},
            "annotations": {TEMPLATE_HASH: _digest(template), TEMPLATE_OVERRIDDEN: ""},
            "ownerReferences": [owner_reference("AITask", task.name, task.uid)],
        },
        "spec": {
            "selector": {"matchLabels": {TASK_UID: task.uid}},
            "template": {"metadata": pods, "spec": mapping(template.get("spec"))},
        },
    }


def owner_reference(kind: str, name: str, uid: str) -> dict[str, Any]:
    """With it an object goes when its owner, of one of our kinds, does; it never holds that up."""
    return {
        "apiVersion": "aiops.example.com/v1",
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def application(spec: Spec, task: Task, found: Mapping[str, Any]) -> dict[str, Any]:
    """What to apply to the Deployment as it was found; `found` is empty where there is none.

    The uid makes it a change of exactly what was looked at. Where there was nothing, nothing is forced either: of two
    that make it at the same moment the second gets a conflict, and never takes over what is not its own."""
    wanted = manifest(spec, task)
    if found:
        wanted["metadata"]["uid"] = mapping(found.get("metadata")).get("uid")
    return {"definition": wanted, "manager": FIELD_MANAGER, "force": bool(found)}


def must_apply(spec: Spec, task: Task, found: Mapping[str, Any]) -> bool:
    """Whether the Deployment is missing, was made from another template, or was changed by somebody since."""
    wanted, notes = manifest(spec, task), _notes(found)
    digest = wanted["metadata"]["annotations"][TEMPLATE_HASH]
    if not found or notes.get(TEMPLATE_HASH) != digest:
        return True
    if notes.get(TEMPLATE_OVERRIDDEN) == digest:
        return False
    return not covers(found, {"metadata": wanted["metadata"], "spec": wanted["spec"]})


def resizing(spec: Spec, target: Target) -> dict[str, Any]:
    """The patch that sets `spec.replicas` and says so. A newer version of the same Deployment is none to stop at:
    whoever changed the number in the task wants it now."""
    notes = {REQUESTED_REPLICAS: str(spec.replicas)}
    return patch_of_target(target, {"replicas": spec.replicas}, notes, uid=target.uid)


def departure(target: Target, action: str) -> dict[str, str]:
    """The annotation of an act that changes what the template says; empty for any other act."""
    if not target.owned or not target.template_hash or action not in ("rollback", "patchResources"):
        return {}
    return {TEMPLATE_OVERRIDDEN: target.template_hash}


def _digest(template: Mapping[str, Any]) -> str:
    """Of what the author wrote alone: what this operator adds may change from version to version, and must not undo
    what an act has changed."""
    return sha256(json.dumps(template, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _notes(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(found.get("metadata")).get("annotations"))
