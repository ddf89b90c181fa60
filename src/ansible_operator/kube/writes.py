"""The writes that the runtime itself makes to a watched object: status conditions and its finalizer.

Each changes only what is ours, and guards the patch with the resource version of what it knows of the object. A
conflict means that somebody else wrote in between: read and retry, never run the play again (contract 4.10).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_operator.kube.client import Client
from ansible_operator.model.errors import ApiError, Conflict, NotFound, TooManyRequests, Unavailable
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
        self, known: Object, change: Callable[[Sequence[Mapping[str, Any]]], list[Mapping[str, Any]]]
    ) -> Object | None:
        """Apply ``change`` to the status conditions and return the object; None where it is gone or another.

        ``known`` is the object as it was last seen. Nothing is written where nothing changes.
        """

        def patch(obj: Object) -> dict[str, Any] | None:
            before = (obj.get("status") or {}).get("conditions") or []
            after = change(before)
            return None if after == before else {"status": {"conditions": after}}

        return await self._guarded(known, patch, subresource="status")

    async def add_finalizer(self, known: Object, name: str) -> Object | None:
        """Put our finalizer on the object; others stay."""
        return await self._guarded(known, lambda obj: _finalizers([*_names(obj), name], done=name in _names(obj)))

    async def remove_finalizer(self, known: Object, name: str) -> Object | None:
        """Take our finalizer, and no other, off the object."""
        return await self._guarded(
            known, lambda obj: _finalizers([n for n in _names(obj) if n != name], done=name not in _names(obj))
        )

    async def _guarded(
        self, known: Object, patch: Callable[[Object], dict[str, Any] | None], *, subresource: str = ""
    ) -> Object | None:
        """Patch the object as it is known; where that is out of date, or needs nothing, as it is by now."""
        attempt = 0
        try:
            if (written := await self._patch(known, patch, subresource)) is not None:
                return written
        except (Conflict, NotFound):
            pass  # not worth a pause: there is something newer to read
        except (TooManyRequests, Unavailable) as error:
            attempt = 1
            await asyncio.sleep(_pause(error, attempt))
        while True:
            attempt += 1
            try:
                return await self._once(known, patch, subresource)
            except (Conflict, TooManyRequests, Unavailable) as error:
                if attempt == _ATTEMPTS:
                    raise
                await asyncio.sleep(_pause(error, attempt))

    async def _once(
        self, known: Object, patch: Callable[[Object], dict[str, Any] | None], subresource: str
    ) -> Object | None:
        try:
            obj = await self._client.get(self._resource, ObjectKey.of(known))
        except NotFound:
            return None
        if obj["metadata"]["uid"] != known["metadata"]["uid"]:
            return None
        try:
            return await self._patch(obj, patch, subresource) or obj
        except NotFound:
            return obj if subresource else None  # a kind may have no status; an object may vanish

    async def _patch(
        self, obj: Object, patch: Callable[[Object], dict[str, Any] | None], subresource: str
    ) -> Object | None:
        """The object as it is then; None where there is nothing to change."""
        body = patch(obj)
        if body is None:
            return None
        guard = {name: obj["metadata"][name] for name in ("resourceVersion", "uid")}
        body["metadata"] = {**body.get("metadata", {}), **guard}
        return await self._client.patch(self._resource, ObjectKey.of(obj), body, subresource=subresource)


def _pause(error: ApiError, attempt: int) -> float:
    return error.retry_after or min(0.05 * 2**attempt, _LONGEST_WAIT)


def _names(obj: Object) -> Sequence[str]:
    return obj["metadata"].get("finalizers") or ()


def _finalizers(names: Sequence[str], *, done: bool) -> dict[str, Any] | None:
    return None if done else {"metadata": {"finalizers": list(names)}}
