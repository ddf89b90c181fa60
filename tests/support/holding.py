"""A plan of the faulty front: stop a run in the middle of its writes."""

from __future__ import annotations

from collections import defaultdict

from tests.support.faulty_front import HELD, Call

_WRITES = ("play POST", "play PATCH", "play PUT")


class Holding:
    """Holds writes of plays: of those in a namespace the n-th, counted from 1 by ``hold``."""

    def __init__(self) -> None:
        self._wanted: dict[str, tuple[int, str]] = {}
        self._writes: dict[str, list[Call]] = defaultdict(list)

    def __call__(self, call: Call) -> str | None:
        if call.where not in _WRITES or "dryRun" in call.query:
            return None
        writes = self._writes[call.namespace]
        writes.append(call)
        number, fault = self._wanted.get(call.namespace, (0, HELD))
        return fault if len(writes) == number else None

    def hold(self, namespace: str, number: int, fault: str) -> None:
        """Hold that write, HELD or ANSWER_HELD; counting begins anew."""
        self._writes[namespace].clear()
        self._wanted[namespace] = number, fault

    def writes(self, namespace: str) -> list[Call]:
        """The writes of plays there so far."""
        return list(self._writes[namespace])
