"""What is logged of a run while it goes: tasks, results of debug, failures (contract 4.9). Never a task's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structlog.typing import FilteringBoundLogger

from ansible_operator.model.events import Event, failure_message

_QUIET_ACTIONS = frozenset({"set_fact", "ansible.builtin.set_fact", "debug", "ansible.builtin.debug"})
_DEBUG = frozenset({"debug", "ansible.builtin.debug"})


class EventLog:
    """Logs the events of one run through ``log``, which is bound to the object and the job.

    ``level`` is ``nothing``, ``tasks`` or ``everything``.
    """

    def __init__(self, log: FilteringBoundLogger, level: str) -> None:
        self._log = log
        self._level = level

    def __call__(self, event: Event) -> None:
        """Log what the level asks for of one event."""
        data = event.get("event_data") or {}
        if self._level == "everything":
            self._log.info("event", ansible_event=event.get("event"), task=data.get("task"), stdout=event.get("stdout"))
        elif self._level == "tasks":
            self._task(str(event.get("event")), data)

    def _task(self, name: str, data: Mapping[str, Any]) -> None:
        action, task = data.get("task_action"), data.get("task")
        match name:
            case "playbook_on_task_start" if action not in _QUIET_ACTIONS:
                self._log.info("task started", task=task or action)
            case "runner_on_ok" if action in _DEBUG:
                self._log.info("debug", task=task, output=_debug_output(data))
            case "runner_on_failed":
                where = {"task": task, "path": data.get("task_path")}
                log = self._log.info if data.get("ignore_errors") else self._log.error
                log("task failed", **where, error=failure_message(data), ignored=bool(data.get("ignore_errors")))
            case "runner_on_unreachable":
                self._log.error("host unreachable", task=task, error=failure_message(data))


def _debug_output(data: Mapping[str, Any]) -> Any:
    result = data.get("res") or {}
    hidden = result.get("_ansible_no_log") or result.get("censored")
    return "hidden by no_log" if hidden else result.get("msg")
