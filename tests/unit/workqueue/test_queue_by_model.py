"""The work queue against a model that is too simple to be wrong, through any sequence of calls."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from ansible_operator.workqueue import HEAD_START, Backoff, Priority, ShutDown, WorkQueue
from tests.support.properties import settings
from tests.support.virtual_time import VirtualTimeLoop, run

ITEMS = st.sampled_from("ab")
PRIORITIES = st.sampled_from([Priority.CHANGE, Priority.RESYNC])
"""Few of both, so that they meet often."""

BACKOFF = Backoff(base=1, cap=8)


class Model:
    """Lists and dicts, looked through from the beginning each time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waiting: list[tuple[str, Priority, float]] = []
        self.active: dict[str, Priority | None] = {}
        self.timers: dict[str, tuple[float, Priority]] = {}
        self.failures: dict[str, int] = {}

    def add(self, item: str, priority: Priority) -> None:
        self.timers.pop(item, None)
        if item in self.active:
            again = self.active[item]
            self.active[item] = priority if again is None else min(again, priority)
            return
        old = next((entry for entry in self.waiting if entry[0] == item), None)
        if old is None:
            self.waiting.append((item, priority, self.now))
        elif priority < old[1]:
            self.waiting.remove(old)
            self.waiting.append((item, priority, old[2]))

    def add_after(self, item: str, delay: float, priority: Priority) -> None:
        if delay <= 0:
            self.add(item, priority)
        elif item not in self.timers or self.now + delay < self.timers[item][0]:
            self.timers[item] = (self.now + delay, priority)

    def fail(self, item: str) -> float:
        self.failures[item] = self.failures.get(item, 0) + 1
        delay = min(2.0 ** (self.failures[item] - 1), 8)
        self.add_after(item, delay, Priority.RETRY)
        return delay

    def take(self) -> tuple[str, float]:
        first = min(self.waiting, key=lambda entry: entry[2] + entry[1] * HEAD_START)
        self.waiting.remove(first)
        self.active[first[0]] = None
        return first[0], self.now - first[2]

    def done(self, item: str) -> None:
        again = self.active.pop(item)
        if again is not None:
            self.add(item, again)

    def sleep(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [(time, item) for item, (time, _) in self.timers.items() if time <= end]:
            time, item = min(due)
            self.now = time
            _, priority = self.timers.pop(item)
            self.add(item, priority)
        self.now = end


class QueueMachine(RuleBasedStateMachine):
    """Calls both and compares what they say."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualTimeLoop()
        self.queue: WorkQueue[str] = self.call(self.make())
        self.model = Model()

    async def make(self) -> WorkQueue[str]:
        return WorkQueue(BACKOFF)

    def call(self, main: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(main)

    def teardown(self) -> None:
        self.queue.close()
        with pytest.raises(ShutDown):
            self.call(self.queue.get())
        self.loop.close()

    @rule(item=ITEMS, priority=PRIORITIES)
    def add(self, item: str, priority: Priority) -> None:
        async def add() -> None:
            self.queue.add(item, priority)

        self.call(add())
        self.model.add(item, priority)

    @rule(item=ITEMS, delay=st.integers(-1, 9), priority=PRIORITIES)
    def add_after(self, item: str, delay: int, priority: Priority) -> None:
        async def add() -> None:
            self.queue.add_after(item, delay, priority)

        # Two timers for one moment fire in the order they were set; the model has no such order.
        if self.model.now + delay not in {time for time, _ in self.model.timers.values()}:
            self.call(add())
            self.model.add_after(item, delay, priority)

    @rule(item=ITEMS)
    def fail(self, item: str) -> None:
        async def fail() -> float:
            return self.queue.add_rate_limited(item)

        delay = min(2.0 ** self.model.failures.get(item, 0), 8)
        if self.model.now + delay not in {time for time, _ in self.model.timers.values()}:
            assert self.call(fail()) == self.model.fail(item)

    @rule(item=ITEMS)
    def forget(self, item: str) -> None:
        self.queue.forget(item)
        self.model.failures.pop(item, None)

    @rule(item=ITEMS)
    def discard(self, item: str) -> None:
        self.queue.discard(item)
        self.model.failures.pop(item, None)
        self.model.timers.pop(item, None)

    @precondition(lambda self: self.model.waiting)
    @rule()
    def take(self) -> None:
        assert self.call(self.queue.get()) == self.model.take()

    @precondition(lambda self: self.model.active)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(sorted(self.model.active)))

        async def done() -> None:
            self.queue.done(item)

        self.call(done())
        self.model.done(item)

    @rule(seconds=st.integers(1, 5))
    def sleep(self, seconds: int) -> None:
        self.call(asyncio.sleep(seconds))
        self.model.sleep(seconds)

    @invariant()
    def both_hold_as_many(self) -> None:
        assert (len(self.queue), self.queue.active) == (len(self.model.waiting), len(self.model.active))


def test_the_queue_does_as_the_model_does() -> None:
    run_state_machine_as_test(QueueMachine, settings=settings(max_examples=60, stateful_step_count=40))


@settings(max_examples=300)
@given(st.lists(st.tuples(ITEMS, PRIORITIES) | st.none(), max_size=25))
def test_items_come_in_the_models_order(adds: list[tuple[str, Priority] | None]) -> None:
    """None stands for a worker that takes an item, if there is one, and is done with it."""
    run(in_order(adds))


async def in_order(adds: list[tuple[str, Priority] | None]) -> None:
    queue: WorkQueue[str] = WorkQueue()
    model = Model()
    for add in adds:
        if add is not None:
            queue.add(*add)
            model.add(*add)
        elif model.waiting:
            item, _ = await queue.get()
            assert (item, 0) == model.take()
            queue.done(item)
            model.done(item)
