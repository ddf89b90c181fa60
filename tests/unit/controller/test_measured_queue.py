"""A queue that is measured behaves as any other (tests/unit/workqueue), and its numbers are client-go's."""

from __future__ import annotations

import asyncio
import threading

from ansible_operator.controller.measured_queue import MeasuredQueue
from ansible_operator.model.gvk import GVK
from ansible_operator.telemetry.metrics import Metrics
from ansible_operator.workqueue import Priority
from tests.support.virtual_time import virtual_time

LABELS = {"controller": "web-v1-controller", "name": "web-v1-controller"}


class Measured:
    def __init__(self) -> None:
        self.metrics = Metrics("1")
        self.queue: MeasuredQueue[str] = MeasuredQueue(self.metrics.controller(GVK("g", "v1", "Web")).queue)

    def __getitem__(self, name: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"workqueue_{name}", LABELS)


@virtual_time
async def test_an_item_is_counted_once_until_it_is_taken() -> None:
    measured = Measured()
    for priority in (Priority.RESYNC, Priority.CHANGE, Priority.CHANGE):
        measured.queue.add("a", priority)
    measured.queue.add("b")
    assert (measured["adds_total"], measured["depth"]) == (2, 2)


@virtual_time
async def test_an_item_that_is_added_while_it_is_handled_is_counted_once_more_and_no_further() -> None:
    measured = Measured()
    measured.queue.add("a")
    await measured.queue.get()
    for _ in range(3):
        measured.queue.add("a")
    assert measured["adds_total"] == 2
    measured.queue.done("a")
    assert (measured["adds_total"], measured["depth"]) == (2, 1)


@virtual_time
async def test_waiting_and_working_are_timed() -> None:
    measured = Measured()
    measured.queue.add("a")
    await asyncio.sleep(3)
    await measured.queue.get()
    await asyncio.sleep(2)
    measured.queue.add("b")
    await measured.queue.get()
    await asyncio.sleep(5)
    assert (measured["unfinished_work_seconds"], measured["longest_running_processor_seconds"]) == (12, 7)
    measured.queue.done("a")
    measured.queue.done("b")
    assert (measured["unfinished_work_seconds"], measured["longest_running_processor_seconds"]) == (0, 0)
    assert (measured["queue_duration_seconds_sum"], measured["queue_duration_seconds_count"]) == (3, 2)
    assert (measured["work_duration_seconds_sum"], measured["work_duration_seconds_count"]) == (12, 2)


@virtual_time
async def test_whatever_is_put_off_is_a_retry_and_counts_as_added_when_its_time_comes() -> None:
    measured = Measured()
    measured.queue.add_after("a", 10)
    measured.queue.add_rate_limited("b")
    measured.queue.add_after("c", 0)
    assert (measured["retries_total"], measured["adds_total"]) == (3, 1)
    await asyncio.sleep(11)
    assert measured["adds_total"] == 3


@virtual_time
async def test_a_closed_queue_counts_nothing() -> None:
    measured = Measured()
    measured.queue.close()
    measured.queue.add("a")
    assert (measured["adds_total"], measured["depth"]) == (0, 0)


async def test_the_numbers_can_be_read_from_another_thread() -> None:
    measured = Measured()
    measured.queue.add("a")
    await measured.queue.get()
    seen: list[float | None] = []
    thread = threading.Thread(target=lambda: seen.append(measured["longest_running_processor_seconds"]))
    thread.start()
    thread.join()
    (age,) = seen
    assert age is not None
    assert 0 <= age < 60
