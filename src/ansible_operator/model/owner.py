"""How a dependent object names its owner: a reference where Kubernetes allows one, else annotations (contract 4.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_operator.model.gvk import GVK, Object, ObjectKey

PRIMARY_RESOURCE = "operator-sdk/primary-resource"
PRIMARY_RESOURCE_TYPE = "operator-sdk/primary-resource-type"
INJECT_OWNER = "ansible.sdk.operatorframework.io/inject-owner"
HELM_POLICY = "helm.sh/resource-policy"
"""What a chart marks ``keep`` stays when its release goes; with an owner garbage collection would delete it."""


@dataclass(frozen=True)
class Owner:
    """The object that a run works for."""

    gvk: GVK
    key: ObjectKey
    uid: str

    @property
    def namespaced(self) -> bool:
        """Whether the owner lives in a namespace."""
        return bool(self.key.namespace)

    @property
    def type_annotation(self) -> str:
        """``Kind.group``, or ``Kind`` for the core group."""
        return f"{self.gvk.kind}.{self.gvk.group}" if self.gvk.group else self.gvk.kind

    def may_be_referenced_by(self, namespaced: bool, namespace: str) -> bool:
        """Whether an object there may carry a reference: same namespace, or a cluster-scoped owner."""
        return not self.namespaced or (namespaced and namespace == self.key.namespace)

    def reference(self) -> dict[str, str]:
        """The entry of ``ownerReferences``; no controller or blockOwnerDeletion, as the Go operator writes it."""
        return {
            "apiVersion": self.gvk.api_version,
            "kind": self.gvk.kind,
            "name": self.key.name,
            "uid": self.uid,
        }

    def annotations(self) -> dict[str, str]:
        """What takes the reference's place across namespaces."""
        return {PRIMARY_RESOURCE: str(self.key), PRIMARY_RESOURCE_TYPE: self.type_annotation}


def is_owned(obj: Object, owner: Owner) -> bool:
    """Whether the object already carries this owner's reference or annotations."""
    if any(reference.get("uid") == owner.uid for reference in _references(obj)):
        return True
    annotations = _annotations(obj)
    return all(annotations.get(key) == value for key, value in owner.annotations().items())


def opts_out(obj: Object, *, of_chart: bool = False) -> bool:
    """Whether the object asks to stay un-owned, since it must outlive its maker. ``of_chart``: Helm makes it."""
    annotations = _annotations(obj)
    kept = of_chart and annotations.get(HELM_POLICY) == "keep"
    return kept or str(annotations.get(INJECT_OWNER, "")).lower() == "false"


def own(obj: dict[str, Any], owner: Owner, *, namespaced: bool, namespace: str, of_chart: bool = False) -> bool:
    """Write the owner into ``obj``, in place. Returns whether anything was changed.

    ``of_chart``: what Helm keeps gets none; a role that applies such an object itself has it owned like all others.
    Metadata of a wrong type stays as it is, for the API server to refuse.
    """
    if opts_out(obj, of_chart=of_chart) or is_owned(obj, owner):
        return False
    by_reference = owner.may_be_referenced_by(namespaced, namespace)
    meta = {} if obj.get("metadata") is None else obj["metadata"]
    field, kind = ("ownerReferences", list) if by_reference else ("annotations", dict)
    if not isinstance(meta, dict) or not isinstance(meta.get(field) or kind(), kind):
        return False
    if by_reference:
        meta[field] = [*(meta.get(field) or ()), owner.reference()]
    else:
        meta[field] = {**(meta.get(field) or {}), **owner.annotations()}
    obj["metadata"] = meta
    return True


def owners_of(obj: Object, gvk: GVK, *, owner_is_namespaced: bool) -> set[ObjectKey]:
    """Keys of the objects of kind ``gvk`` that ``obj`` names as its owners.

    References match by group and kind in any version, annotations by type (contract 4.3). What cannot be the key of
    such an object is left out: anyone may annotate an object, and keys become paths.
    """
    namespace = _map(obj.get("metadata")).get("namespace", "") if owner_is_namespaced else ""
    found = {
        ObjectKey(namespace, str(reference.get("name")))
        for reference in _references(obj)
        if reference.get("kind") == gvk.kind and GVK.of(reference).group == gvk.group
    }
    annotations = _annotations(obj)
    expected = f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind
    if annotations.get(PRIMARY_RESOURCE_TYPE) == expected:
        owner_namespace, _, name = str(annotations.get(PRIMARY_RESOURCE, "")).rpartition("/")
        found.add(ObjectKey(owner_namespace, name))
    return {key for key in found if _may_exist(key, owner_is_namespaced)}


def _may_exist(key: ObjectKey, namespaced: bool) -> bool:
    """Whether the key fits the scope, and its parts are what apimachinery lets be a segment of a path."""
    segments = (key.namespace, key.name) if namespaced else (key.name,)
    return bool(key.namespace) == namespaced and all(
        segment not in ("", ".", "..") and not set(segment) & {"/", "%"} for segment in segments
    )


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _annotations(obj: Object) -> Mapping[str, Any]:
    return _map(_map(obj.get("metadata")).get("annotations"))


def _references(obj: Object) -> list[Mapping[str, Any]]:
    references = _map(obj.get("metadata")).get("ownerReferences")
    return [item for item in references if isinstance(item, Mapping)] if isinstance(references, list) else []
