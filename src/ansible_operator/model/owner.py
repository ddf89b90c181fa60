"""How a dependent object names its owner: a reference where Kubernetes allows one, else annotations (contract 4.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ansible_operator.model.gvk import GVK, Object, ObjectKey

PRIMARY_RESOURCE = "operator-sdk/primary-resource"
PRIMARY_RESOURCE_TYPE = "operator-sdk/primary-resource-type"
INJECT_OWNER = "ansible.sdk.operatorframework.io/inject-owner"


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
    meta = obj.get("metadata") or {}
    if any(reference.get("uid") == owner.uid for reference in meta.get("ownerReferences") or ()):
        return True
    annotations = meta.get("annotations") or {}
    return all(annotations.get(key) == value for key, value in owner.annotations().items())


def opts_out(obj: Object) -> bool:
    """Whether the object asks to stay un-owned, since it must outlive its maker."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(INJECT_OWNER, "")).lower() == "false"


def own(obj: dict[str, Any], owner: Owner, *, namespaced: bool, namespace: str) -> bool:
    """Write the owner into ``obj``, in place. Returns whether anything was changed."""
    if opts_out(obj) or is_owned(obj, owner):
        return False
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        meta = obj["metadata"] = {}
    if owner.may_be_referenced_by(namespaced, namespace):
        meta["ownerReferences"] = [*(meta.get("ownerReferences") or ()), owner.reference()]
    else:
        meta["annotations"] = {**(meta.get("annotations") or {}), **owner.annotations()}
    return True


def owners_of(obj: Object, gvk: GVK, *, owner_is_namespaced: bool) -> set[ObjectKey]:
    """Keys of the objects of kind ``gvk`` that ``obj`` names as its owners.

    References match by group and kind in any version, annotations by type (contract 4.3).
    """
    meta = obj.get("metadata") or {}
    namespace = meta.get("namespace", "") if owner_is_namespaced else ""
    found = {
        ObjectKey(namespace, reference["name"])
        for reference in meta.get("ownerReferences") or ()
        if reference.get("kind") == gvk.kind and GVK.of(reference).group == gvk.group
    }
    annotations = meta.get("annotations") or {}
    expected = f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind
    if annotations.get(PRIMARY_RESOURCE_TYPE) == expected and annotations.get(PRIMARY_RESOURCE):
        owner_namespace, _, name = annotations[PRIMARY_RESOURCE].rpartition("/")
        found.add(ObjectKey(owner_namespace, name))
    return found
