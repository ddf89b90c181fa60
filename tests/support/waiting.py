"""Waiting for something to become true: poll, with a deadline, and say what was seen last when it does not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

PAUSE = 0.1
PATIENCE = 90.0
"""Seconds that anything may take, ten times what it does: the machine may have much else to do."""
Check = Callable[[], None]
"""Called at every turn; raises where waiting on is pointless, since a process has ended for instance."""


def until(probe: Callable[[], T], what: str, seconds: float = PATIENCE, checks: Iterable[Check] = ()) -> T:
    """The first true value of ``probe``. Fails after that many seconds, with ``what`` and the last value."""
    deadline = time.monotonic() + seconds
    while True:
        value = probe()
        if value:
            return value
        for check in checks:
            check()
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}; last seen: {shown(value)}")
        time.sleep(PAUSE)


def shown(value: object) -> str:
    """A value as a person reads it best."""
    if isinstance(value, dict | list) and value:
        return "\n" + json.dumps(value, indent=2, default=str)
    return repr(value)
