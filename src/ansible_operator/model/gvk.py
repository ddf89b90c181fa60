"""Names of kinds and of objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]
"""A Kubernetes object as it comes off the wire."""


@dataclass(frozen=True, order=True)
class GVK:
    """Group, version and kind. The core group is the empty string."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """``group/version``, or ``version`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def controller_name(self) -> str:
        """The name controller-runtime's metrics use for the controller of this kind (contract 4.3)."""
        return f"{self.kind}-{self.version}-controller".lower()

    def __str__(self) -> str:
        """As apimachinery prints it; dashboards select on this text (contract 4.9)."""
        return f"{self.group}/{self.version}, Kind={self.kind}"

    @staticmethod
    def of(obj: Object) -> GVK:
        """The kind that an object says it has."""
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        return GVK(group, version, str(obj.get("kind", "")))


@dataclass(frozen=True)
class Resource:
    """A kind as the API server serves it."""

    gvk: GVK
    plural: str
    namespaced: bool
    verbs: frozenset[str]

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of its subresource."""
        root = f"/apis/{self.gvk.group}/{self.gvk.version}" if self.gvk.group else f"/api/{self.gvk.version}"
        parts = [root]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{namespace}")
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part]
        return "/".join(parts)


@dataclass(frozen=True, order=True, slots=True)
class ObjectKey:
    """Namespace and name: all that a request for a reconcile holds (controller-runtime ``reconcile.Request``)."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @staticmethod
    def of(obj: Object) -> ObjectKey:
        """The key of an object."""
        meta = obj["metadata"]
        return ObjectKey(meta.get("namespace", ""), meta["name"])
