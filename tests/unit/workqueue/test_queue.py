"""The promises of the work queue (contract 4.3), in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ansible_operator.workqueue import Backoff, Priority, ShutDown, WorkQueue
from tests.support.virtual_time import now, virtual_time

Queue = WorkQueue[str]


def waiting(queue: Queue) -> list[str]:
    """Take everything that can be had without waiting, in its order; none of it is done."""
    found = []
    while len(queue):
        found.append(take(queue))
    return found


def take(queue: Queue) -> str:
    """An item that is there already."""
    getting = queue.get()
    try:
        getting.send(None)
    except StopIteration as had:
        item: str = had.value[0]
        return item
    raise AssertionError("get waits")


# --- one item, once --------------------------------------------------------------------------------------------------


@virtual_time
async def test_an_item_that_is_added_many_times_is_queued_once() -> None:
    queue = Queue()
    for _ in range(5):
        queue.add("a")
    assert len(queue) == 1
    assert waiting(queue) == ["a"]


@virtual_time
async def test_an_item_that_is_being_handled_is_given_to_nobody_else() -> None:
    queue = Queue()
    queue.add("a")
    assert take(queue) == "a"
    queue.add("a")
    assert (len(queue), queue.active) == (0, 1)


@virtual_time
async def test_what_was_added_while_being_handled_is_queued_once_more_when_done() -> None:
    queue = Queue()
    queue.add("a")
    take(queue)
    for _ in range(3):
        queue.add("a")
    queue.done("a")
    assert waiting(queue) == ["a"]
    queue.done("a")
    assert (len(queue), queue.active) == (0, 0)


@virtual_time
async def test_done_without_an_event_meanwhile_queues_nothing() -> None:
    queue = Queue()
    queue.add("a")
    queue.done(take(queue))
    assert len(queue) == 0


@virtual_time
async def test_a_worker_that_waits_gets_the_item_as_soon_as_it_is_there() -> None:
    queue = Queue()
    getting = asyncio.create_task(queue.get())
    await asyncio.sleep(3)
    queue.add("a")
    assert await getting == ("a", 0)
    assert now() == 3


@virtual_time
async def test_each_of_several_workers_gets_one_item() -> None:
    queue = Queue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(1)
    queue.add("a")
    queue.add("b")
    await asyncio.sleep(1)
    assert sorted(worker.result()[0] for worker in workers if worker.done()) == ["a", "b"]
    queue.add("c")
    assert {(await worker)[0] for worker in workers} == {"a", "b", "c"}


@virtual_time
async def test_the_time_an_item_waited_is_told_and_counts_from_its_first_add() -> None:
    queue = Queue()
    queue.add("a", Priority.RESYNC)
    await asyncio.sleep(4)
    queue.add("a", Priority.CHANGE)
    await asyncio.sleep(1)
    assert await queue.get() == ("a", 5)


@virtual_time
async def test_a_worker_that_is_cancelled_while_it_waits_takes_nothing_away() -> None:
    queue = Queue()
    getting = asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    getting.cancel()
    queue.add("a")
    assert waiting(queue) == ["a"]


# --- order -----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_items_come_by_priority_and_then_in_the_order_they_were_added() -> None:
    queue = Queue()
    for priority in reversed(Priority):
        queue.add(f"{priority.name} 1", priority)
        queue.add(f"{priority.name} 2", priority)
    assert waiting(queue) == [f"{priority.name} {number}" for priority in Priority for number in (1, 2)]


def test_deletions_and_changes_go_before_dependents_before_resyncs_before_the_first_list() -> None:
    order = [Priority.DELETION, Priority.CHANGE, Priority.DEPENDENT, Priority.RESYNC, Priority.INITIAL_LIST]
    assert order == sorted(order)


@virtual_time
async def test_a_higher_priority_moves_an_item_up() -> None:
    queue = Queue()
    queue.add("a", Priority.INITIAL_LIST)
    queue.add("b", Priority.INITIAL_LIST)
    queue.add("b", Priority.CHANGE)
    assert waiting(queue) == ["b", "a"]


@virtual_time
async def test_a_lower_priority_moves_nothing() -> None:
    queue = Queue()
    queue.add("a", Priority.CHANGE)
    queue.add("b", Priority.CHANGE)
    queue.add("a", Priority.RESYNC)
    assert waiting(queue) == ["a", "b"]


@virtual_time
async def test_an_item_that_once_moved_up_has_no_place_left_behind_when_it_comes_again() -> None:
    queue = Queue()
    queue.add("a", Priority.RESYNC)
    queue.add("a", Priority.CHANGE)
    queue.done(take(queue))
    queue.add("b", Priority.RESYNC)
    queue.add("a", Priority.RESYNC)
    assert waiting(queue) == ["b", "a"]


@virtual_time
async def test_what_comes_again_after_being_handled_keeps_the_highest_priority_it_was_given() -> None:
    queue = Queue()
    queue.add("a")
    take(queue)
    queue.add("b", Priority.DEPENDENT)
    for priority in (Priority.RESYNC, Priority.CHANGE, Priority.INITIAL_LIST):
        queue.add("a", priority)
    queue.done("a")
    assert waiting(queue) == ["a", "b"]


# --- later -----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_an_item_comes_after_its_delay() -> None:
    queue = Queue()
    queue.add_after("a", 7)
    assert len(queue) == 0
    assert await queue.get() == ("a", 0)
    assert now() == 7


@pytest.mark.parametrize("delay", [0, -1])
def test_no_delay_means_now(delay: float) -> None:
    @virtual_time
    async def test() -> None:
        queue = Queue()
        queue.add_after("a", delay)
        assert len(queue) == 1

    test()


@pytest.mark.parametrize("delays", [(5, 9), (9, 5), (9, 5, 7)], ids=str)
def test_of_several_timers_the_earliest_counts(delays: tuple[float, ...]) -> None:
    @virtual_time
    async def test() -> None:
        queue = Queue()
        for delay in delays:
            queue.add_after("a", delay)
        queue.done((await queue.get())[0])
        assert now() == 5
        await asyncio.sleep(100)
        assert len(queue) == 0

    test()


@virtual_time
async def test_an_event_now_replaces_the_timer() -> None:
    queue = Queue()
    queue.add_after("a", 5)
    queue.add("a")
    queue.done((await queue.get())[0])
    await asyncio.sleep(100)
    assert len(queue) == 0


@virtual_time
async def test_an_event_during_the_run_replaces_the_timer_that_the_run_asked_for() -> None:
    queue = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.add_after("a", 60)
    queue.done("a")
    queue.done((await queue.get())[0])
    assert now() == 0
    await asyncio.sleep(100)
    assert len(queue) == 0


@virtual_time
async def test_a_timer_that_ends_during_the_run_queues_the_item_once_it_is_done() -> None:
    queue = Queue()
    queue.add("a")
    await queue.get()
    queue.add_after("a", 5)
    await asyncio.sleep(6)
    assert len(queue) == 0
    queue.done("a")
    assert waiting(queue) == ["a"]


@virtual_time
async def test_a_delayed_item_waits_behind_a_change() -> None:
    queue = Queue()
    queue.add_after("later", 5, Priority.RESYNC)
    await asyncio.sleep(5)
    queue.add("change")
    assert waiting(queue) == ["change", "later"]


# --- back-off --------------------------------------------------------------------------------------------------------


@virtual_time
async def test_the_back_off_doubles_from_5_ms_to_1000_s() -> None:
    queue = Queue()
    delays = []
    for _ in range(20):
        delays.append(queue.add_rate_limited("a"))
        queue.done((await queue.get())[0])
    assert delays == [0.005 * 2**n for n in range(18)] + [1000, 1000]
    assert now() == pytest.approx(sum(delays))


@virtual_time
async def test_a_success_begins_the_back_off_anew() -> None:
    queue = Queue()
    for _ in range(5):
        queue.add_rate_limited("a")
    queue.forget("a")
    assert queue.add_rate_limited("a") == 0.005


@virtual_time
async def test_each_item_has_its_own_back_off() -> None:
    queue = Queue()
    for _ in range(5):
        queue.add_rate_limited("a")
    assert queue.add_rate_limited("b") == 0.005


@virtual_time
async def test_an_event_does_not_wait_for_the_back_off_and_does_not_forget_it() -> None:
    queue = Queue(Backoff(base=10))
    queue.add_rate_limited("a")
    queue.add("a")
    queue.done((await queue.get())[0])
    assert now() == 0
    assert queue.add_rate_limited("a") == 20


@pytest.mark.parametrize("failures", [1000, 10**6])
def test_the_back_off_of_an_item_that_never_heals_is_the_cap(failures: int) -> None:
    assert Backoff(base=0.1, cap=60).delay(failures) == 60


@virtual_time
async def test_an_object_that_is_gone_leaves_neither_timer_nor_back_off() -> None:
    queue = Queue()
    queue.add_rate_limited("a")
    queue.discard("a")
    await asyncio.sleep(100)
    assert len(queue) == 0
    assert queue.add_rate_limited("a") == 0.005


@virtual_time
async def test_what_came_since_survives_the_discard() -> None:
    queue = Queue()
    queue.add("a")
    take(queue)
    queue.add("a")
    queue.discard("a")
    queue.done("a")
    assert waiting(queue) == ["a"]


# --- the end ---------------------------------------------------------------------------------------------------------


@virtual_time
async def test_closing_wakes_every_worker() -> None:
    queue = Queue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(1)
    queue.close()
    results = await asyncio.gather(*workers, return_exceptions=True)
    assert [type(result) for result in results] == [ShutDown] * 3


@virtual_time
async def test_a_closed_queue_gives_nothing_more_takes_nothing_more_and_keeps_no_timer() -> None:
    queue = Queue()
    queue.add("waiting")
    queue.add_after("later", 5)
    queue.close()
    for add in (queue.add, queue.add_rate_limited, lambda item: queue.add_after(item, 1)):
        add("new")
    with pytest.raises(ShutDown):
        await queue.get()
    before = len(queue)
    await asyncio.sleep(10)
    assert len(queue) == before


@virtual_time
async def test_what_is_being_handled_may_end_after_the_close() -> None:
    queue = Queue()
    queue.add("a")
    take(queue)
    queue.add("a")
    queue.close()
    queue.done("a")
    assert (len(queue), queue.active) == (0, 0)


@virtual_time
async def test_any_hashable_item_will_do_even_where_items_cannot_be_compared() -> None:
    queue: WorkQueue[Any] = WorkQueue()
    items = [object(), 1, "a", (2, None)]
    for item in items:
        queue.add(item)
    assert [(await queue.get())[0] for _ in items] == items


@virtual_time
async def test_what_waits_is_not_starved_by_what_keeps_coming_with_a_higher_priority() -> None:
    queue = Queue()
    queue.add("patient", Priority.INITIAL_LIST)
    served = []
    while "patient" not in served:
        queue.add("resync", Priority.RESYNC)
        await asyncio.sleep(1)
        served.append(take(queue))
        queue.done(served[-1])
        assert len(served) < 60, "it is starved"
    assert len(served) > 25, "it has no head start"
