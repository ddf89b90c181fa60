"""What Ansible prints, event by event, as far as it may be shown.

Ansible alone does not keep the promise of ``no_log``: 2.19 prints the message of a failure, and from ``-vvv`` on a
connection plugin prints the command. So what is printed between the start of a task and its result waits for the
result, which says whether it has to be hidden; where no result comes it is never shown.

Bounded: a text is shown up to ``MAX_TEXT`` characters, and as many may wait.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_operator.model.events import Event
from ansible_operator.model.redaction import Redactor

MAX_TEXT = 32 * 1024
NO_LOG = "hidden by no_log"

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def plain(text: str) -> str:
    """Text of a terminal without colours, with simple line breaks."""
    return _COLOURS.sub("", text).replace("\r\n", "\n").strip("\r\n")


def result_of(event: Event) -> Mapping[str, Any]:
    """The result in an event of a task; empty where there is none."""
    result = (event.get("event_data") or {}).get("res")
    return result if isinstance(result, Mapping) else {}


def is_hidden(event: Event) -> bool:
    """Whether the task of this event has ``no_log``, as far as the event knows."""
    result = result_of(event)
    return bool(result.get("_ansible_no_log") or result.get("censored"))


def _size(event: Event) -> int:
    return len(event.get("stdout") or "") + 64


@dataclass(frozen=True)
class Shown:
    """An event, and what may be shown of what was printed in it."""

    event: Event
    text: str


class SafeOutput:
    """The output of one run."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._waiting: deque[Event] = deque()
        self._length = 0
        self._hidden_task = ""

    def after(self, event: Event) -> list[Shown]:
        """What may be shown now, in order: what waited for this event, if it has come through, and the event itself."""
        task = str((event.get("event_data") or {}).get("task_uuid") or "")
        name = event.get("event")
        if name == "verbose" and task:
            self._wait(event, task)
            return []
        if name == "runner_on_start":
            return [self._shown(event)]
        waited, self._waiting, self._length = self._waiting, deque(), 0
        if is_hidden(event):
            self._hidden_task = task
            return [Shown(event, NO_LOG if event.get("stdout") else "")]
        told = name == "runner_on_skipped" or bool(result_of(event))
        return [*(self._shown(earlier) for earlier in waited if told), self._shown(event)]

    def _wait(self, event: Event, task: str) -> None:
        if task == self._hidden_task:
            return
        self._waiting.append(event)
        self._length += _size(event)
        while self._length > MAX_TEXT:
            self._length -= _size(self._waiting.popleft())

    def _shown(self, event: Event) -> Shown:
        return Shown(event, self._redactor.shortened(plain(event.get("stdout") or ""), MAX_TEXT))
