"""An event loop whose clock jumps: timers fire in their order, and no test waits for any of them."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: where nothing is ready, the time until the next timer passes at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everything waits, and no timer is left that could end it")
        if not ready:
            self.now += timeout or 0.0
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Starts at 0. Only for code that waits for timers and for itself, not for sockets or threads."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end on such a loop."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Decorator: the test runs on a loop of its own with virtual time."""

    @functools.wraps(test)
    def on_virtual_time(*args: Any, **kwargs: Any) -> None:
        run(test(*args, **kwargs))

    return on_virtual_time


def now() -> float:
    """Seconds since the loop began."""
    return asyncio.get_running_loop().time()
