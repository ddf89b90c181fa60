"""What the operator needs in a cluster, and taking it out again: `config/demo` is `config/default` without a pod."""

from __future__ import annotations

from demo.errors import DemoError
from demo.kubectl import Kubectl
from demo.operator import NAMESPACE, ROOT, SERVICE_ACCOUNT
from demo.world import NAMESPACE as DEMO_NAMESPACE

_CRDS = (
    *(f"{plural}.aiops.example.com" for plural in ("aitasks", "aitaskbackups", "aitaskrestores")),
    "pods.metrics.k8s.io",
)


def install(kubectl: Kubectl) -> None:
    """CRDs, RBAC and guard, and the CRD that simulates metrics; waits until the kinds are served."""
    kubectl("apply", "--server-side", "-k", str(ROOT / "config/demo"))
    kubectl("wait", "--for=condition=Established", "--timeout=60s", *(f"crd/{name}" for name in _CRDS))
    if kubectl.find("serviceaccount", SERVICE_ACCOUNT, "-n", NAMESPACE) is None:
        raise DemoError(f"config/demo made no ServiceAccount {NAMESPACE}/{SERVICE_ACCOUNT}")


def uninstall(kubectl: Kubectl) -> None:
    """Everything that the demo has made."""
    kubectl("delete", "namespace", DEMO_NAMESPACE, "--ignore-not-found")
    kubectl("delete", "--ignore-not-found", "-k", str(ROOT / "config/demo"))
