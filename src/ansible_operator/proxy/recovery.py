"""Dependents found again: what a run reads shows which kinds its owner has children of.

After a restart nobody knows what runs had made. A play that changes nothing reads it, and that is enough.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import aiohttp

from ansible_operator.model.gvk import Object, Resource
from ansible_operator.model.owner import is_owned
from ansible_operator.proxy.grants import Grant
from ansible_operator.proxy.ownership import Ownership, child_of
from ansible_operator.proxy.requestinfo import RequestInfo

_MAX_PEEK = 8 * 1024 * 1024
"""Bytes of an answer that is looked into; what is longer is handed on as it comes."""


def may_show_children(answer: aiohttp.ClientResponse) -> bool:
    """Whether the answer to a GET of a resource can be looked into."""
    return (
        answer.status == 200
        and answer.content_type == "application/json"
        and "Content-Encoding" not in answer.headers
        and (answer.content_length or 0) <= _MAX_PEEK
    )


async def peek(answer: aiohttp.ClientResponse) -> tuple[bytes, bool]:
    """The beginning of an answer, and whether that is all of it."""
    read = bytearray()
    async for chunk in answer.content.iter_any():
        read += chunk
        if len(read) > _MAX_PEEK:
            return bytes(read), False
    return bytes(read), True


class Recovery:
    """Reports the children that answers show."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership

    async def from_answer(self, grant: Grant, info: RequestInfo, body: bytes) -> None:
        """Report what a whole answer shows."""
        if grant.owner.uid.encode() not in body and grant.owner.type_annotation.encode() not in body:
            return
        try:
            answer = json.loads(body)
        except ValueError:
            return
        if not isinstance(answer, dict):
            return
        items = [answer] if info.name else answer.get("items")
        if not isinstance(items, list):
            return
        owned = [item for item in items if isinstance(item, dict) and is_owned(item, grant.owner)]
        resource = await self._ownership.resource(info) if owned else None
        if resource is not None:
            self.from_objects(grant, resource, owned)

    def from_objects(self, grant: Grant, resource: Resource, objects: Iterable[Object]) -> None:
        """Report what objects of one kind show."""
        for obj in objects:
            if is_owned(obj, grant.owner):
                grant.on_child(child_of(grant.owner, resource, obj["metadata"].get("namespace", "")))
