"""A module's call: what Ansible gives it, and the module library as it is in a module's process."""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible.plugins.loader as loaders
from ansible import constants
from ansible._internal._ansiballz import _builder
from ansible.errors import AnsibleError
from ansible.executor import module_common
from ansible.executor.process import worker as worker_module
from ansible.module_utils import _internal, basic
from ansible.module_utils._internal import _traceback
from ansible.module_utils._internal._ansiballz import _loader
from ansible.module_utils._internal._json import _profiles
from ansible.module_utils.common import warnings as module_warnings
from ansible.module_utils.common.json import Direction, get_module_encoder

from ansible_operator.runner.worker.private.base import display, is_own, is_this
from ansible_operator.runner.worker.private.notices import Notices
from ansible_operator.runner.worker.private.workers import count_module

_SAME_INTERPRETER = "{{ansible_playbook_python}}"


_VERBOSITY = 2


_PROFILE = "legacy"  # that of modules which do not ask for another; none on the list does


@dataclass(frozen=True)
class Module:
    """A module that could run in this process: its full Python name, its file, its ``#!`` line."""

    name: str
    path: str
    shebang: str


def is_in_process() -> bool:
    """Whether the present task runs in the run's own process."""
    return display._final_q is not None and worker_module.multiprocessing_context.parent_process() is None


def find_module(action: Any, name: str | None, task_vars: Mapping[str, Any]) -> Module | None:
    """The module of an action, where nothing but its name could keep it from running in this process."""
    task = action._task
    if (
        not _is_plain(action)
        or task.async_val
        or task.timeout
        or task.delegate_to
        or not takes_modules()
        or _builder.ExtensionManager.create(task_vars=task_vars).extension_names
        or constants.config.get_config_value("PYTHON_MODULE_RLIMIT_NOFILE", variables=task_vars) not in {0, "0"}
    ):
        return None
    found = loaders.module_loader.find_plugin_with_context(name or task.action, "", collection_list=task.collections)
    path = found.plugin_resolved_path if found.resolved else None
    if not path or not path.endswith(".py"):
        return None
    try:
        interpreter = _interpreter(action, task_vars)
        name = module_common._get_ansible_module_fqn(path)
        return Module(name, path, f"#!{interpreter}") if is_this(interpreter) else None
    except Exception:
        return None  # the ordinary way will meet it again


def _interpreter(action: Any, task_vars: Mapping[str, Any]) -> str:
    """The Python that Ansible would take; the two plain cases are not worth a template."""
    configured = constants.config.get_config_value("INTERPRETER_PYTHON", variables=task_vars)
    if configured == _SAME_INTERPRETER and task_vars.get("ansible_playbook_python") == sys.executable:
        return sys.executable
    if isinstance(configured, str) and configured.startswith(os.sep) and "{" not in configured:
        return str(configured)
    return str(module_common._get_shebang("/usr/bin/python", task_vars, action._templar)[1])


def _is_plain(action: Any) -> bool:
    """Whether an action works on this machine, as this user, and does not have to print each command."""
    connection = action._connection
    return (
        type(connection).__module__ == "ansible.plugins.connection.local"
        and type(connection._shell).__module__ == "ansible.plugins.shell.sh"
        and is_own(connection._original_path)
        and is_own(connection._shell._original_path)
        and not connection.become
        and display.verbosity <= _VERBOSITY
        and not constants.DEFAULT_DEBUG
    )


def make_directory(action: Any) -> str | None:
    """The temporary directory of a task, without a shell. None: the ordinary way."""
    base = str(action.get_shell_option("remote_tmp", default="~"))
    if not (is_in_process() and _is_plain(action) and base.startswith(os.sep)):
        return None
    path = f"{base}/{shell(action)._generate_temp_dir_name()}/"
    mask = os.umask(0o077)
    try:
        Path(base).mkdir(parents=True, exist_ok=True)
        Path(path).mkdir()
    except OSError:
        return None
    finally:
        os.umask(mask)
    action._cleanup_remote_tmp = True
    shell(action).tmpdir = path
    return path


