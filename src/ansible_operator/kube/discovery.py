"""Which kinds the API server serves. Answers are kept; a group version is asked for again when it lacks a kind."""

from __future__ import annotations

import asyncio
from typing import Any

from ansible_operator.kube.client import Client
from ansible_operator.model.errors import NotFound
from ansible_operator.model.gvk import GVK, Resource


class Discovery:
    """Looks kinds up by name or by plural. Only whole answers of one group version are kept, never a partial one."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._versions: dict[tuple[str, str], list[Resource]] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    async def by_kind(self, gvk: GVK) -> Resource:
        """The resource of a kind. Raises NotFound where the server does not serve it, other ApiErrors as they come."""
        return await self._find(gvk.group, gvk.version, lambda resource: resource.gvk.kind == gvk.kind, str(gvk))

    async def by_plural(self, group: str, version: str, plural: str) -> Resource:
        """The resource behind a URL."""
        return await self._find(
            group, version, lambda resource: resource.plural == plural, f"{plural}.{version}.{group}"
        )

    async def _find(self, group: str, version: str, wanted: Any, name: str) -> Resource:
        for fresh in (False, True):
            for resource in await self._resources(group, version, fresh=fresh):
                if wanted(resource):
                    return resource
        raise NotFound(404, "NotFound", f"the API server does not serve {name}")

    async def _resources(self, group: str, version: str, *, fresh: bool) -> list[Resource]:
        key = (group, version)
        before = self._versions.get(key)
        if before is not None and not fresh:
            return before
        async with self._locks.setdefault(key, asyncio.Lock()):
            now = self._versions.get(key)
            if now is not None and now is not before:
                return now  # somebody else has just asked
            try:
                answer = await self._client.request("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
            except NotFound:
                self._versions.pop(key, None)
                return []
            self._versions[key] = [
                Resource(
                    GVK(item.get("group", group), item.get("version", version), item["kind"]),
                    item["name"],
                    bool(item["namespaced"]),
                    frozenset(item.get("verbs") or ()),
                )
                for item in answer.get("resources", ())
                if "/" not in item["name"]
            ]
            return self._versions[key]
