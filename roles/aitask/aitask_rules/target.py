"""The target Deployment: what of it counts, and whether a rollout is going on."""

from collections.abc import Mapping, Sequence
from typing import Any

from .model import Target
from .values import items, mapping, parse_time, whole

LAST_ACTION = "aiops.example.com/last-action"
LAST_ACTION_TIME = "aiops.example.com/last-action-time"
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
TEMPLATE_HASH = "aiops.example.com/template-hash"
TEMPLATE_OVERRIDDEN = "aiops.example.com/template-overridden"
REQUESTED_REPLICAS = "aiops.example.com/requested-replicas"
REVISION = "deployment.kubernetes.io/revision"
_GITOPS_MARKS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "argocd.argoproj.io/instance": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
}
"""Annotations and labels by which these tools find again what they made. app.kubernetes.io/instance, Argo CD's old
label, says nothing: every Helm release has it."""
_GITOPS_MANAGERS = {
    "argocd-controller": "Argo CD",
    "argocd-application-controller": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
}


def parse_target(raw: Mapping[str, Any], task_uid: str) -> Target:
    meta, spec, status = mapping(raw.get("metadata")), mapping(raw.get("spec")), mapping(raw.get("status"))
    notes = mapping(meta.get("annotations"))
    template = mapping(mapping(mapping(spec.get("template")).get("metadata")).get("annotations"))
    owned = any(mapping(owner).get("uid") == task_uid for owner in items(meta.get("ownerReferences")))
    return Target(
        name=str(meta.get("name", "")),
        namespace=str(meta.get("namespace", "")),
        uid=str(meta.get("uid", "")),
        generation=whole(meta.get("generation")),
        resource_version=str(meta.get("resourceVersion", "")),
        replicas=1 if spec.get("replicas") is None else whole(spec.get("replicas")),
        actual_replicas=whole(status.get("replicas")),
        available=whole(status.get("availableReplicas")),
        revision=str(notes.get(REVISION, "")),
        paused=spec.get("paused") is True,
        deleting=bool(meta.get("deletionTimestamp")),
        owned=owned,
        template_hash=str(notes.get(TEMPLATE_HASH, "")),
        departed=bool(notes.get(TEMPLATE_HASH)) and notes.get(TEMPLATE_OVERRIDDEN) == notes.get(TEMPLATE_HASH),
        unkept=None,
        requested_replicas=str(notes.get(REQUESTED_REPLICAS, "")),
        rollout=_rollout(raw),
        stuck=_stuck(raw),
        containers=tuple(mapping(entry) for entry in items(_pod_spec(spec).get("containers"))),
        gitops="" if owned else _gitops(meta),
        selector=",".join(_selectors(spec)),
        restarted_at=str(template.get(RESTARTED_AT, "")),
        last_action=str(notes.get(LAST_ACTION, "")),
        last_action_time=parse_time(notes.get(LAST_ACTION_TIME)),
    )


def patch_of_target(target: Target, spec: Any, annotations: Mapping[str, str], **guard: str) -> dict[str, Any]:
    """A patch of the Deployment; `guard` are fields of its metadata that must be so still, such as its uid."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": target.name, "namespace": target.namespace, **guard, "annotations": dict(annotations)},
        "spec": spec,
    }


def pod_selectors(deployment: Mapping[str, Any]) -> list[str]:
    """The selector of the Deployment in the form that a list request takes."""
    return _selectors(mapping(deployment.get("spec")))


def _rollout(raw: Mapping[str, Any]) -> str:
    """From the Deployment alone. Fewer available pods than wanted are no rollout by themselves: UnavailableReplicas
    could never act else. A paused Deployment may keep old pods for ever, yet Kubernetes scales it."""
    meta, spec, status = mapping(raw.get("metadata")), mapping(raw.get("spec")), mapping(raw.get("status"))
    generation, seen = whole(meta.get("generation")), whole(status.get("observedGeneration"))
    if seen < generation:
        return f"generation {generation} is not observed yet ({seen})"
    if spec.get("paused") is True:
        return ""
    wanted = 1 if spec.get("replicas") is None else whole(spec.get("replicas"))
    updated, present = whole(status.get("updatedReplicas")), whole(status.get("replicas"))
    if updated < wanted:
        return f"{updated} of {wanted} replicas are updated"
    if present > updated:
        return f"{present - updated} old replicas are left"
    for entry in items(status.get("conditions")):
        condition = mapping(entry)
        if condition.get("type") == "Progressing" and condition.get("reason") != "NewReplicaSetAvailable":
            return f"Progressing says {condition.get('reason')}"
    return ""


def _stuck(raw: Mapping[str, Any]) -> bool:
    meta, status = mapping(raw.get("metadata")), mapping(raw.get("status"))
    if whole(status.get("observedGeneration")) < whole(meta.get("generation")):
        return False  # the condition speaks of an older template
    conditions = [mapping(entry) for entry in items(status.get("conditions"))]
    return any(c.get("type") == "Progressing" and c.get("reason") == "ProgressDeadlineExceeded" for c in conditions)


def _pod_spec(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(spec.get("template")).get("spec"))


def _gitops(meta: Mapping[str, Any]) -> str:
    """A mark, or a field owner: what was applied once without a mark still comes back at the next sync."""
    marks = {*mapping(meta.get("annotations")), *mapping(meta.get("labels"))}
    managers = {mapping(entry).get("manager") for entry in items(meta.get("managedFields"))}
    found = [tool for mark, tool in _GITOPS_MARKS.items() if mark in marks]
    found += [tool for manager, tool in _GITOPS_MANAGERS.items() if manager in managers]
    return found[0] if found else ""


def _selectors(spec: Mapping[str, Any]) -> list[str]:
    selector = mapping(spec.get("selector"))
    chosen = [f"{key}={value}" for key, value in sorted(mapping(selector.get("matchLabels")).items())]
    chosen.extend(_expression(mapping(entry)) for entry in items(selector.get("matchExpressions")))
    return chosen


def _expression(entry: Mapping[str, Any]) -> str:
    key, operator = entry.get("key"), entry.get("operator")
    if operator == "Exists":
        return f"{key}"
    if operator == "DoesNotExist":
        return f"!{key}"
    values: Sequence[Any] = items(entry.get("values"))
    return f"{key} {'in' if operator == 'In' else 'notin'} ({','.join(str(value) for value in values)})"