def remove_directory(action: Any, path: str | None, force: bool) -> bool:
    """Whether there is nothing left to remove."""
    if not (is_in_process() and _is_plain(action)):
        return False
    path = path or shell(action).tmpdir
    if force or action._should_remove_tmp_path(path):
        try:
            shutil.rmtree(path)
        except OSError:
            return False
        shell(action).tmpdir = None
    return True


def takes_modules() -> bool:
    """Whether no setting keeps all modules from running in this process."""
    return not constants.DEFAULT_KEEP_REMOTE_FILES and not _has_foreign_module_utils()


def _has_foreign_module_utils() -> bool:
    """Whether parts of ``ansible.module_utils`` may be replaced by others."""
    paths = loaders.module_utils_loader._get_paths(subdirs=False)
    return any(not is_own(path + os.sep) and Path(path).is_dir() for path in paths)


@contextmanager
def replaced(action: Any, configure: Any, command: Any) -> Iterator[None]:
    """For one call, an action takes its module from here and runs it here, as if through a pipe."""
    count_module()
    action._configure_module = configure
    action._low_level_execute_command = command
    action._is_pipelining_enabled = lambda *_, **__: True
    try:
        yield
    finally:
        del action._configure_module, action._low_level_execute_command, action._is_pipelining_enabled


def encode_arguments(name: str, arguments: dict[str, Any]) -> bytes:
    """What a module is given, as Ansible sends it."""
    encoder = get_module_encoder(_PROFILE, Direction.CONTROLLER_TO_MODULE)
    try:
        return json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, cls=encoder).encode()
    except TypeError as error:
        raise AnsibleError(f"Failed to serialize arguments for the {name!r} module.") from error


def built_module(module: Module) -> Any:
    """What Ansible makes of a module's source before it sends it away."""
    return module_common._BuiltModule(
        b_module_data=b"", module_style="new", shebang=module.shebang, serialization_profile=_PROFILE
    )


def make_task_directory(action: Any) -> None:
    """Make the temporary directory of a task, where it has none."""
    if shell(action).tmpdir is None:
        action._make_tmp_path()


def environment_of_task(action: Any) -> dict[str, Any]:
    """What ``environment`` adds to a module's."""
    environment: dict[str, Any] = {}
    action._compute_environment_string(environment)
    return environment


def base_directory(action: Any) -> str:
    """Where the processes of local tasks start."""
    return str(action._loader.get_basedir())


def shell(action: Any) -> Any:
    """The shell plugin, which remembers the temporary directory of a task."""
    return action._connection._shell


_filters: list[Any] = []


def keep_filters(filters: Sequence[Any]) -> None:
    """What libraries that modules import want to hear of."""
    _filters[:] = filters


@contextmanager
def as_module(parameters: bytes) -> Iterator[None]:
    """Let Ansible's module library think that it is in a module's process, one that has just begun."""
    places: tuple[tuple[Any, str, Any], ...] = (
        (_internal, "is_controller", False),
        (_internal, "import_controller_module", lambda _: None),
        (_traceback, "_is_traceback_enabled", _traceback._is_module_traceback_enabled),
        (_traceback, "_module_tracebacks_enabled_events", None),
        (_profiles, "_string_encoding_check_enabled", lambda: False),
        (module_warnings, "_global_warnings", Notices()),
        (module_warnings, "_global_deprecations", Notices()),
        (basic, "_ANSIBLE_ARGS", parameters),
        (basic, "_ANSIBLE_PROFILE", _PROFILE),
        (basic, "_PARSED_MODULE_ARGS", None),
    )
    saved = [(place, name, getattr(place, name)) for place, name, _ in places]
    for place, name, value in places:
        setattr(place, name, value)
    warnings.filters[:] = _filters  # type: ignore[index]
    try:
        yield
    finally:
        for place, name, value in saved:
            setattr(place, name, value)


def report_exception(error: Exception) -> None:
    """What becomes of an exception that a module does not catch. Ends by SystemExit."""
    _loader._handle_exception(error, _PROFILE)
