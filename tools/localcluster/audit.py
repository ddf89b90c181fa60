"""The audit policy: enough to test who asked for what and what was answered, never the content of a secret.

Rules are tried in order, the first match counts. Each request is logged once, when its answer is complete.
"""

from __future__ import annotations

from typing import Any

_WRITES = ["create", "update", "patch", "delete", "deletecollection"]


def audit_policy() -> dict[str, Any]:
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "omitManagedFields": True,
        "rules": [
            # Probes, several per second while the cluster starts.
            {"level": "None", "nonResourceURLs": ["/healthz*", "/readyz*", "/livez*"]},
            # The API server watching itself: dozens of lines at start that no test is about.
            {"level": "None", "users": ["system:apiserver"], "verbs": ["get", "list", "watch"]},
            # Bodies of these are credentials, or may be.
            {
                "level": "Metadata",
                "resources": [
                    {"group": "", "resources": ["secrets", "configmaps", "serviceaccounts/token"]},
                    {"group": "authentication.k8s.io"},
                ],
            },
            # What a test of the operator asks for: which change it sent.
            {"level": "Request", "verbs": _WRITES, "resources": [{"group": "apps"}, {"group": "aiops.example.com"}]},
            {"level": "Metadata"},
        ],
    }
