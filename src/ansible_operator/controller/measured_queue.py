"""A work queue that counts and times what goes through it, as client-go's does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from ansible_operator.telemetry.controller_metrics import QueueSeries
from ansible_operator.workqueue import Backoff, Priority, T, WorkQueue


class MeasuredQueue(WorkQueue[T]):
    """See WorkQueue. Besides, it knows when the items that are being handled were taken: one a worker."""

    def __init__(
        self, series: QueueSeries, backoff: Backoff | None = None, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(backoff, clock)
        self._series = series
        self._given_clock = clock
        self._now: Callable[[], float] = time.monotonic
        self._taken: dict[T, float] = {}
        self._coming_back: T | None = None
        series.follow(lambda: len(self), lambda: sum(self._ages()), lambda: max(self._ages(), default=0.0))

    def add(self, item: T, priority: Priority = Priority.CHANGE) -> None:
        """See WorkQueue. An item that is queued already is not counted again."""
        if not (self._closed or item in self._waiting or item in self._again or item == self._coming_back):
            self._series.adds.inc()
        super().add(item, priority)

    def add_after(self, item: T, delay: float, priority: Priority = Priority.RESYNC) -> None:
        """See WorkQueue."""
        self._series.retries.inc()
        super().add_after(item, delay, priority)

    async def get(self) -> tuple[T, float]:
        """See WorkQueue."""
        item, waited = await super().get()
        self._series.waits.observe(waited)
        self._now = self._given_clock or asyncio.get_running_loop().time
        self._taken[item] = self._now()
        return item, waited

    def done(self, item: T) -> None:
        """See WorkQueue."""
        taken = self._taken.pop(item, None)
        if taken is not None:
            self._series.works.observe(self._now() - taken)
        self._coming_back = item  # if it was added meanwhile, which has been counted
        super().done(item)
        self._coming_back = None

    def _ages(self) -> list[float]:
        """For whoever scrapes, which may be another thread."""
        now = self._now()
        return [now - taken for taken in list(self._taken.values())]
