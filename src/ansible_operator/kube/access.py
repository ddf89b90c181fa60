"""Whether the bearer of a token may read the operator's metrics: the API server is asked, as kube-rbac-proxy did."""

from __future__ import annotations

from typing import Any

from ansible_operator.kube.client import Client

_METRICS_PATH = "/metrics"


class MetricsAccess:
    """Asks by TokenReview and SubjectAccessReview; the operator needs the right to create both."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, token: str) -> int:
        """200 where the bearer may ``get /metrics``, 401 for a token that is none, 403 otherwise. Raises ApiError."""
        review = await self._create("authentication.k8s.io/v1", "TokenReview", "tokenreviews", {"token": token})
        if not review["status"].get("authenticated"):
            return 401
        user = review["status"]["user"]
        spec = {
            "user": user.get("username", ""),
            "groups": user.get("groups") or [],
            "uid": user.get("uid", ""),
            "extra": user.get("extra") or {},
            "nonResourceAttributes": {"path": _METRICS_PATH, "verb": "get"},
        }
        access = await self._create("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", spec)
        return 200 if access["status"].get("allowed") else 403

    async def _create(self, api_version: str, kind: str, plural: str, spec: dict[str, object]) -> dict[str, Any]:
        body = {"apiVersion": api_version, "kind": kind, "metadata": {}, "spec": spec}
        return await self._client.request("POST", f"/apis/{api_version}/{plural}", body=body)
