"""What the events of a run amount to: a pure fold from ansible-runner's job events to an Outcome (contract 4.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ansible_operator.model.durations import parse_duration

Event = Mapping[str, Any]
"""A job event as ansible-runner writes it: ``event``, ``event_data``, ``stdout``, ``counter``, ``uuid`` …"""

REQUEUE_ACTIONS = frozenset({"operator_sdk.util.requeue_after", "requeue_after"})
MAX_MESSAGE = 4096
_FAILURES = frozenset({"runner_on_failed", "runner_item_on_failed", "runner_on_unreachable"})
UNKNOWN_FAILURE = "unknown playbook failure"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_NO_TRACEBACK = "(traceback unavailable)"  # what ansible-core 2.19 gives instead of one
_HIDDEN_OUTPUT = "what was printed is not shown, since a task with no_log has failed"
_HIDDEN = "the output has been hidden due to the fact that 'no_log: true' was specified for this result"


@dataclass(frozen=True)
class Stats:
    """Task counts of localhost, as the recap shows them."""

    ok: int = 0
    changed: int = 0
    skipped: int = 0
    failures: int = 0
    unreachable: int = 0
    rescued: int = 0


@dataclass(frozen=True)
class Progress:
    """What the events so far have shown.

    ``requeue_after`` is in seconds; the first request of a run counts. ``hides_output``: a task with no_log has failed,
    and Ansible has printed why all the same (ansible-core 2.19).
    """

    messages: tuple[str, ...] = ()
    requeue_after: float | None = None
    stats: Stats | None = None
    failed_elsewhere: bool = False
    hides_output: bool = False

    def after(self, event: Event) -> Progress:
        """The progress once ``event`` is known as well."""
        data = event.get("event_data") or {}
        hides = event.get("event") in _FAILURES and _is_hidden(data.get("res") or {})
        return (replace(self, hides_output=True) if hides else self)._after(event, data)

    def _after(self, event: Event, data: Mapping[str, Any]) -> Progress:
        match event.get("event"):
            case "runner_on_failed" if not data.get("ignore_errors"):
                return replace(self, messages=(*self.messages, failure_message(data)))
            case "runner_on_unreachable":
                return replace(self, messages=(*self.messages, f"host unreachable: {failure_message(data)}"))
            case "runner_on_ok" | "runner_item_on_ok" if (
                self.requeue_after is None and data.get("task_action") in REQUEUE_ACTIONS
            ):
                return replace(self, requeue_after=_requested_period(data))
            case "playbook_on_stats":
                return replace(self, stats=_stats_of(data), failed_elsewhere=_failed_hosts(data))
        return self


def _requested_period(data: Mapping[str, Any]) -> float | None:
    period = (data.get("res") or {}).get("period")
    try:
        seconds = parse_duration(str(period))
    except ValueError:
        return None
    return seconds if seconds > 0 else None


def _stats_of(data: Mapping[str, Any]) -> Stats:
    def count(name: str) -> int:
        return int((data.get(name) or {}).get("localhost", 0))

    return Stats(
        ok=count("ok"),
        changed=count("changed"),
        skipped=count("skipped"),
        failures=count("failures"),
        unreachable=count("dark"),
        rescued=count("rescued"),
    )


def _failed_hosts(data: Mapping[str, Any]) -> bool:
    return any(sum((data.get(name) or {}).values()) for name in ("failures", "dark"))


def failure_message(data: Mapping[str, Any]) -> str:
    """The text of a failed task: its message, else the reason or the exception; never the task's arguments."""
    result = data.get("res") or {}
    if _is_hidden(result):
        return f"task {data.get('task') or 'without a name'!r} failed; {_HIDDEN}"
    for key in ("msg", "reason", "exception"):
        text = str(result.get(key) or "").strip()
        if text and text != _NO_TRACEBACK:
            return shorten(text)
    return UNKNOWN_FAILURE


def _is_hidden(result: Mapping[str, Any]) -> bool:
    return bool(result.get("_ansible_no_log") or result.get("censored"))


def shorten(text: str, limit: int = MAX_MESSAGE) -> str:
    """The text, cut in the middle where it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


@dataclass(frozen=True)
class RunEnd:
    """How the process of a run ended: its exit code, the tail of its output, and whether it was stopped for time."""

    exit_code: int
    output_tail: str = ""
    timed_out: bool = False
    cancelled: bool = False


@dataclass(frozen=True)
class Outcome:
    """The verdict on one run.

    ``loaded`` is False where Ansible never came to a recap: a load error, a kill, a time-out. The role cannot have
    reported such a run itself.
    """

    succeeded: bool
    message: str
    stats: Stats
    requeue_after: float | None
    loaded: bool


def outcome_of(progress: Progress, end: RunEnd, *, run_timeout: float) -> Outcome:
    """Judge by the recap and the exit code, so that rescued tasks are successes and dead processes are not."""
    stats = progress.stats
    failed = stats is None or progress.failed_elsewhere or end.exit_code != 0 or end.timed_out or end.cancelled
    if not failed:
        return Outcome(True, "", stats or Stats(), progress.requeue_after, loaded=True)
    if end.timed_out:
        message = f"the run was stopped: it took longer than {run_timeout:g} s (--run-timeout)"
    elif end.cancelled:
        message = "the run was stopped, since the operator is shutting down"
    elif progress.messages:
        message = "\n".join(dict.fromkeys(progress.messages))
    elif progress.hides_output:
        message = f"{UNKNOWN_FAILURE}; {_HIDDEN_OUTPUT} (exit code {end.exit_code})"
    else:
        message = error_tail(end)
    return Outcome(False, shorten(message), stats or Stats(), None, loaded=stats is not None and not end.timed_out)


def error_tail(end: RunEnd) -> str:
    """The part of the output that says what went wrong, with the exit code."""
    text = _COLOURS.sub("", end.output_tail).replace("\r\n", "\n").strip()
    start = max(text.rfind("\nERROR"), text.rfind("[ERROR]"), 0 if text.startswith("ERROR") else -1)
    text = text[start:].strip() if start >= 0 else "\n".join(text.splitlines()[-20:])
    return shorten(text or UNKNOWN_FAILURE, MAX_MESSAGE // 2) + f" (exit code {end.exit_code})"
