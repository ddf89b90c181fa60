"""The warm parents of an operator: one for each configuration, a few at most, replaced when no good any more."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

from ansible_operator.runner.configuration import Configuration
from ansible_operator.runner.warm_parent import State, WarmParent
from ansible_operator.telemetry.logs import get_logger

log = get_logger("warm")

_BEAT_SECONDS = 5.0
_LAST_PING_SECONDS = 10.0
_LAST_PING_WHEN_STOPPED = 1.0
_LONGEST_DELAY = 60.0
_ASKED = 64

OnChange = Callable[[WarmParent], None]
Make = Callable[[Configuration, OnChange], WarmParent]


@dataclass(frozen=True)
class Limits:
    """When a parent is replaced: after so many runs, or with so much memory (bytes).

    ``parents``: how many there are at most, successors and those that end after their last run aside; ``start``:
    seconds that runs wait for one that starts; ``boot``: seconds after which one that starts is given up; ``answer``:
    seconds in which one answers; ``failures``: how many in a row may fail to start, before it is left for ``retry``
    seconds.
    """

    runs: int = 2000
    memory: int = 400 << 20
    parents: int = 3
    start: float = 15.0
    boot: float = 120.0
    answer: float = 1.0
    failures: int = 3
    retry: float = 600.0


class Place:
    """Where the parent of one configuration is, and its successor."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.parent: WarmParent | None = None
        self.successor: WarmParent | None = None
        self.used = 0
        self.failures = 0
        self.stale = 0
        self.not_before = 0.0


