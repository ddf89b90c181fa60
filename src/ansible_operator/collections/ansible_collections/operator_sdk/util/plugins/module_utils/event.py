# Copyright the ansible-operator authors
# Apache License 2.0 (see LICENSE)
"""What an Event looks like, given what was asked for and the Event that is there. Pure; the time comes in."""

from __future__ import annotations

KEEP_OWNERLESS = {"ansible.sdk.operatorframework.io/inject-owner": "false"}
"""An operator would own the Event else, watch Events for its sake, and run again when it expires."""

PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic-merge": "application/strategic-merge-patch+json",
}


def event_name(params, nanoseconds):
    """The name asked for; with a time behind it where each Event is to be one of its own."""
    return f"{params['name']}.{nanoseconds:x}" if params["appendTimestamp"] else params["name"]


def event_body(params, name, involved, prior, now):
    """The whole Event. Count and first time of the one that is there (``prior``) go on, if the reason is the same."""
    again = prior is not None and prior.get("reason") == params["reason"]
    given = {key: params[key] for key in ("reportingComponent", "source") if params[key] is not None}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": params["namespace"], "annotations": dict(KEEP_OWNERLESS)},
        "involvedObject": involved,
        "type": params["type"],
        "reason": params["reason"],
        "message": params["message"],
        "count": (prior.get("count") or 1) + 1 if again else 1,
        "firstTimestamp": (prior.get("firstTimestamp") if again else None) or now,
        "lastTimestamp": now,
        **given,
    }


def involved_object(given, namespace, found, namespaced=True):
    """The object that the Event is about, with what the cluster knows of it (``found``; None where that is nothing)."""
    involved = {key: value for key, value in (given or {}).items() if value is not None}
    if namespaced:
        involved.setdefault("namespace", namespace)
    metadata = (found or {}).get("metadata") or {}
    for field in ("uid", "resourceVersion"):
        if metadata.get(field):
            involved.setdefault(field, metadata[field])
    return involved


def patch_of(body, merge_type):
    """The content type and the patch that make the Event that is there the new one."""
    kind = (merge_type or ["strategic-merge"])[0]
    if kind != "json":
        return PATCHES[kind], body
    fields = {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "metadata")}
    return PATCHES[kind], [{"op": "add", "path": f"/{key}", "value": value} for key, value in fields.items()]
