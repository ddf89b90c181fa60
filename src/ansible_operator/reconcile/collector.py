"""What is gathered of one run while it goes: the progress, the failing task, the phases; nothing secret in any of it.

Bounded: of the output that ANSIBLE_DEBUG_LOGS asks for ``MAX_OUTPUT`` characters are kept. All is gone with the run.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ansible_operator.model.events import Event, Outcome, Progress, RunEnd, outcome_of
from ansible_operator.model.redaction import Redactor
from ansible_operator.reconcile.event_log import EventLog
from ansible_operator.reconcile.output import SafeOutput, plain, result_of

MAX_OUTPUT = 1024 * 1024
_MAX_MESSAGE = 64 * 1024
_TAIL_KEPT = 16 * 1024
"""Bytes of output that a RunEnd has at most."""

_FAILURES = frozenset({"runner_on_failed", "runner_item_on_failed", "runner_on_unreachable"})
_REASONS = ("msg", "reason", "exception")


class Phases:
    """How long the parts of a run took, in seconds. ``begun`` is for the runner to call."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked = clock()
        self._begun: float | None = None
        self._first_event: float | None = None

    def begun(self) -> None:
        """The run's turn has come."""
        self._begun = self._clock()

    def event(self) -> None:
        """Ansible shows a sign of life."""
        if self._first_event is None:
            self._first_event = self._clock()

    def ended(self) -> dict[str, float]:
        """The seconds of ``queue``, ``start`` and ``play``, now that the run is over."""
        now = self._clock()
        begun = now if self._begun is None else self._begun
        playing = now if self._first_event is None else self._first_event
        return {"queue": begun - self._asked, "start": playing - begun, "play": now - playing}


_COUNTS = {
    "ok": "ok",
    "changed": "changed",
    "unreachable": "dark",
    "failed": "failures",
    "skipped": "skipped",
    "rescued": "rescued",
    "ignored": "ignored",
}
"""The words of Ansible's recap, and where ansible-runner has them."""


@dataclass(frozen=True)
class FailedTask:
    """The task by which a run fails: its name, and where it stands."""

    name: str
    path: str


class Collector:
    """Takes in the events of a run, in their order."""

    def __init__(self, log: EventLog, redactor: Redactor, phases: Phases, *, keep_output: bool = False) -> None:
        self.failed_task: FailedTask | None = None
        self.recap: dict[str, dict[str, int]] = {}
        self._progress = Progress()
        self._log = log
        self._redactor = redactor
        self._phases = phases
        self._output = _Output(redactor) if keep_output else None

    def __call__(self, event: Event) -> None:
        """One event."""
        self._phases.event()
        self._redactor.learn(result_of(event))
        if event.get("event") in _FAILURES:
            event = self._without_secrets(event)
            self._remember(event)
        elif event.get("event") == "playbook_on_stats":
            self.recap = _recap(event.get("event_data") or {})
        self._progress = self._progress.after(event)
        if self._output is not None:
            self._output.add(event)
        self._log(event)

    def outcome(self, end: RunEnd, run_timeout: float) -> Outcome:
        """The verdict, once the run has ended."""
        verdict = outcome_of(self._progress, end, run_timeout=run_timeout)
        return verdict if verdict.succeeded else self._failure(end, run_timeout)

    def _failure(self, end: RunEnd, run_timeout: float) -> Outcome:
        """The same without anything secret in its message: that of a failure may come from the output."""
        tail = plain(end.output_tail)
        if len(end.output_tail.encode(errors="replace")) > _TAIL_KEPT - 4:
            tail = tail.partition("\n")[2]  # the first line is cut, and half a secret cannot be told
        safe = replace(end, output_tail=self._redactor.text(tail))
        outcome = outcome_of(self._progress, safe, run_timeout=run_timeout)
        return replace(outcome, message=self._redactor.text(outcome.message))

    @property
    def output(self) -> str:
        """The end of what Ansible has printed; empty where it is not kept."""
        return self._output.text if self._output is not None else ""

    def _without_secrets(self, event: Event) -> Event:
        """The event of a failure with nothing secret in its reasons. They are cut only afterwards, see ``shorten``."""
        data, result = event.get("event_data") or {}, result_of(event)
        reasons = {
            key: self._redactor.shortened(plain(str(result[key])), _MAX_MESSAGE) for key in _REASONS if result.get(key)
        }
        named = {"task": self._redactor.text(str(data["task"]))} if data.get("task") else {}
        return {**event, "event_data": {**data, **named, "res": {**result, **reasons}}}

    def _remember(self, event: Event) -> None:
        data: dict[str, Any] = event.get("event_data") or {}
        if event.get("event") != "runner_item_on_failed" and not data.get("ignore_errors"):
            self.failed_task = FailedTask(str(data.get("task") or ""), str(data.get("task_path") or ""))


def _recap(data: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """The counts by host. An operator's plays have few hosts, so all are told."""
    hosts = sorted({host for source in _COUNTS.values() for host in data.get(source) or {}})
    return {
        host: {word: int((data.get(source) or {}).get(host, 0)) for word, source in _COUNTS.items()} for host in hosts
    }


class _Output:
    """The last ``MAX_OUTPUT`` characters of the output of a run."""

    def __init__(self, redactor: Redactor) -> None:
        self._safe = SafeOutput(redactor)
        self._texts: deque[str] = deque()
        self._length = 0

    def add(self, event: Event) -> None:
        for shown in self._safe.after(event):
            if shown.text:
                self._texts.append(shown.text)
                self._length += len(shown.text)
        while self._length > MAX_OUTPUT:
            self._length -= len(self._texts.popleft())

    @property
    def text(self) -> str:
        return "\n".join(self._texts)
