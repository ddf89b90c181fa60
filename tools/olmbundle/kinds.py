"""Which kinds a bundle may hold.

A kind that OLM does not know makes the InstallPlan fail only after its first steps are done, and neither opm nor
operator-verify looks for it: so it is refused here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from olmbundle.errors import BundleError

_RBAC = "rbac.authorization.k8s.io"

# OLM v0.46.0, pkg/controller/operators/catalog: the steps of ExecutePlan (operator.go), then supportedresources.go.
# The longer list of operator-registry does not count: it lets PodMonitor pass, which OLM then refuses.
SUPPORTED = frozenset(
    {
        ("operators.coreos.com", "ClusterServiceVersion"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        (_RBAC, "ClusterRole"),
        (_RBAC, "ClusterRoleBinding"),
        (_RBAC, "Role"),
        (_RBAC, "RoleBinding"),
        ("", "ConfigMap"),
        ("", "Secret"),
        ("", "Service"),
        ("", "ServiceAccount"),
        ("monitoring.coreos.com", "PrometheusRule"),
        ("monitoring.coreos.com", "ServiceMonitor"),
        ("policy", "PodDisruptionBudget"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("autoscaling.k8s.io", "VerticalPodAutoscaler"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("console.openshift.io", "ConsoleCLIDownload"),
        ("console.openshift.io", "ConsoleLink"),
        ("console.openshift.io", "ConsolePlugin"),
        ("console.openshift.io", "ConsoleQuickStart"),
        ("console.openshift.io", "ConsoleYAMLSample"),
    }
)
"""Group and kind of what OLM installs from a bundle."""

IN_SERVICE_VERSION = frozenset({("apps", "Deployment")})
"""What becomes a part of the ClusterServiceVersion and is no object of the bundle."""

# OLM writes them anew with each upgrade (EnsureConfigMap, EnsureBundleSecret): what was put in since is gone.
_OVERWRITTEN = frozenset({("", "ConfigMap"), ("", "Secret")})

_CURES = {
    ("", "Namespace"): "OLM installs into the namespace of the Subscription; delete it by a patch in "
    "config/manifests/kustomization.yaml (annotation operatorframework.io/suggested-namespace names the usual one)",
}
_APART = (
    "leave it out of config/manifests/kustomization.yaml, and let people apply it: name the kubectl line in the "
    "description of config/manifests/bases"
)

Manifest = Mapping[str, Any]


def group_kind(manifest: Manifest) -> tuple[str, str]:
    """For example ("apps", "Deployment"); the group is empty for the core API."""
    group, slash, _ = str(manifest["apiVersion"]).partition("/")
    return (group if slash else "", str(manifest["kind"]))


def named(manifest: Manifest) -> str:
    """Kind and name, as messages say them."""
    return f"{manifest['kind']} {manifest['metadata']['name']}"


def check(manifests: Iterable[Manifest]) -> None:
    """Raises BundleError, with all objects that OLM cannot install or would spoil, each with its cure."""
    faults = [fault for manifest in manifests if (fault := _fault(manifest))]
    if faults:
        raise BundleError("\n".join(faults))


def _fault(manifest: Manifest) -> str:
    kind = group_kind(manifest)
    if kind in _OVERWRITTEN:
        return f"{named(manifest)}: OLM writes over it with each upgrade, and what was put in since is lost; {_APART}"
    if kind in SUPPORTED or kind in IN_SERVICE_VERSION:
        return ""
    return f"{named(manifest)} ({manifest['apiVersion']}): OLM cannot install this kind; {_CURES.get(kind, _APART)}"
