"""Events of failures in the cluster: counted, never in the way. The API server is a dict that refuses on demand."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from ansible_operator.kube.client import Client
from ansible_operator.model.errors import ApiError
from ansible_operator.model.gvk import ObjectKey, Resource
from ansible_operator.reconcile import failure_events
from ansible_operator.reconcile.collector import FailedTask
from ansible_operator.reconcile.failure_events import FailureEvents
from tests.support.virtual_time import virtual_time

OBJECT = {"apiVersion": "example.com/v1", "kind": "Web", "metadata": {"name": "web", "namespace": "a", "uid": "uid-1"}}
CONNECT = FailedTask("Connect", "/r/main.yml:3")


class Events:
    """The Events of a cluster."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.requests = 0
        self.trouble: ApiError | None = None
        self.silent = False

    async def request(self, method: str, path: str, *, body: dict[str, Any]) -> dict[str, Any]:
        await self._answer()
        assert (method, path) == ("POST", f"/api/v1/namespaces/{body['metadata']['namespace']}/events")
        name = body["metadata"]["name"]
        if name in self.objects:
            raise ApiError.of(409, "AlreadyExists", "it is there")
        self.objects[name] = deepcopy(body)
        return body

    async def patch(self, resource: Resource, key: ObjectKey, body: dict[str, Any]) -> dict[str, Any]:
        await self._answer()
        assert resource.path(key.namespace, key.name) == f"/api/v1/namespaces/{key.namespace}/events/{key.name}"
        if key.name not in self.objects:
            raise ApiError.of(404, "NotFound", "gone")
        self.objects[key.name] |= body
        return deepcopy(self.objects[key.name])

    async def _answer(self) -> None:
        self.requests += 1
        if self.silent:
            await asyncio.Event().wait()
        if self.trouble is not None:
            raise self.trouble

    @property
    def counts(self) -> list[int]:
        return [event["count"] for event in self.objects.values()]


def writer(events: Events) -> FailureEvents:
    times = iter(datetime(2026, 1, 31, 12, tzinfo=UTC) + timedelta(minutes=n) for n in range(1000))
    return FailureEvents(cast(Client, events), lambda: next(times))


async def test_the_same_failure_is_one_event_that_counts() -> None:
    events = Events()
    failures = writer(events)
    for n in range(3):
        await failures.failed(OBJECT, f"no answer at {n}", CONNECT)
    (event,) = events.objects.values()
    assert event["count"] == 3
    assert event["message"] == "task 'Connect' (/r/main.yml:3) failed: no answer at 2"
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-01-31T12:00:00Z", "2026-01-31T12:02:00Z")
    assert events.requests == 3


async def test_another_task_and_another_object_have_their_own() -> None:
    events = Events()
    failures = writer(events)
    await failures.failed(OBJECT, "no", CONNECT)
    await failures.failed(OBJECT, "no", FailedTask("Other", ""))
    await failures.failed(OBJECT, "it does not load")
    await failures.failed({**OBJECT, "metadata": {**OBJECT["metadata"], "uid": "uid-2"}}, "no", CONNECT)  # type: ignore[dict-item]
    assert events.counts == [1, 1, 1, 1]


async def test_after_a_restart_the_count_goes_on() -> None:
    events = Events()
    for _ in range(3):
        await writer(events).failed(OBJECT, "no", CONNECT)
    assert events.counts == [3]


async def test_an_event_that_has_expired_begins_anew() -> None:
    events = Events()
    failures = writer(events)
    await failures.failed(OBJECT, "no", CONNECT)
    events.objects.clear()
    await failures.failed(OBJECT, "no", CONNECT)
    assert events.counts == [1]


@pytest.mark.parametrize("status", [403, 404, 409, 422, 429, 500, 0])
async def test_no_refusal_reaches_the_pass(status: int) -> None:
    events = Events()
    events.trouble = ApiError.of(status, "", "no")
    failures = writer(events)
    with capture_logs() as lines:
        for _ in range(3):
            await failures.failed(OBJECT, "no", CONNECT)
    warnings = [line["event"] for line in lines if line["log_level"] == "warning"]
    assert warnings == (["events are not written"] if status == 403 else [])
    events.trouble = None
    await failures.failed(OBJECT, "no", CONNECT)
    assert events.counts == [1], "it goes on once it may"


@virtual_time
async def test_nor_does_silence() -> None:
    events = Events()
    events.silent = True
    started = asyncio.get_running_loop().time()
    await writer(events).failed(OBJECT, "no", CONNECT)
    assert asyncio.get_running_loop().time() - started == 5


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure_events, "MAX_KNOWN", 2)
    events = Events()
    failures = writer(events)
    for _ in range(2):
        for name in ("A", "B", "C"):
            await failures.failed(OBJECT, "no", FailedTask(name, ""))
    assert events.counts == [2, 2, 2]
    assert len(failures._counts) == 2
