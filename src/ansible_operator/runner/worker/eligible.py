"""Which tasks may run in the run's own process. Everything else takes Ansible's ordinary way, task by task.

The rule: the result must be the same. So: one host at a time, this machine, nobody else's rights, nothing in the
background, and plugins that are known to leave their process as they found it, or look so.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ansible_operator.runner.worker import private

_ACTIONS = frozenset(
    [
        "add_host",
        "assemble",
        "assert",
        "command",
        "copy",
        "debug",
        "fail",
        "fetch",
        "gather_facts",
        "group_by",
        "include_vars",
        "normal",
        "package",
        "service",
        "set_fact",
        "set_stats",
        "shell",
        "template",
        "uri",
        "validate_argument_spec",
    ]
)
_COLLECTIONS = ("kubernetes.core", "community.okd", "operator_sdk.util")


def task(strategy: Any, host: Any, task: Any, task_vars: Mapping[str, Any]) -> bool:
    """Whether a task may run in the strategy's own process."""
    return (
        private.is_linear(strategy)
        and _is_plain(task, host)
        and task_vars.get("ansible_connection", task.connection) == "local"
        and not task_vars.get("ansible_become")
        and _action(task)
        and private.has_tame_plugins()
    )


def _is_plain(task: Any, host: Any) -> bool:
    return (
        not task.async_val
        and not task.become
        and not task.debugger
        and not task.throttle
        and task.delegate_to in {None, host.name}
    )


def _action(task: Any) -> bool:
    if private.is_include(task):
        return True
    name = task.action
    if not isinstance(name, str) or "{" in name:
        return False
    plugin = private.action_class(name, tuple(task.collections or ()))
    return plugin is not None and _known(plugin)


@cache
def _known(plugin: type) -> bool:
    name = private.plugin_name(plugin)
    namespace, _, leaf = name.rpartition(".")
    return (namespace == "ansible.builtin" and leaf in _ACTIONS) or namespace in _COLLECTIONS
