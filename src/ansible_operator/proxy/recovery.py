"""What answers show: Secrets, whose data must not be told, and dependents.

After a restart nobody knows what runs had made. A play that changes nothing reads it, and that is enough to find the
kinds that its owner has children of.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Any

import aiohttp

from ansible_operator.model.gvk import GVK, Object, Resource
from ansible_operator.model.owner import is_owned
from ansible_operator.proxy.grants import Grant
from ansible_operator.proxy.ownership import Ownership, child_of
from ansible_operator.proxy.requestinfo import RequestInfo

_GZIP = "gzip"
_SECRET = GVK("", "v1", "Secret")
_MAX_PEEK = 8 * 1024 * 1024
"""Bytes of an answer that is looked into; what is longer is handed on as it comes."""


def may_be_looked_into(answer: aiohttp.ClientResponse) -> bool:
    """Whether there are objects in an answer, in a form that is understood."""
    return (
        answer.status in (200, 201)
        and answer.content_type == "application/json"
        and answer.headers.get("Content-Encoding", _GZIP) == _GZIP
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


def unpacked(answer: aiohttp.ClientResponse, body: bytes) -> bytes:
    """The text of a whole answer (the API server compresses long ones); empty where that is too long as well."""
    if "Content-Encoding" not in answer.headers:
        return body
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        text = unpacking.decompress(body, _MAX_PEEK)
    except zlib.error:
        return b""
    return text if unpacking.eof else b""


class Recovery:
    """Reports the Secrets and the children that answers show."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership

    async def from_answer(self, grant: Grant, info: RequestInfo, body: bytes) -> None:
        """Report what a whole answer shows."""
        if info.of_secrets:
            _report_secrets(grant, body)
        if not grant.inject:
            return
        if grant.owner.uid.encode() not in body and grant.owner.type_annotation.encode() not in body:
            return
        try:
            answer = json.loads(body)
        except ValueError:
            return
        if not isinstance(answer, dict):
            return
        owned = [item for item in _objects(answer, info) if isinstance(item, dict) and is_owned(item, grant.owner)]
        resource = await self._ownership.resource(info) if owned else None
        if resource is not None:
            self.from_objects(grant, resource, owned)

    def from_objects(self, grant: Grant, resource: Resource, objects: Iterable[Object]) -> None:
        """Report what objects of one kind show."""
        for obj in objects:
            if resource.gvk == _SECRET:
                grant.on_secret(obj)
            if grant.inject and is_owned(obj, grant.owner):
                grant.on_child(child_of(grant.owner, resource, obj["metadata"].get("namespace", "")))


def _report_secrets(grant: Grant, body: bytes) -> None:
    try:
        answer = json.loads(body)
    except ValueError:
        return
    if isinstance(answer, dict):
        grant.on_secret(answer)


def _objects(answer: dict[str, Any], info: RequestInfo) -> list[Any]:
    """The objects in an answer: one, a list, or a table (what ``kubectl get`` asks for), whose rows have metadata."""
    if answer.get("kind") == "Table":
        rows = answer.get("rows")
        return [row.get("object") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    items = [answer] if info.name else answer.get("items")
    return items if isinstance(items, list) else []
