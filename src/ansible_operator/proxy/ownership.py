"""Who owns what a run writes. Only what a run *creates* becomes owned (docs/architecture.md).

POST
    gets the owner.
apply PATCH
    gets it if the object does not exist yet or carries it already (a second apply by the same field manager without it
    would take it away); any other object is a stranger's and stays un-owned, or garbage collection would delete it.
PUT
    gets it where it creates, and keeps ours where the body leaves it out.

Everything else, and every body that is not plain JSON or YAML, passes as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ansible_operator.config import yaml_1_1
from ansible_operator.kube.client import Client
from ansible_operator.kube.discovery import Discovery
from ansible_operator.model.errors import ApiError, NotFound
from ansible_operator.model.gvk import ObjectKey, Resource
from ansible_operator.model.owner import Owner, is_owned, own
from ansible_operator.proxy.grants import Child, Grant
from ansible_operator.proxy.requestinfo import RequestInfo
from ansible_operator.telemetry.logs import get_logger

log = get_logger("proxy")

APPLY = "application/apply-patch+yaml"
_JSON = "application/json"
_WATCHABLE = frozenset({"get", "list", "watch"})


@dataclass(frozen=True)
class Write:
    """A request that may create an object."""

    method: str
    info: RequestInfo
    content_type: str
    dry_run: bool
    body: bytes


class Ownership:
    """Writes owners into bodies and finds children in answers."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    @staticmethod
    def may_create(method: str, info: RequestInfo | None, content_type: str) -> bool:
        """Whether a request can create an object, so that its body must be looked at."""
        if info is None or info.subresource:
            return False
        if method == "PATCH":
            return content_type == APPLY
        return method in ("POST", "PUT") and content_type == _JSON

    async def prepare(self, grant: Grant, write: Write) -> bytes:
        """The body to send upstream. Where the object gets or has our owner, the child is reported first."""
        obj = _parse(write)
        resource = await self.resource(write.info)
        if not grant.inject or obj is None or resource is None:
            return write.body
        if write.method != "POST" and not await self._is_ours_to_own(grant.owner, write.info, obj):
            return write.body
        namespace = write.info.namespace
        changed = own(obj, grant.owner, namespaced=resource.namespaced, namespace=namespace)
        if not write.dry_run and is_owned(obj, grant.owner):
            grant.on_child(child_of(grant.owner, resource, namespace))
        return json.dumps(obj).encode() if changed else write.body

    async def _is_ours_to_own(self, owner: Owner, info: RequestInfo, obj: Mapping[str, Any]) -> bool:
        name = info.name or (obj.get("metadata") or {}).get("name", "")
        resource = await self.resource(info)
        if resource is None:
            return False
        try:
            existing = await self._client.get(resource, ObjectKey(info.namespace, name))
        except NotFound:
            return True
        return is_owned(existing, owner)

    async def resource(self, info: RequestInfo) -> Resource | None:
        """The kind behind a request, if it is one that can be owned and watched.

        Virtual kinds (a ProjectRequest, a SubjectAccessReview) are not, nor is anything that discovery cannot tell.
        """
        try:
            resource = await self._discovery.by_plural(info.group, info.version, info.plural)
        except ApiError as error:
            log.debug("kind is not known", plural=info.plural, group=info.group, error=str(error))
            return None
        return resource if resource.verbs >= _WATCHABLE else None


def child_of(owner: Owner, resource: Resource, namespace: str) -> Child:
    """The child that an owned object of this kind is."""
    return Child(resource, namespace, not owner.may_be_referenced_by(resource.namespaced, namespace))


def _parse(write: Write) -> dict[str, Any] | None:
    """The object in a body; None where it is something else, which is then the API server's to judge."""
    try:
        obj = json.loads(write.body)
    except ValueError:
        obj = _parse_yaml(write.body) if write.content_type == APPLY else None
    return obj if isinstance(obj, dict) else None


def _parse_yaml(body: bytes) -> Any:
    """As the API server reads it, to whom dates are texts."""
    try:
        node = yaml_1_1.compose(body.decode())
        return None if node is None else yaml_1_1.construct(node)
    except (yaml.YAMLError, ValueError):
        return None
