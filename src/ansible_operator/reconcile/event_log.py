"""What is logged of a run while it goes: tasks, results of debug, failures (contract 4.9). Never a task's arguments.

One record an event, with the task, in the order of the events. Nothing secret: whatever is logged has gone through the
run's Redactor, and what a task with ``no_log`` said is not logged at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from structlog.typing import FilteringBoundLogger

from ansible_operator.model.annotations import VERBOSITY
from ansible_operator.model.events import Event, failure_message
from ansible_operator.model.gvk import Object
from ansible_operator.model.redaction import Redactor
from ansible_operator.reconcile.output import MAX_TEXT, NO_LOG, SafeOutput, is_hidden, result_of

_SET_FACT = frozenset({"set_fact", "ansible.builtin.set_fact", "ansible.legacy.set_fact"})
_DEBUG = frozenset({"debug", "ansible.builtin.debug", "ansible.legacy.debug"})
_NOT_DEBUG_OUTPUT = frozenset({"changed", "failed", "skipped", "invocation", "item", "ansible_loop_var", "msg"})
_ABOVE_0 = re.compile(r"\+?0*[1-9][0-9]*")


def shows_output(obj: Object, verbosity: str) -> bool:
    """Whether the object's annotation, or ``verbosity`` (of ANSIBLE_VERBOSITY), asks for what Ansible prints."""
    annotation = (obj["metadata"].get("annotations") or {}).get(VERBOSITY) or ""
    return any(_ABOVE_0.fullmatch(text.strip()) for text in (annotation, verbosity))


class EventLog:
    """Logs the events of one run through ``log``, which is bound to the object and the job.

    ``level`` is ``nothing``, ``tasks`` or ``everything``. With ``raw`` the level ``tasks`` gives what Ansible prints in
    each task instead.
    """

    def __init__(
        self, log: FilteringBoundLogger, level: str, redactor: Redactor | None = None, *, raw: bool = False
    ) -> None:
        self._log = log
        self._level = level
        self._redactor = redactor or Redactor()
        self._raw = raw
        self._output = SafeOutput(self._redactor)

    def __call__(self, event: Event) -> None:
        """Log what the level asks for of one event."""
        if self._level == "everything":
            self._everything(event)
        elif self._level == "tasks" and self._raw:
            self._printed(event)
        elif self._level == "tasks":
            self._task(event, event.get("event_data") or {})

    def _everything(self, event: Event) -> None:
        for shown in self._output.after(event):
            task = (shown.event.get("event_data") or {}).get("task")
            name, task = shown.event.get("event"), self._text(task) if task else None
            self._log.info("event", ansible_event=name, task=task, stdout=shown.text)

    def _printed(self, event: Event) -> None:
        for shown in self._output.after(event):
            task = (shown.event.get("event_data") or {}).get("task")
            if task and shown.text:
                self._log.info("output", task=self._text(task), stdout=shown.text)

    def _task(self, event: Event, data: Mapping[str, Any]) -> None:
        action, task = data.get("task_action"), self._text(data.get("task") or data.get("task_action") or "")
        match event.get("event"):
            case "playbook_on_task_start" if action not in _SET_FACT | _DEBUG:
                self._log.info("task started", task=task)
            case "runner_on_ok" if action in _DEBUG and "results" not in result_of(event):
                self._log.info("debug", task=task, output=self._debug_output(event))
            case "runner_item_on_ok" if action in _DEBUG:
                self._log.info("debug", task=task, item=self._item(event), output=self._debug_output(event))
            case "runner_item_on_ok":
                changed = bool(result_of(event).get("changed"))
                self._log.info("item ok", task=task, item=self._item(event), changed=changed)
            case "runner_item_on_failed":
                self._log.warning("item failed", task=task, item=self._item(event), error=self._failure(data))
            case "runner_on_failed":
                self._failed(data, task)
            case "runner_on_unreachable":
                self._log.error("host unreachable", task=task, error=self._failure(data))

    def _failed(self, data: Mapping[str, Any], task: str) -> None:
        ignored = bool(data.get("ignore_errors"))
        log = self._log.info if ignored else self._log.error
        log("task failed", task=task, path=data.get("task_path"), error=self._failure(data), ignored=ignored)

    def _failure(self, data: Mapping[str, Any]) -> str:
        return self._text(failure_message(data))

    def _debug_output(self, event: Event) -> Any:
        """The message, or the variable that was asked for by ``var``, under its name."""
        if is_hidden(event):
            return NO_LOG
        result = result_of(event)
        variables = {
            key: value
            for key, value in result.items()
            if key not in _NOT_DEBUG_OUTPUT and not key.startswith("_ansible_")
        }
        return self._redactor.value(result.get("msg", variables), MAX_TEXT)

    def _item(self, event: Event) -> Any:
        """The item of a loop, by its label where it has one."""
        result = result_of(event)
        if is_hidden(event):
            return NO_LOG
        return self._redactor.value(result.get("_ansible_item_label", result.get("item")), MAX_TEXT)

    def _text(self, text: Any) -> str:
        return self._redactor.shortened(str(text), MAX_TEXT)
