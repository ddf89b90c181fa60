"""How the status of an object tells that a change of it has been reconciled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Done = Callable[[dict[str, Any]], bool]
"""Given each state of one object after a change, in order: whether it is reconciled."""


def ansible_is_done() -> Done:
    """For the Go operator and ours: Running has been seen to run, and then to wait for the next time."""
    running = False

    def done(obj: dict[str, Any]) -> bool:
        nonlocal running
        conditions = (obj.get("status") or {}).get("conditions") or []
        reasons = [condition.get("reason") for condition in conditions if condition["type"] == "Running"]
        running = running or reasons == ["Running"]
        return running and reasons == ["Successful"]

    return done


def generation_is_done() -> Done:
    """For operators that say which generation they have seen."""
    return lambda obj: (obj.get("status") or {}).get("observedGeneration") == obj["metadata"]["generation"]
