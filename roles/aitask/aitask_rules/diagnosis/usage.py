"""The budget: how much of the model one task has used in the present UTC day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..values import whole
from .verdict import Verdict

_MOST_CALLS = 2**31 - 1
_MOST_TOKENS = 2**53 - 1


@dataclass(frozen=True)
class Usage:
    """`status.usage`. Failures are counted over days; everything else begins anew with each."""

    day: str
    tokens: int = 0
    calls: int = 0
    failures: int = 0

    def allows(self, budget: int, reserve: int) -> bool:
        """Whether a call that may cost `reserve` tokens keeps within the day's budget."""
        return self.tokens + reserve <= budget

    def after(self, verdict: Verdict) -> "Usage":
        """With what the verdict cost."""
        if not verdict.calls:
            return self
        return Usage(
            self.day,
            min(self.tokens + verdict.tokens, _MOST_TOKENS),
            min(self.calls + verdict.calls, _MOST_CALLS),
            min(self.failures + 1, _MOST_CALLS) if verdict.failed else 0,
        )

    def render(self) -> dict[str, Any]:
        return {"day": self.day, "tokens": self.tokens, "calls": self.calls, "consecutiveFailures": self.failures}


def read_usage(raw: Mapping[str, Any], now: datetime) -> Usage:
    """From `status.usage`. A day that lies ahead (the clock was set back) is today: no budget is had twice, and none is
    used up for longer than today."""
    today = now.astimezone(UTC).strftime("%Y-%m-%d")
    day = str(raw.get("day") or "")
    failures = max(whole(raw.get("consecutiveFailures")), 0)
    if day < today:
        return Usage(today, failures=failures)
    return Usage(today, max(whole(raw.get("tokens")), 0), max(whole(raw.get("calls")), 0), failures)
