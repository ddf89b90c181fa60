"""Names of kinds: those of Kubernetes that tests use, and the custom ones that they share, all made once a session.

A test has its own namespace, and watches only that; GADGET, WIDGET and PLANET are left to the tests that watch all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

GROUP = "test.example.com"


@dataclass(frozen=True)
class Kind:
    """A kind, and how its URL is made."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of a collection, an object or a subresource."""
        root = "/apis/" if "/" in self.api_version else "/api/"
        parts = [root + self.api_version, f"namespaces/{namespace}" if self.namespaced and namespace else ""]
        return "/".join(part for part in (*parts, self.plural, name, subresource) if part)

    def object(self, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
        """An object of this kind; ``metadata`` among the fields adds to the name."""
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, **fields}

    @property
    def gvk(self) -> str:
        """As logs and metrics of the operator print it."""
        return f"{self.api_version}, Kind={self.kind}"

    @property
    def watch(self) -> dict[str, Any]:
        """The beginning of an entry in watches.yaml."""
        group, _, version = self.api_version.rpartition("/")
        return {"group": group, "version": version, "kind": self.kind}


CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
SECRET = Kind("v1", "Secret", "secrets")
NAMESPACE = Kind("v1", "Namespace", "namespaces", namespaced=False)
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
CRD = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)

THING = Kind(f"{GROUP}/v1", "Thing", "things")
OTHER = Kind(f"{GROUP}/v1", "Other", "others")
GADGET = Kind(f"{GROUP}/v1", "Gadget", "gadgets")
WIDGET = Kind(f"{GROUP}/v1", "Widget", "widgets")
PLANET = Kind(f"{GROUP}/v1", "Planet", "planets", namespaced=False)
SHARED = (THING, OTHER, GADGET, WIDGET, PLANET)


def definition(kind: Kind) -> dict[str, Any]:
    """A CRD whose objects may hold anything in spec and status."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    spec = {
        "group": GROUP,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "names": {"kind": kind.kind, "plural": kind.plural},
        "versions": [version],
    }
    return CRD.object(f"{kind.plural}.{GROUP}", spec=spec)
