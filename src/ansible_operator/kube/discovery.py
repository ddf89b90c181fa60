"""Which kinds the API server serves. Answers are kept for a while, and given up when what is served changes.

Whole answers of one group version are kept, never a partial one; one that lacks a kind is asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from ansible_operator.kube.client import Client
from ansible_operator.kube.served import Served
from ansible_operator.model.errors import ApiError, NotFound
from ansible_operator.model.gvk import GVK, Resource

_UNSETTLED_SECONDS = 1.0
"""Longest time that a kind is taken for what it was just before a change; one that is lacking is asked for at once."""

_MOST_DOCUMENTS = 1000
"""Kept at once: some for each group version and kind of client; clients choose how they ask."""


@dataclass(frozen=True)
class Document:
    """An answer as it came; ``headers`` are those that describe it."""

    headers: Mapping[str, str]
    body: bytes


class Discovery:
    """Looks kinds up by name or by plural, and keeps the documents that clients read for the same purpose."""

    def __init__(self, client: Client, served: Served | None = None) -> None:
        self.served = served or Served()
        self._client = client
        self._versions: dict[tuple[str, str], tuple[float, list[Resource]]] = {}
        self._documents: dict[tuple[str, str], tuple[float, Document]] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    async def by_kind(self, gvk: GVK) -> Resource:
        """The resource of a kind. Raises NotFound where the server does not serve it, other ApiErrors as they come."""
        return await self._find(gvk.group, gvk.version, lambda resource: resource.gvk.kind == gvk.kind, str(gvk))

    async def by_plural(self, group: str, version: str, plural: str) -> Resource:
        """The resource behind a URL."""
        return await self._find(
            group, version, lambda resource: resource.plural == plural, f"{plural}.{version}.{group}"
        )

    async def document(self, path: str, accept: str, *, fresh: bool = False) -> Document:
        """The answer to a GET of a discovery path in exactly this representation. Raises ApiError.

        ``fresh``: one that is kept is not good enough.
        """
        key = (path, accept)
        before = self._documents.get(key)
        if before is not None and not fresh and self.served.holds(before[0]):
            return before[1]
        async with self._alone(key):
            now = self._documents.get(key)
            if now is not None and now is not before and self.served.holds(now[0]):
                return now[1]  # somebody else has just asked
            since = self.served.now()
            headers, body = await self._client.fetch(path, accept)
            described = {name: headers[name] for name in ("Content-Type", "ETag", "Vary") if name in headers}
            document = Document(described, body)
            # An aggregated answer marks the groups whose server did not answer in time.
            if b"Stale" not in body:
                if len(self._documents) >= _MOST_DOCUMENTS:
                    self._documents.clear()
                self._documents[key] = (since, document)
            return document

    async def _find(self, group: str, version: str, wanted: Callable[[Resource], bool], name: str) -> Resource:
        for fresh in (False, True):
            for resource in await self._resources(group, version, fresh=fresh):
                if wanted(resource):
                    return resource
        raise NotFound(404, "NotFound", f"the API server does not serve {name}")

    async def _resources(self, group: str, version: str, *, fresh: bool) -> list[Resource]:
        key = (group, version)
        before = self._versions.get(key)
        if before is not None and not fresh and self.served.holds(before[0], _UNSETTLED_SECONDS):
            return before[1]
        async with self._alone(key):
            now = self._versions.get(key)
            if now is not None and now is not before:
                return now[1]  # somebody else has just asked
            since = self.served.now()
            try:
                answer = await self._client.request("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
            except NotFound:
                self._versions.pop(key, None)
                return []
            except ApiError:
                if before is None:
                    raise
                return before[1]  # what is old is most likely right; what is written without it has no owner
            resources = [_resource(item, group, version) for item in answer.get("resources", ()) if _is_main(item)]
            self._versions[key] = (since, resources)
            return resources

    @asynccontextmanager
    async def _alone(self, key: tuple[str, str]) -> AsyncIterator[None]:
        """One question at a time, so that all who wait for the same get one answer."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked():
                self._locks.pop(key, None)


def _is_main(item: Mapping[str, Any]) -> bool:
    return "/" not in item["name"]


def _resource(item: Mapping[str, Any], group: str, version: str) -> Resource:
    return Resource(
        GVK(item.get("group", group), item.get("version", version), item["kind"]),
        item["name"],
        bool(item["namespaced"]),
        frozenset(item.get("verbs") or ()),
    )
