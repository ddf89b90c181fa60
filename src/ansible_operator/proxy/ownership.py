"""Who owns what a run writes. Only what a run *creates* becomes owned (docs/architecture.md).

POST
    gets the owner.
apply PATCH
    gets it if the object does not exist yet or carries it already (a second apply by the same field manager without it
    would take it away); any other object is a stranger's and stays un-owned, or garbage collection would delete it.
PUT
    gets it where it creates, and keeps ours where the body leaves it out.

Bodies may be JSON, YAML or Kubernetes' protobuf, which is all that an API server takes by default. Everything else
passes as it is; where such a body has created something, the log says once that it has no owner.
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
from ansible_operator.model.errors import ApiError, NotFound, TooManyRequests, Unavailable
from ansible_operator.model.gvk import ObjectKey, Resource
from ansible_operator.model.owner import Owner, is_owned, own
from ansible_operator.proxy import protobuf
from ansible_operator.proxy.grants import Child, Grant
from ansible_operator.proxy.requestinfo import RequestInfo
from ansible_operator.telemetry.logs import get_logger

log = get_logger("proxy")

APPLY = "application/apply-patch+yaml"
_JSON = "application/json"
_YAML = ("application/yaml", APPLY)
_WHOLE = (_JSON, "application/yaml", protobuf.PROTOBUF)
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
        self._unowned: set[str] = set()

    @staticmethod
    def may_create(method: str, info: RequestInfo | None, content_type: str) -> bool:
        """Whether a request can create an object, so that its body must be looked at."""
        if info is None or info.subresource:
            return False
        if method == "PATCH":
            return content_type == APPLY
        return method in ("POST", "PUT") and content_type in _WHOLE

    async def created_unseen(self, info: RequestInfo, content_type: str) -> None:
        """A body that was not looked at has created something: say once that it has no owner."""
        if content_type not in self._unowned and not info.subresource and await self.resource(info) is not None:
            self._unowned.add(content_type)
            log.warning("created without an owner: bodies of this type are not understood", type=content_type)

    async def prepare(self, grant: Grant, write: Write) -> bytes:
        """The body to send upstream. Where the object gets or has our owner, the child is reported first.

        Raises ApiError where the API server does not say just now what the body needs: without an owner the object
        would outlive it, and nobody would watch it.
        """
        obj = _parse(write)
        if obj is not None and write.info.of_secrets:
            grant.on_secret({**obj, "kind": "Secret"})
        if not grant.inject or obj is None:
            return write.body
        resource = await self._resource(write.info)
        if resource is None:
            return write.body
        if write.method != "POST" and not await self._is_ours_to_own(grant.owner, write.info, resource, obj):
            return write.body
        namespace = write.info.namespace
        changed = own(obj, grant.owner, namespaced=resource.namespaced, namespace=namespace, of_chart=grant.of_chart)
        if not write.dry_run and is_owned(obj, grant.owner):
            grant.on_child(child_of(grant.owner, resource, namespace))
        return _with_owner(write, obj, grant.owner) if changed else write.body

    async def _is_ours_to_own(
        self, owner: Owner, info: RequestInfo, resource: Resource, obj: Mapping[str, Any]
    ) -> bool:
        name = info.name or (obj.get("metadata") or {}).get("name", "")
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
            return await self._resource(info)
        except ApiError as error:
            log.debug("kind is not known", plural=info.plural, group=info.group, error=str(error))
            return None

    async def _resource(self, info: RequestInfo) -> Resource | None:
        """The same. Raises Unavailable or TooManyRequests where it may be told the next time."""
        try:
            resource = await self._discovery.by_plural(info.group, info.version, info.plural)
        except (Unavailable, TooManyRequests):
            raise
        except ApiError as error:
            log.debug("kind is not known", plural=info.plural, group=info.group, error=str(error))
            return None
        return resource if resource.verbs >= _WATCHABLE else None


def child_of(owner: Owner, resource: Resource, namespace: str) -> Child:
    """The child that an owned object of this kind is."""
    return Child(resource, namespace, not owner.may_be_referenced_by(resource.namespaced, namespace))


def _with_owner(write: Write, obj: Mapping[str, Any], owner: Owner) -> bytes:
    """The body of an object that has just got an owner. JSON is YAML as well."""
    if write.content_type != protobuf.PROTOBUF:
        return json.dumps(obj).encode()
    added = obj["metadata"]
    references = [reference for reference in added["ownerReferences"] if reference == owner.reference()]
    annotations = {} if references else owner.annotations()
    return protobuf.add(write.body, {"ownerReferences": references, "annotations": annotations})


def _parse(write: Write) -> dict[str, Any] | None:
    """The object in a body; None where it is something else, which is then the API server's to judge."""
    if write.content_type == protobuf.PROTOBUF:
        return (protobuf.read_secret if write.info.of_secrets else protobuf.read)(write.body)
    try:
        obj = json.loads(write.body)
    except ValueError:
        obj = _parse_yaml(write.body) if write.content_type in _YAML else None
    return obj if isinstance(obj, dict) else None


def _parse_yaml(body: bytes) -> Any:
    """As the API server reads it, to whom dates are texts."""
    try:
        node = yaml_1_1.compose(body.decode())
        return None if node is None else yaml_1_1.construct(node)
    except (yaml.YAMLError, ValueError):
        return None
