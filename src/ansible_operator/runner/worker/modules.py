"""Modules in the run's own process, instead of a process for each.

Only those of a list: modules that are known to do nothing to their process which ``preserved`` and
``private.as_module`` do not put back, and never to leave it other than by an exception. Everything around the module
(what it is given, what becomes of its output) stays Ansible's own code: of one call of ``_execute_module`` only the
last step, the command, is another.
"""

from __future__ import annotations

import inspect
import io
import os
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ansible_operator.runner.worker import clients, private
from ansible_operator.runner.worker.isolation import depth_of, preserved, recursing_further

_OURS = str(Path(__file__).parents[2] / "collections/ansible_collections/operator_sdk/util/plugins/modules") + os.sep
_BUILTIN = frozenset(("ping", "slurp", "stat"))
_KUBERNETES = frozenset(
    [
        "k8s",
        "k8s_cluster_info",
        "k8s_info",
        "k8s_json_patch",
        "k8s_log",
        "k8s_rollback",
        "k8s_scale",
        "k8s_service",
        "k8s_taint",
    ]
)


def is_known(name: str, path: str) -> bool:
    """Whether a module, by its full Python name and its file, is on the list."""
    package, _, leaf = name.rpartition(".")
    if package == "ansible.modules":
        return leaf in _BUILTIN and private.is_own(path)
    if package == "ansible_collections.kubernetes.core.plugins.modules":
        return leaf in _KUBERNETES
    return path.startswith(_OURS)


def execute(ordinary: Callable[..., Any], action: Any, arguments: dict[str, Any]) -> Any:
    """Run the module of an action, here where that gives the same result, else the ordinary way."""
    module = _eligible(action, arguments)
    if module is None:
        return ordinary(action, **arguments)
    private.make_task_directory(action)
    call = _Call(action, module)
    with private.replaced(action, call.configure, call.command):
        return ordinary(action, **arguments)


def _eligible(action: Any, arguments: Mapping[str, Any]) -> private.Module | None:
    if not private.is_in_process() or arguments.get("wrap_async"):
        return None
    module = private.find_module(action, arguments.get("module_name"), arguments.get("task_vars") or {})
    return module if module is not None and is_known(module.name, module.path) else None


class _Call:
    """One call of a module."""

    def __init__(self, action: Any, module: private.Module) -> None:
        self._action = action
        self._module = module
        self._parameters = b""
        self._environment: dict[str, Any] = {}

    def configure(self, module_name: str, module_args: dict[str, Any], task_vars: Any) -> Any:
        """In place of ``_configure_module``, which makes an archive of the module and all it imports."""
        del task_vars
        self._environment = private.environment_of_task(self._action)
        self._parameters = private.encode_arguments(module_name, module_args)
        return private.built_module(self._module), self._module.path

    def command(self, *_: Any, **__: Any) -> dict[str, Any]:
        """In place of ``_low_level_execute_command``."""
        directory = private.base_directory(self._action)
        output, errors = io.StringIO(), io.StringIO()
        with preserved(), private.as_module(self._parameters), private.as_new():
            os.environ.update({name: str(value) for name, value in self._environment.items()})
            os.chdir(directory)
            further = recursing_further(depth_of(inspect.currentframe()))
            with further, clients.kept(self._module.name, self._parameters) as table:
                code = _run(self._module, output, errors)
                if code:
                    table.clear()  # what a failed module leaves may be broken
        out, err = output.getvalue(), errors.getvalue()
        return {
            "rc": code,
            "stdout": out,
            "stdout_lines": out.splitlines(),
            "stderr": err,
            "stderr_lines": err.splitlines(),
        }


@cache
def _compiled(path: str) -> types.CodeType:
    return compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)


def preload(paths: list[str]) -> None:
    """Compile modules before the fork, and import what they import."""
    for path in paths:
        _compiled(path)


def _run(module: private.Module, output: io.StringIO, errors: io.StringIO) -> int:
    """As ``python module`` would; its exit code."""
    main = types.ModuleType("__main__")
    main.__file__ = module.path
    vars(main).update(_module_fqn=module.name, _modlib_path="")
    streams = sys.stdin, sys.stdout, sys.stderr
    sys.modules["__main__"] = main
    sys.argv[:] = [module.path]
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), output, errors
    try:
        try:
            exec(_compiled(module.path), vars(main))  # noqa: S102 - that is what running a module means
            raise RuntimeError("New-style module did not handle its own exit.")
        except Exception as error:
            private.report_exception(error)
    except SystemExit as exit_:
        return _exit_code(exit_, errors)
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    return 0


def _exit_code(exit_: SystemExit, errors: io.StringIO) -> int:
    if exit_.code is None:
        return 0
    if isinstance(exit_.code, int):
        return exit_.code & 0xFF
    errors.write(f"{exit_.code}\n")
    return 1
