"""The controller: what becomes of a key whose reconcile fails, and of the others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from ansible_operator.controller.controller import Controller, Queue
from ansible_operator.kube.informer import Change
from ansible_operator.model.errors import TooManyRequests, Unavailable
from ansible_operator.model.gvk import GVK, ObjectKey
from ansible_operator.model.watch import Content, Watch
from ansible_operator.reconcile.reconciler import Reconciler, Result
from ansible_operator.telemetry.metrics import Metrics
from tests.support.virtual_time import now, virtual_time

WATCH = Watch(GVK("test.example.com", "v1", "Thing"), Content(role=Path("/roles/thing")))
GOOD, BAD = ObjectKey("a", "good"), ObjectKey("a", "bad")


class Scripted:
    """A reconciler that does as it is told: raise or return, by name; ``seen`` is when it was asked for which."""

    def __init__(self, **script: Exception | Result) -> None:
        self.seen: list[tuple[float, str]] = []
        self._script = script

    async def reconcile(self, key: ObjectKey) -> Result:
        self.seen.append((now(), key.name))
        answer = self._script[key.name]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def work(reconciler: Scripted, *keys: ObjectKey, seconds: float) -> Metrics:
    """Run a controller with these keys in its queue for some virtual seconds."""
    queue, metrics = Queue(), Metrics("test")
    metrics.prepare(WATCH)
    controller = Controller(WATCH, cast(Reconciler, reconciler), queue, metrics, workers=1)
    for key in keys:
        queue.add(key)
    working = asyncio.create_task(controller.run())
    await asyncio.sleep(seconds)
    queue.close()
    await working
    return metrics


def total(metrics: Metrics, result: str) -> float:
    labels = {"controller": WATCH.gvk.controller_name, "result": result}
    return metrics.registry.get_sample_value("controller_runtime_reconcile_total", labels) or 0.0


@virtual_time
async def test_a_fault_of_ours_in_one_reconcile_backs_off_that_object_alone() -> None:
    reconciler = Scripted(bad=KeyError("ours"), good=Result())
    metrics = await work(reconciler, BAD, GOOD, seconds=0.1)
    assert [moment for moment, name in reconciler.seen if name == "good"] == [0.0]
    assert [round(moment, 3) for moment, name in reconciler.seen if name == "bad"] == [0.0, 0.005, 0.015, 0.035, 0.075]
    assert (total(metrics, "error"), total(metrics, "success")) == (5.0, 1.0)


@virtual_time
async def test_an_api_server_that_fails_is_asked_again_ever_more_slowly() -> None:
    reconciler = Scripted(bad=Unavailable(503, "", "busy"))
    await work(reconciler, BAD, seconds=11.0)
    gaps = [later - earlier for (earlier, _), (later, _) in zip(reconciler.seen, reconciler.seen[1:], strict=False)]
    assert [round(gap, 3) for gap in gaps[:4]] == [0.005, 0.01, 0.02, 0.04]
    assert len(reconciler.seen) == 12


@virtual_time
async def test_an_api_server_that_asks_for_time_is_given_it() -> None:
    reconciler = Scripted(bad=TooManyRequests(429, "", "busy", 2.0))
    await work(reconciler, BAD, seconds=5.0)
    assert reconciler.seen == [(0.0, "bad"), (2.0, "bad"), (4.0, "bad")]


@virtual_time
async def test_an_object_comes_again_when_its_run_asked_for_it() -> None:
    reconciler = Scripted(good=Result(requeue_after=7.0))
    metrics = await work(reconciler, GOOD, seconds=15.0)
    assert reconciler.seen == [(0.0, "good"), (7.0, "good"), (14.0, "good")]
    assert total(metrics, "requeue_after") == 3.0


@virtual_time
async def test_an_object_that_is_gone_is_not_asked_for_again() -> None:
    reconciler = Scripted(good=Result(gone=True))
    await work(reconciler, GOOD, seconds=100.0)
    assert reconciler.seen == [(0.0, "good")]


@virtual_time
async def test_a_change_is_queued_by_what_it_is() -> None:
    def obj(generation: int, **meta: Any) -> dict[str, Any]:
        return {"metadata": {"namespace": "a", "name": "good", "generation": generation, **meta}}

    queue = Queue()
    controller = Controller(WATCH, cast(Reconciler, Scripted()), queue, Metrics("test"), workers=1)
    controller.on_change(Change("updated", obj(1), obj(1, resourceVersion="2")))
    assert len(queue) == 0
    controller.on_change(Change("added", None, obj(1)))
    controller.on_change(Change("updated", obj(1), obj(2)))
    controller.on_change(Change("deleted", obj(2), None))
    assert len(queue) == 1
