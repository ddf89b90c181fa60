"""The same three calls by hand, with kopf: what a reconcile costs without Ansible. Run by ``kopf run`` in bench.py."""

from __future__ import annotations

from typing import Any

import kopf
import kubernetes

kubernetes.config.load_kube_config()
_core = kubernetes.client.CoreV1Api()


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Nothing is kept but the last configuration, without which kopf cannot tell a change."""
    settings.posting.enabled = False
    settings.persistence.finalizer = "bench.example.com/kopf"


@kopf.on.create("test.example.com", "v1", "threes")
@kopf.on.update("test.example.com", "v1", "threes")
def reconcile(name: str, namespace: str | None, patch: kopf.Patch, meta: kopf.Meta, **_: Any) -> None:
    """Read a ConfigMap, apply it, patch it; then say in the status that it was done."""
    found = _core.list_namespaced_config_map(namespace, field_selector=f"metadata.name={name}").items
    body: Any = {"metadata": {"name": name}, "data": {"a": "b"}}
    kopf.adopt(body)
    if found:
        _core.patch_namespaced_config_map(name, namespace, body)
    else:
        _core.create_namespaced_config_map(namespace, body)
    _core.patch_namespaced_config_map(name, namespace, [{"op": "add", "path": "/data/a", "value": "b"}])
    patch.status["observedGeneration"] = meta["generation"]
