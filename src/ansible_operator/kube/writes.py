"""The writes that the runtime itself makes to a watched object: status conditions and its finalizer.

Each reads the object anew, changes only what is ours, and guards the patch with the resource version it read. A
conflict means that somebody else wrote in between: read again and retry, never run the play again (contract 4.10).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_operator.kube.client import Client
from ansible_operator.model.errors import Conflict, NotFound, TooManyRequests, Unavailable
from ansible_operator.model.gvk import Object, ObjectKey, Resource

_ATTEMPTS = 20
_LONGEST_WAIT = 2.0
"""Seconds between two tries; together about half a minute, in which even a busy writer leaves a gap."""


class Writer:
    """Guarded writes to objects of one kind."""

    def __init__(self, client: Client, resource: Resource) -> None:
        self._client = client
        self._resource = resource

    async def conditions(
        self, key: ObjectKey, uid: str, change: Callable[[Sequence[Mapping[str, Any]]], list[Mapping[str, Any]]]
    ) -> Object | None:
        """Apply ``change`` to the status conditions and return the object; None where it is gone or another.

        Nothing is written where nothing changes.
        """

        def patch(obj: Object) -> dict[str, Any] | None:
            before = (obj.get("status") or {}).get("conditions") or []
            after = change(before)
            return None if after == before else {"status": {"conditions": after}}

        return await self._guarded(key, uid, patch, subresource="status")

    async def add_finalizer(self, key: ObjectKey, uid: str, name: str) -> Object | None:
        """Put our finalizer on the object; others stay."""
        return await self._guarded(key, uid, lambda obj: _finalizers([*_names(obj), name], done=name in _names(obj)))

    async def remove_finalizer(self, key: ObjectKey, uid: str, name: str) -> Object | None:
        """Take our finalizer, and no other, off the object."""
        return await self._guarded(
            key,
            uid,
            lambda obj: _finalizers([n for n in _names(obj) if n != name], done=name not in _names(obj)),
        )

    async def _guarded(
        self,
        key: ObjectKey,
        uid: str,
        patch: Callable[[Object], dict[str, Any] | None],
        *,
        subresource: str = "",
    ) -> Object | None:
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._once(key, uid, patch, subresource)
            except (Conflict, TooManyRequests, Unavailable) as error:
                if attempt == _ATTEMPTS:
                    raise
                await asyncio.sleep(error.retry_after or min(0.05 * 2**attempt, _LONGEST_WAIT))

    async def _once(
        self, key: ObjectKey, uid: str, patch: Callable[[Object], dict[str, Any] | None], subresource: str
    ) -> Object | None:
        try:
            obj = await self._client.get(self._resource, key)
        except NotFound:
            return None
        if obj["metadata"]["uid"] != uid:
            return None
        body = patch(obj)
        if body is None:
            return obj
        guard = {"resourceVersion": obj["metadata"]["resourceVersion"], "uid": uid}
        body["metadata"] = {**body.get("metadata", {}), **guard}
        try:
            return await self._client.patch(self._resource, key, body, subresource=subresource)
        except NotFound:
            return obj if subresource else None  # a kind may have no status; an object may vanish


def _names(obj: Object) -> Sequence[str]:
    return obj["metadata"].get("finalizers") or ()


def _finalizers(names: Sequence[str], *, done: bool) -> dict[str, Any] | None:
    return None if done else {"metadata": {"finalizers": list(names)}}
