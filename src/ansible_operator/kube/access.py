"""Who may do what; the API server is asked.

Whether the bearer of a token may read the operator's metrics (kube-rbac-proxy asked the same), and what the operator
itself may watch.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from ansible_operator.kube.client import Client
from ansible_operator.model.errors import ApiError
from ansible_operator.model.gvk import Resource
from ansible_operator.telemetry.logs import get_logger

log = get_logger("access")

_METRICS_PATH = "/metrics"
ASK_AGAIN_SECONDS = 300.0
"""A refusal is believed so long; rights are granted while the operator runs."""


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


class Permissions:
    """What the operator itself may watch: asked for each kind and namespace, and remembered.

    What is allowed is never asked for again, what is refused only after some minutes.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[str, str, str], asyncio.Task[bool]] = {}

    async def wait_to_watch(self, resource: Resource, namespace: str, refused: Callable[[], None]) -> None:
        """Return as soon as the kind may be listed and watched; ``refused`` is called once where that is not now."""
        while not await self.may_watch(resource, namespace):
            refused()
            refused = _nothing
            await asyncio.sleep(ASK_AGAIN_SECONDS * random.uniform(1.01, 1.1))  # noqa: S311 - not all at once

    async def may_watch(self, resource: Resource, namespace: str) -> bool:
        """Whether the kind may be listed and watched in the namespace (empty: everywhere).

        Where the API server does not say, it is taken for allowed: whoever tries will see.
        """
        key = (resource.gvk.group, resource.plural, namespace)
        if key not in self._known:
            self._known[key] = asyncio.create_task(self._ask(*key))
        return await asyncio.shield(self._known[key])

    async def _ask(self, group: str, plural: str, namespace: str) -> bool:
        what = {"group": group, "resource": plural, "namespace": namespace}
        try:
            verdicts = await asyncio.gather(*(self._may({**what, "verb": verb}) for verb in ("list", "watch")))
        except ApiError as error:
            log.debug("cannot ask what is allowed", error=str(error))
            self._known.pop((group, plural, namespace), None)
            return True
        if not all(verdicts):
            asyncio.get_running_loop().call_later(ASK_AGAIN_SECONDS, self._known.pop, (group, plural, namespace), None)
        return all(verdicts)

    async def _may(self, attributes: dict[str, str]) -> bool:
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "metadata": {},
            "spec": {"resourceAttributes": attributes},
        }
        review = await self._client.request("POST", path, body=body)
        return bool(review["status"].get("allowed"))


def _nothing() -> None:
    return None
