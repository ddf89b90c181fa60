"""What the runtime writes into the status of a watched object, and when it keeps its hands off (contract 4.6)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ansible_operator.kube.writes import Writer
from ansible_operator.model import conditions
from ansible_operator.model.events import Outcome
from ansible_operator.model.gvk import Object


class StatusWriter:
    """Writes the runtime's conditions.

    With ``managed`` false the role owns the status: then only what the role cannot report itself is written, as the
    condition Failure, and taken away at the next run that reports again.
    """

    def __init__(self, writer: Writer, now: Callable[[], datetime], *, managed: bool) -> None:
        self._writer = writer
        self._now = now
        self._managed = managed

    async def started(self, obj: Object) -> Object | None:
        """A run begins. The object as it then stands; None where nothing was written."""
        if not self._managed:
            return None
        time, generation = self._time(), _generation(obj)
        return await self._write(obj, lambda current: conditions.started(current, time, generation))

    async def not_started(self, obj: Object, message: str) -> Object | None:
        """No run could begin."""
        time, generation = self._time(), _generation(obj)
        change = conditions.failed if self._managed else conditions.only_failure
        return await self._write(obj, lambda current: change(current, message, time, generation))

    async def ended(self, obj: Object, outcome: Outcome) -> Object | None:
        """A run has ended. None where the object is gone by now."""
        now, generation = self._now(), _generation(obj)
        if self._managed:
            return await self._write(obj, lambda current: conditions.ended(current, outcome, now, generation))
        if not outcome.loaded:
            time = conditions.rfc3339(now)
            return await self._write(
                obj, lambda current: conditions.only_failure(current, outcome.message, time, generation)
            )
        if conditions.has_failure((obj.get("status") or {}).get("conditions") or ()):
            return await self._write(obj, conditions.without_failure)
        return obj

    async def _write(self, obj: Object, change: conditions.Change) -> Object | None:
        return await self._writer.conditions(obj, change)

    def _time(self) -> str:
        return conditions.rfc3339(self._now())


def _generation(obj: Object) -> int:
    return int(obj["metadata"].get("generation") or 0)
