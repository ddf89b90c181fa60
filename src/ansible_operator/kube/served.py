"""How long answers about what the API server serves may be kept: that changes with CRDs and APIServices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

KEPT_SECONDS = 10.0
"""As long as nobody tells us of changes, an answer is kept so long."""

WATCHED_SECONDS = 600.0
"""And where somebody does; it could only be a fault that makes this limit count."""

SETTLE_SECONDS = 10.0
"""After a change the API server goes on answering as before, for a second or so; what it answers then is not kept."""


class Served:
    """Whether an answer that came at a certain time is still good. ``watched``: whether changes are told at once."""

    def __init__(self, clock: Callable[[], float] = lambda: asyncio.get_running_loop().time()) -> None:
        self.watched: Callable[[], bool] = lambda: False
        self._clock = clock
        self._settled = float("-inf")

    def changed(self) -> None:
        """What is served has changed, or is about to."""
        self._settled = self._clock() + SETTLE_SECONDS

    def now(self) -> float:
        """The time, to be asked for before an answer is."""
        return self._clock()

    def holds(self, since: float, unsettled_seconds: float = 0.0) -> bool:
        """Whether an answer that was asked for then can be given again.

        One from the time after a change can for that many seconds.
        """
        age = self._clock() - since
        if since < self._settled:
            return age < unsettled_seconds
        return age < (WATCHED_SECONDS if self.watched() else KEPT_SECONDS)
