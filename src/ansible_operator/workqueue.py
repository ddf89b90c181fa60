"""The work queue of one controller, with the promises of controller-runtime's: an item is queued once however often it
is added, never handled by two workers at once, and queued again if it was added while being handled.

Items wait by priority, then in the order they came; but waiting ages, so that a lower priority is never starved by a
higher one that keeps coming: each step of priority is worth HEAD_START seconds and no more. An item that is added again
with a higher priority moves up.
The queue knows neither Kubernetes nor what an item is; the clock is the event loop's.
"""

from __future__ import annotations

import asyncio
import enum
import heapq
import itertools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Priority(enum.IntEnum):
    """Why an item is queued; smaller goes first."""

    DELETION = 0
    CHANGE = 1
    RETRY = 2
    DEPENDENT = 3
    RESYNC = 4
    INITIAL_LIST = 5


HEAD_START = 30.0
"""Seconds; the first list of a restart is behind everything else by two to three minutes at most."""


@dataclass(frozen=True)
class Backoff:
    """Exponential delay per item, in seconds; client-go's defaults (contract 4.3)."""

    base: float = 0.005
    cap: float = 1000.0

    def delay(self, failures: int) -> float:
        """Seconds to wait after that many failures in a row, at least one."""
        return float(min(self.base * 2.0 ** min(failures - 1, 64), self.cap))


class ShutDown(Exception):
    """The queue is closed; ``get`` has nothing more to give."""


@dataclass(frozen=True)
class _Place:
    """Where an item stands: by rank, then by number; ``since`` is when it came."""

    priority: Priority
    number: int
    since: float

    @property
    def rank(self) -> float:
        """The moment it came, with the head start of its priority; smaller goes first."""
        return self.since + self.priority * HEAD_START


class WorkQueue(Generic[T]):
    """See the module. All methods must be called from the event loop's thread."""

    def __init__(self, backoff: Backoff | None = None, clock: Callable[[], float] | None = None) -> None:
        self._backoff = backoff or Backoff()
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._heap: list[tuple[float, int, T]] = []
        self._order = itertools.count()
        self._waiting: dict[T, _Place] = {}
        self._active: set[T] = set()
        self._again: dict[T, Priority] = {}
        self._failures: dict[T, int] = {}
        self._timers: dict[T, tuple[float, asyncio.TimerHandle]] = {}
        self._wakeup = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def active(self) -> int:
        """Number of items that are being handled."""
        return len(self._active)

    def add(self, item: T, priority: Priority = Priority.CHANGE) -> None:
        """Queue an item now. A timer of the item that is further off is dropped."""
        if self._closed:
            return
        self._cancel_timer(item)
        if item in self._active:
            self._again[item] = min(priority, self._again.get(item, priority))
            return
        queued = self._waiting.get(item)
        if queued is not None and queued.priority <= priority:
            return
        since = queued.since if queued is not None else self._clock()
        place = self._waiting[item] = _Place(priority, next(self._order), since)
        heapq.heappush(self._heap, (place.rank, place.number, item))
        self._wakeup.set()

    def add_after(self, item: T, delay: float, priority: Priority = Priority.RESYNC) -> None:
        """Queue an item in ``delay`` seconds; of several timers for one item the earliest counts."""
        if self._closed:
            return
        if delay <= 0:
            self.add(item, priority)
            return
        due = self._clock() + delay
        timer = self._timers.get(item)
        if timer is not None:
            if timer[0] <= due:
                return
            timer[1].cancel()
        handle = asyncio.get_running_loop().call_later(delay, self._fire, item, priority)
        self._timers[item] = (due, handle)

    def add_rate_limited(self, item: T, at_least: float = 0.0) -> float:
        """Queue an item after its back-off, and after ``at_least`` seconds; return the seconds it waits."""
        failures = self._failures[item] = self._failures.get(item, 0) + 1
        delay = max(self._backoff.delay(failures), at_least)
        self.add_after(item, delay, Priority.RETRY)
        return delay

    def forget(self, item: T) -> None:
        """The item succeeded: its back-off starts from the beginning again."""
        self._failures.pop(item, None)

    def discard(self, item: T) -> None:
        """The object behind the item is gone: drop its timer and back-off."""
        self._cancel_timer(item)
        self.forget(item)

    async def get(self) -> tuple[T, float]:
        """The next item and the seconds it waited; ``done`` must follow. Raises ShutDown once the queue is closed."""
        while True:
            if self._closed:
                raise ShutDown
            while self._heap:
                _, number, item = heapq.heappop(self._heap)
                queued = self._waiting.get(item)
                if queued is None or queued.number != number:
                    continue  # it moved up, and was perhaps taken already
                del self._waiting[item]
                self._active.add(item)
                return item, self._clock() - queued.since
            self._wakeup.clear()
            await self._wakeup.wait()

    def done(self, item: T) -> None:
        """The item has been handled; it is queued again if it was added meanwhile."""
        self._active.discard(item)
        priority = self._again.pop(item, None)
        if priority is not None:
            self.add(item, priority)

    def close(self) -> None:
        """Refuse new items, cancel timers and wake every ``get``."""
        self._closed = True
        for _, handle in self._timers.values():
            handle.cancel()
        self._timers.clear()
        self._wakeup.set()

    def _fire(self, item: T, priority: Priority) -> None:
        self._timers.pop(item, None)
        self.add(item, priority)

    def _cancel_timer(self, item: T) -> None:
        timer = self._timers.pop(item, None)
        if timer is not None:
            timer[1].cancel()
