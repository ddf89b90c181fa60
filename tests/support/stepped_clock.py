"""A clock on the wall that can be set while a process runs. Imported before anything else, in that process.

The seconds to add stand in the file that ``STEPPED_CLOCK`` names; without the file there is nothing to add. The
monotonic clock goes on as it does when somebody sets the time of a machine.
"""

from __future__ import annotations

import datetime as module
import os
import time
from pathlib import Path

_FILE = Path(os.environ["STEPPED_CLOCK"])
_real_time = time.time


def _offset() -> float:
    try:
        return float(_FILE.read_text())
    except (FileNotFoundError, ValueError):
        return 0.0


class _SteppedDatetime(module.datetime):
    @classmethod
    def now(cls, tz: module.tzinfo | None = None) -> _SteppedDatetime:
        return cls.fromtimestamp(time.time(), tz)


time.time = lambda: _real_time() + _offset()
module.datetime = _SteppedDatetime  # type: ignore[misc]
