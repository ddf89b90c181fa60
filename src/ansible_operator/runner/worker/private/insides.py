# ruff: noqa: E501 - a signature in one line reads better than one cut to fit
"""What of Ansible's and ansible-runner's insides is called or replaced here, and with which parameters it is known."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from typing import Any

from ansible_operator.runner.worker.private.supported import Unsupported

PARAMETERS = {
    "ansible.plugins.strategy:StrategyBase._queue_task": "self host task task_vars play_context",
    "ansible.plugins.strategy:StrategyBase._convert_wire_task_result_to_raw": "self wire_task_result",
    "ansible.plugins.action:ActionBase._execute_module": "self module_name module_args tmp task_vars persist_files delete_remote_tmp wrap_async ignore_unknown_opts",
    "ansible.plugins.action:ActionBase._configure_module": "self module_name module_args task_vars",
    "ansible.plugins.action:ActionBase._low_level_execute_command": "self cmd sudoable in_data executable encoding_errors chdir",
    "ansible.plugins.action:ActionBase._compute_environment_string": "self raw_environment_out",
    "ansible.plugins.action:ActionBase._is_pipelining_enabled": "self module_style wrap_async",
    "ansible.plugins.action:ActionBase._make_tmp_path": "self remote_user",
    "ansible.plugins.action:ActionBase._remove_tmp_path": "self tmp_path force",
    "ansible.plugins.action:ActionBase._should_remove_tmp_path": "self tmp_path",
    "ansible.executor.process.worker:WorkerProcess.__init__": "self final_q task_vars host task play_context loader variable_manager shared_loader_obj worker_id cliargs",
    "ansible.executor.process.worker:WorkerProcess._run": "self",
    "ansible.plugins.loader:callback_loader.get": "name args kwargs",
    "ansible.executor.task_queue_manager:TaskQueueManager.load_callbacks": "self",
    "ansible.executor.task_queue_manager:TaskQueueManager.send_callback": "self method_name args kwargs",
    "ansible.executor.task_queue_manager:FinalQueue.send_callback": "self method_name task_result",
    "ansible.executor.task_queue_manager:FinalQueue.send_task_result": "self task_result",
    "ansible.executor.task_queue_manager:FinalQueue.send_display": "self method args kwargs",
    "ansible.executor.task_queue_manager:FinalQueue.send_prompt": "self kwargs",
    "ansible.executor.module_common:_get_ansible_module_fqn": "module_path",
    "ansible.executor.module_common:_get_shebang": "interpreter task_vars templar args remote_is_local",
    "ansible.executor.module_common:_BuiltModule": "b_module_data module_style shebang serialization_profile",
    "ansible.module_utils._internal._ansiballz._loader:_handle_exception": "exception profile",
    "ansible.module_utils.common.json:get_module_encoder": "name direction",
    "ansible.module_utils._internal._traceback:_is_module_traceback_enabled": "event",
    "ansible._internal._task:TaskContext": "task",
    "ansible._internal._ansiballz._builder:ExtensionManager.create": "task_vars",
    "ansible.playbook.task:Task.copy": "self exclude_parent exclude_tasks",
    "ansible.cli.playbook:PlaybookCLI.init_parser": "self",
    "ansible.cli:CLI.cli_executor": "args",
    "ansible.plugins.loader:PluginLoader._get_paths": "self subdirs",
    "ansible.plugins.loader:PluginLoader.find_plugin_with_context": "self name mod_type ignore_deprecated check_aliases collection_list",
    "ansible.utils.collection_loader._collection_finder:_AnsibleCollectionPkgLoaderBase.get_code": "self fullname",
    "ansible.utils.collection_loader._collection_finder:_AnsibleCollectionPkgLoaderBase.get_filename": "self fullname",
    "ansible.utils.display:Display.debug": "self msg host",
    "ansible.utils.display:Display.verbose": "self msg host caplevel",
    "ansible.vars.clean:clean_facts": "facts",
    "ansible_runner.runner:Runner.event_callback": "self event_data",
    "ansible_runner.utils:OutputEventFilter._emit_event": "self buffered_stdout next_event_data",
    "ansible_runner.utils:OutputEventFilter.__init__": "self handle event_callback suppress_ansible_output output_json",
    "ansible_runner.__main__:main": "sys_args",
}
"""``module:name`` and the names of its parameters."""

VARIABLES = (
    "ansible.executor.process.worker:current_worker",
    "ansible.executor.process.worker:multiprocessing_context",
    "ansible.module_utils._internal:import_controller_module",
    "ansible.module_utils._internal:is_controller",
    "ansible.module_utils._internal._json._profiles:_string_encoding_check_enabled",
    "ansible.module_utils._internal._traceback:_is_traceback_enabled",
    "ansible.module_utils._internal._traceback:_module_tracebacks_enabled_events",
    "ansible.module_utils.basic:_ANSIBLE_ARGS",
    "ansible.module_utils.basic:_ANSIBLE_PROFILE",
    "ansible.module_utils.basic:_PARSED_MODULE_ARGS",
    "ansible.module_utils.common.warnings:_global_deprecations",
    "ansible.module_utils.common.warnings:_global_warnings",
    "ansible.executor.task_executor:clean_facts",
    "ansible.plugins.loader:glob.iglob",
    "ansible.plugins.loader:vars_loader._module_cache",
    "ansible.plugins.loader:vars_loader._plugin_instance_cache",
    "ansible.utils.context_objects:GlobalCLIArgs._Singleton__instance",
    "ansible.utils.vars:cur_id",
    "ansible.utils.vars:random_int",
    "ansible.vars.clean:display.log_verbosity",
    "ansible.vars.clean:connection_loader",
    "ansible.vars.manager:clean_facts",
    "ansible.vars.plugins:_plugin_should_run",
)
"""What is set, and would be set to no effect where Ansible has come to call it something else."""


def check() -> None:
    """Raises Unsupported."""
    for name, parameters in PARAMETERS.items():
        found = " ".join(inspect.signature(_find(name)).parameters)
        if found != parameters:
            raise Unsupported(f"{name} takes ({found}), where ({parameters}) is known")
    for name in VARIABLES:
        _find(name)


def digest(name: str) -> str:
    """Of the text of a function: what is replaced as a whole must be known as a whole. Empty where there is none."""
    try:
        return hashlib.sha256(inspect.getsource(_find(name)).encode()).hexdigest()[:16]
    except (Unsupported, OSError, TypeError):
        return ""


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise Unsupported(f"{name} is not there: {error}") from error
    return found