class Parents:
    """``make`` gives a parent for a configuration, which tells of its changes."""

    def __init__(self, make: Make, limits: Limits) -> None:
        self._make = make
        self.limits = limits
        self._places: dict[Configuration, Place] = {}
        self._leaving: set[WarmParent] = set()
        self._asked: dict[Configuration, int] = {}
        self._clock = itertools.count(1)
        self._stopped = False
        self._reasons: set[str] = set()
        self._watches: dict[WarmParent, asyncio.Task[None]] = {}
        self.bound = False

    def prepare(self, configuration: Configuration) -> None:
        """Have a parent started for it."""
        if (place := self._place(configuration)) is not None:
            self._fill(place)

    def get(self, configuration: Configuration) -> WarmParent | None:
        """The present parent of a configuration, in whatever state it is."""
        place = self._places.get(configuration)
        return place.parent if place is not None else None

    async def ready(self, configuration: Configuration) -> WarmParent | None:
        """A parent that can fork for a configuration now, or soon; None where the run had better go cold."""
        place = None if self._stopped else self._place(configuration)
        if place is None:
            return None
        if place.parent is None or place.parent.state in {State.ENDED, State.RETIRED, State.UNFIT}:
            self._fill(place)
            return None
        parent = place.parent
        if parent.state is State.STARTING and not await parent.wait_ready(self.limits.start - parent.age):
            self._give_up_at_length(place, parent)
            return None
        if not self._is_fresh(place, parent) or not await self._answers(place, parent):
            return None
        self._recycle(place, parent)
        if parent not in self._watches:
            self._watches[parent] = asyncio.create_task(self._watch_over(parent), name="heartbeat of a warm parent")
        return parent if parent.state is State.READY else None

    def _place(self, configuration: Configuration) -> Place | None:
        """Its place, if it has one, or may take that of the configuration that was not used for the longest time.

        Only one that is asked for again while the other is not used is worth a start: with many configurations in
        turn, each would otherwise start a parent to no end.
        """
        now = next(self._clock)
        place = self._places.get(configuration)
        if place is None:
            for other in [other for other in self._places if configuration.succeeds(other)]:
                self._leave(self._places[other])
            if len(self._places) >= self.limits.parents:
                oldest = min(self._places.values(), key=lambda place: place.used)
                if self._asked.get(configuration, 0) <= oldest.used:
                    self._note(configuration, now)
                    return None
                self._leave(oldest)
            place = self._places[configuration] = Place(configuration)
        place.used = now
        return place

    def _note(self, configuration: Configuration, now: int) -> None:
        self._asked.pop(configuration, None)
        self._asked[configuration] = now
        if len(self._asked) > _ASKED:
            del self._asked[next(iter(self._asked))]

    def _leave(self, place: Place) -> None:
        del self._places[place.configuration]
        for parent in (place.parent, place.successor):
            if parent is not None:
                self._retire(parent)

    def _fill(self, place: Place) -> None:
        if not self._stopped and time.monotonic() >= place.not_before:
            place.parent = self._spawn(place)

    def _spawn(self, place: Place) -> WarmParent:
        parent = self._make(place.configuration, lambda parent: self._on_change(place, parent))
        parent.start()
        return parent

    def _give_up_at_length(self, place: Place, parent: WarmParent) -> None:
        if parent.state is State.STARTING and parent.age > self.limits.boot:
            log.warning("a warm parent is not ready after a long time", seconds=round(parent.age))
            self._retire(parent)
            self._fail(place)

    def _is_fresh(self, place: Place, parent: WarmParent) -> bool:
        if (path := parent.sources.changed()) is None:
            return True
        log.info("content in memory has changed, a fresh warm parent starts", path=path)
        self._retire(parent)
        if parent is place.parent:
            self._delay(place, parent)
            self._fill(place)
        return False

    def _delay(self, place: Place, parent: WarmParent) -> None:
        """Where something changes all the time, parents are not started in vain all the time."""
        place.stale = 0 if parent.runs else place.stale + 1
        if place.stale > 1:
            place.not_before = time.monotonic() + min(2.0 ** (place.stale - 2), _LONGEST_DELAY)

    async def _answers(self, place: Place, parent: WarmParent) -> bool:
        if await parent.answers(self.limits.answer):
            return True
        if parent.state is State.READY:
            log.warning("the warm parent does not answer, another starts")
        self.abandon(parent)
        if parent is place.parent:
            self._fill(place)
        return False

    def abandon(self, parent: WarmParent) -> None:
        """No more runs for one that seems to hang; those it has are lost only if it stays silent."""
        self._retire(parent, _LAST_PING_WHEN_STOPPED if self._stopped else _LAST_PING_SECONDS)

    async def _watch_over(self, parent: WarmParent) -> None:
        """Without it, one that hangs is noticed by the next run, and its own runs may leave no room for any."""
        while parent.state in {State.READY, State.RETIRED}:
            await asyncio.sleep(_BEAT_SECONDS)
            if parent.busy and not await parent.answers(self.limits.answer):
                log.warning("a warm parent with runs does not answer", pid=parent.pid)
                self.abandon(parent)
        del self._watches[parent]

    def _recycle(self, place: Place, parent: WarmParent) -> None:
        """A successor starts beside a parent that has served long enough, and takes over when it is ready."""
        worn = parent.runs >= self.limits.runs or parent.memory > self.limits.memory
        if worn and place.successor is None and parent is place.parent:
            place.successor = self._spawn(place)

    def _on_change(self, place: Place, parent: WarmParent) -> None:
        if parent.state is State.READY:
            self._welcome(place, parent)
        elif parent.state is State.UNFIT:
            self._despair(place, parent.reason)
        elif parent.state is State.ENDED:
            self._leaving.discard(parent)
            if parent.failed and not self._stopped:
                self._fail(place)
        if parent is place.successor and parent.state is not State.STARTING:
            place.successor = None

    def _welcome(self, place: Place, parent: WarmParent) -> None:
        place.failures = 0
        if parent is place.successor:
            if place.parent is not None:
                self._retire(place.parent)
            place.parent = parent
        if parent.bound and not place.configuration.directory:
            self.bound = True
            log.info("settings with relative paths: warm runs need a parent for each object")
            self._retire(parent)

    def _fail(self, place: Place) -> None:
        place.failures += 1
        if place.failures >= self.limits.failures:
            self._despair(place, "warm parents end before they are ready")

    def _despair(self, place: Place, reason: str) -> None:
        place.failures = 0
        place.not_before = time.monotonic() + self.limits.retry
        if reason not in self._reasons:
            self._reasons.add(reason)
            log.warning("runs go cold, each in processes of its own", reason=reason)

    def _retire(self, parent: WarmParent, patience: float | None = None) -> None:
        if parent.state is not State.ENDED:
            self._leaving.add(parent)
            parent.retire(patience)

    def close(self) -> None:
        """No more runs, no more parents."""
        self._stopped = True

    async def stop(self) -> None:
        """End them all, and their runs."""
        self.close()
        present = [parent for place in self._places.values() for parent in (place.parent, place.successor)]
        parents = {*present, *self._leaving} - {None}
        await asyncio.gather(*(parent.stop() for parent in parents if parent is not None))
        for watch in self._watches.values():
            watch.cancel()
