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

from ansible_operator.runner.worker.private.base import LIBRARIES
from ansible_operator.runner.worker.stateless import is_stateless


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


@contextmanager
def fresh_plugins() -> Iterator[None]:
    """User's code that a task has loaded goes again with the task, where it may keep something for its next call."""
    keepers = (loaders.filter_loader, loaders.test_loader, loaders.lookup_loader)
    before = list(sys.modules)
    saved = [
        {name: copy(value) for name, value in vars(loader).items() if isinstance(value, dict)} for loader in keepers
    ]
    try:
        yield
    finally:
        fresh = [name for name in _new_modules(before) if _may_keep(sys.modules[name])]
        if fresh:
            for name in fresh:
                del sys.modules[name]
            for loader, attributes in zip(keepers, saved, strict=True):
                for name, value in attributes.items():
                    current = getattr(loader, name)
                    current.clear()
                    current.update(value)


def _new_modules(before: list[str]) -> set[str]:
    if len(before) == len(sys.modules) and (not before or next(reversed(sys.modules)) == before[-1]):
        return set()
    return sys.modules.keys() - set(before)


def _may_keep(module: Any) -> bool:
    file = str(getattr(module, "__file__", None) or "")
    return bool(file) and not file.startswith(LIBRARIES) and not is_stateless(file)


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
