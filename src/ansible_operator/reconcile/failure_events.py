"""Kubernetes Events for runs that fail: one for an object and a failing task, whose count rises.

Telling must not harm: whatever happens here, the pass goes on; a missing right is logged once. The operator needs
``create`` and ``patch`` on ``events``.

Bounded: the counts of ``MAX_KNOWN`` failures are remembered, the least recent is forgotten first; one that comes again
then goes on counting where its Event stands. The API server itself removes Events after an hour.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ansible_operator.kube.client import Client
from ansible_operator.model.errors import ApiError, Conflict, Forbidden, NotFound
from ansible_operator.model.failure_event import changes, failure_event, name_of, namespace_of, note
from ansible_operator.model.gvk import GVK, Object, ObjectKey, Resource
from ansible_operator.reconcile.collector import FailedTask
from ansible_operator.telemetry.logs import get_logger

log = get_logger("events")

MAX_KNOWN = 1000
_SECONDS = 5.0
_EVENTS = Resource(GVK("", "v1", "Event"), "events", True, frozenset())


class FailureEvents:
    """Writes the Events of one operator."""

    def __init__(self, client: Client, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._client = client
        self._now = now
        self._counts: OrderedDict[ObjectKey, int] = OrderedDict()
        self._complained = False

    async def failed(self, obj: Object, message: str, task: FailedTask | None = None) -> None:
        """A run for the object has failed with ``message``, in ``task`` where it came that far."""
        name, path = (task.name, task.path) if task is not None else ("", "")
        key = ObjectKey(namespace_of(obj), name_of(obj, f"{name} {path}"))
        try:
            await asyncio.wait_for(self._write(obj, key, note(message, name, path)), _SECONDS)
        except Forbidden as error:
            self._complain(error)
        except (ApiError, TimeoutError) as error:
            log.debug("event not written", namespace=key.namespace, name=key.name, error=str(error))

    def _complain(self, error: Forbidden) -> None:
        if not self._complained:
            self._complained = True
            cure = "grant create and patch on events; failures stand in the status as well"
            log.warning("events are not written", error=str(error), cure=cure)

    async def _write(self, obj: Object, key: ObjectKey, text: str) -> None:
        count = self._counts.get(key)
        if count is not None:
            try:
                await self._patch(key, {**changes(text, self._now()), "count": count + 1})
                return self._remember(key, count + 1)
            except NotFound:
                pass  # its time was over: it begins anew
        body = failure_event(obj, key.name, text, self._now())
        try:
            await self._client.request("POST", _EVENTS.path(key.namespace), body=body)
            return self._remember(key, 1)
        except Conflict:
            return await self._resume(key, text)

    async def _resume(self, key: ObjectKey, text: str) -> None:
        """The Event is there from before a restart; the right to read it is not needed."""
        known = await self._patch(key, changes(text, self._now()))
        count = int(known.get("count") or 1) + 1
        await self._patch(key, {"count": count})
        self._remember(key, count)

    async def _patch(self, key: ObjectKey, body: dict[str, Any]) -> dict[str, Any]:
        return await self._client.patch(_EVENTS, key, body)

    def _remember(self, key: ObjectKey, count: int) -> None:
        self._counts[key] = count
        self._counts.move_to_end(key)
        if len(self._counts) > MAX_KNOWN:
            self._counts.popitem(last=False)
