"""A strategy's side of a task: what its worker's messages would make it do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible import constants

from ansible_operator.runner.worker.private.base import is_own


def is_linear(strategy: Any) -> bool:
    """Whether it is Ansible's own linear strategy, for one host at a time, with nobody who steps through its tasks."""
    return (
        type(strategy).__module__ == "ansible.plugins.strategy.linear"
        and is_own(strategy._original_path)
        and len(strategy._workers) == 1
        and not strategy.debugger_active
        and not strategy._step
    )


def is_include(task: Any) -> bool:
    """Whether the worker only says what is to be included."""
    return task.action in constants._ACTION_INCLUDE_TASKS or task.action in constants._ACTION_INCLUDE_ROLE


def begin_task(strategy: Any, host: Any, task: Any, task_vars: Mapping[str, Any], play_context: Any) -> None:
    """What is done before a worker starts."""
    strategy._queued_task_cache[(host.name, task._uuid)] = {
        "host": host,
        "task": task,
        "task_vars": task_vars,
        "play_context": play_context,
    }
    strategy._tqm.send_callback("v2_runner_on_start", host, task)


def end_task(strategy: Any) -> None:
    """What is done when a worker has been started: its result is to be waited for."""
    strategy._pending_results += 1


def call_back(strategy: Any, method_name: str, result: Any) -> None:
    """A callback that the worker has asked for."""
    strategy._tqm.send_callback(method_name, result)


def take_result(strategy: Any, result: Any) -> None:
    """The worker's result, for the strategy to find."""
    with strategy._results_lock:
        strategy._results.append(result)


def from_wire(strategy: Any, result: Any) -> Any:
    """A result that came out of a queue, with its host and task."""
    return strategy._convert_wire_task_result_to_raw(result)
