"""Ansible's worker without its fork."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import ansible.plugins.loader as loaders
from ansible import context
from ansible._internal import _task
from ansible.executor.process import worker as worker_module

from ansible_operator.runner.worker.imports import IMPORTS
from ansible_operator.runner.worker.private import notices
from ansible_operator.runner.worker.private.base import LIBRARIES, is_own
from ansible_operator.runner.worker.stateless import is_stateless
from ansible_operator.runner.worker.tame import are_tame, is_tame


def make_worker(strategy: Any, bridge: Any, host: Any, task: Any, task_vars: dict[str, Any], play_context: Any) -> Any:
    """Ansible's worker, with copies of what it changes."""
    mine = task.copy(exclude_parent=True, exclude_tasks=True)
    mine._parent = task._parent
    loader = copy(strategy._loader)
    loader._FILE_CACHE = dict(loader._FILE_CACHE)
    loader._tempfiles = set()
    if isinstance(facts := task_vars.get("ansible_facts"), dict):
        task_vars["ansible_facts"] = copy(facts)
    worker = worker_module.WorkerProcess.__new__(worker_module.WorkerProcess)
    worker._final_q = bridge
    worker._task_vars = task_vars
    worker._host = object.__new__(type(host))
    vars(worker._host).update(vars(host))
    worker._task = mine
    worker._play_context = play_context
    worker._loader = loader
    worker._variable_manager = strategy._variable_manager
    worker._shared_loader_obj = loaders.get_plugin_loader_namespace()
    worker.worker_id = 0
    worker._cliargs = context.CLIARGS
    return worker


_wild: list[str] = []
"""Files that were loaded by a task and are not tame."""


def has_tame_plugins() -> bool:
    """Whether what templates may call can be trusted to leave the process as it found it."""
    return not _wild and all(
        are_tame(path) for loader in _called_by_templates() for path in loader._get_paths() if not is_own(path)
    )


def _called_by_templates() -> tuple[Any, ...]:
    return loaders.filter_loader, loaders.test_loader, loaders.lookup_loader


@contextmanager
def fresh_plugins() -> Iterator[None]:
    """User's code that a task has loaded goes again with the task, where it may keep something for its next call."""
    keepers = _called_by_templates()
    before = IMPORTS.moment()
    saved = [{name: _copied(value) for name, value in vars(loader).items()} for loader in keepers]
    try:
        yield
    finally:
        new = {name: _file(sys.modules.get(name)) for name in IMPORTS.since(before)}
        users = {name: file for name, file in new.items() if file and not file.startswith(LIBRARIES)}
        _wild.extend(file for file in users.values() if not is_tame(file))
        fresh = notices.warned(new).union(name for name, file in users.items() if not is_stateless(file))
        if fresh:
            notices.remove(fresh)
            for loader, attributes in zip(keepers, saved, strict=True):
                for name, value in attributes.items():
                    if value is not None:
                        current = getattr(loader, name)
                        current.clear()
                        current.update(value)


def _copied(value: Any) -> Any:
    """What a loader has found, and where it has looked; None for anything else that it holds."""
    if isinstance(value, dict):
        return {key: copy(inner) if isinstance(inner, dict) else inner for key, inner in value.items()}
    return set(value) if isinstance(value, set) else None


def _file(module: Any) -> str:
    return str(getattr(module, "__file__", None) or "")


_counts = {"tasks": 0, "modules": 0}


def in_process() -> tuple[int, int]:
    """How many tasks and modules this process has run itself."""
    return _counts["tasks"], _counts["modules"]


def count_module() -> None:
    """One more."""
    _counts["modules"] += 1


def run_worker(worker: Any) -> None:
    """What a worker does after its fork."""
    _counts["tasks"] += 1
    try:
        with _task.TaskContext(worker._task):
            worker._run()
    finally:
        worker_module.current_worker = None
