"""Go durations: the syntax of ``reconcilePeriod``, of annotations, and of ``requeue_after`` (contract 4.2)."""

from __future__ import annotations

import re

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_LONGEST = (2**63 - 1) / 1e9  # Go keeps nanoseconds in an int64


def parse_duration(text: str) -> float:
    """Seconds in a Go duration such as ``1h30m``, ``1.5h``, ``300ms`` or ``0``.

    Raises ValueError, with the cure, for anything that Go's ``time.ParseDuration`` refuses: ``1d``, ``5``, ``" 5s"``.
    """
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    total, position = 0.0, 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            raise _not_a_duration(text)
        total += float(part[1]) * _SECONDS[part[2]]
        position = part.end()
    if position == 0 or total > _LONGEST:
        raise _not_a_duration(text)
    return sign * total


def _not_a_duration(text: str) -> ValueError:
    return ValueError(f"{text!r} is not a duration; write numbers with units ns, us, ms, s, m or h, for example 1h30m")


def format_duration(seconds: float) -> str:
    """A duration as Go prints it, to the millisecond: ``10h0m0s``, ``1.5s``, ``300ms``, ``0s``."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    millis = round(seconds * 1000)
    if millis < 1000:
        return f"{millis}ms" if millis else "0s"
    minutes, millis = divmod(millis, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{millis / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
