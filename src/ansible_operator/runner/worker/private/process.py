"""The process as a whole: imported, warmed up, hooked, and in a child made to forget."""

from __future__ import annotations

import copy
import importlib
import inspect
import os
import secrets
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ansible.cli
import ansible.cli.playbook
import ansible.plugins.loader as loaders
import ansible.utils.context_objects
import ansible.utils.vars
import ansible_runner.__main__ as runner
from ansible import constants, context
from ansible.executor.task_queue_manager import TaskQueueManager
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play import Play
from ansible.plugins.action import ActionBase
from ansible.plugins.strategy import StrategyBase
from ansible.utils.collection_loader import AnsibleCollectionConfig
from ansible.vars import plugins as vars_plugins
from ansible.vars.manager import VariableManager

from ansible_operator.runner.worker.private import notices, shortcuts
from ansible_operator.runner.worker.private.base import LIBRARIES, display, is_own
from ansible_operator.runner.worker.private.callback import Fork, awx, import_callback
from ansible_operator.runner.worker.private.modules import (
    keep_filters,
    make_directory,
    remove_directory,
    takes_modules,
)
from ansible_operator.runner.worker.private.supported import Unsupported
from ansible_operator.runner.worker.private.workers import in_process

_COLLECTIONS = f"{os.sep}ansible_collections{os.sep}"
_FILTERS = list(warnings.filters)

_TRIAL = """
- hosts: localhost
  gather_facts: false
  strategy: linear
  tasks:
    - debug: {msg: "{{ 1 + 1 }}"}
      vars: {of_each_kind: [1, 1.5, true, 2000-01-01, {a: b}, c]}
    - set_fact: {numbers: "{{ [1, 2] | map('string') | list }}"}
    - assert: {that: [numbers is defined, numbers | length == 2]}
    - ping: {data: "{{ item }}"}
      loop: "{{ numbers[:1] }}"
      register: answers
    - assert: {that: "answers.results[0].ping == '1'"}
"""
"""What is played before the first fork, to warm up and to see that the hooks work."""

_REHEARSALS = 10
"""How often. Python adapts code to what it works on only after eight calls, and not before each fork anew."""

_PLUGINS = ["action", "become", "cache", "callback", "connection", "inventory", "lookup", "shell", "strategy", "vars"]


def install(queue_task: Any, execute_module: Any) -> None:
    """Put the two hooks in."""
    ordinary = StrategyBase._queue_task

    def hook(self: Any, host: Any, task: Any, task_vars: Any, play_context: Any) -> None:
        if not queue_task(self, host, task, task_vars, play_context):
            ordinary(self, host, task, task_vars, play_context)

    StrategyBase._queue_task = hook
    names = inspect.getfullargspec(ActionBase._execute_module).args[1:]
    process = ActionBase._execute_module

    def module_hook(self: Any, *values: Any, **arguments: Any) -> Any:
        return execute_module(process, self, {**dict(zip(names, values, strict=False)), **arguments})

    ActionBase._execute_module = module_hook
    _install_directories()
    shortcuts.install()
    awx().multiprocessing_context = Fork(awx().multiprocessing_context)


def import_all() -> None:
    """Whatever a run may need."""
    notices.watch()
    loaders.init_plugin_loader()
    ansible.cli.init_plugin_loader = lambda *_: None
    import_callback()
    for kind in _PLUGINS:
        loader = getattr(loaders, f"{kind}_loader")
        for plugin in loader.all(class_only=True):
            if kind != "callback":  # ansible-runner's own falls over one without options, and is to go on doing so
                _note_options(kind, plugin)
    list(loaders.filter_loader.all())
    list(loaders.test_loader.all())


def _install_directories() -> None:
    make, remove = ActionBase._make_tmp_path, ActionBase._remove_tmp_path

    def make_hook(self: Any, remote_user: str | None = None) -> Any:
        return make_directory(self) or make(self, remote_user)

    def remove_hook(self: Any, tmp_path: str | None, force: bool = False) -> None:
        if not remove_directory(self, tmp_path, force):
            remove(self, tmp_path, force=force)

    ActionBase._make_tmp_path, ActionBase._remove_tmp_path = make_hook, remove_hook


def import_modules(is_known: Any) -> list[str]:
    """Import what the modules on the list import. Their files."""
    paths = []
    for package in (
        "ansible.modules",
        "ansible_collections.kubernetes.core.plugins.modules",
        "ansible_collections.operator_sdk.util.plugins.modules",
    ):
        try:
            directory = importlib.import_module(package).__path__
        except ImportError:
            continue
        for file in sorted(file for place in directory for file in Path(place).glob("*.py")):
            name = f"{package}.{file.stem}"
            if is_known(name, str(file)):
                try:
                    importlib.import_module(name)
                except ImportError:  # without what it needs, the module says so itself
                    continue
                paths.append(str(file))
                loaders.action_loader.get(
                    name.replace("ansible_collections.", "").replace(".plugins.modules", ""), class_only=True
                )
    return paths


def _note_options(kind: str, plugin: Any) -> None:
    """Ansible reads the documentation of a plugin anew at each use, where it has found no options in it."""
    names = {plugin._load_name, plugin.ansible_name, plugin._load_name.rpartition(".")[2]}
    if not any(constants.config.has_configuration_definition(kind, name) for name in names):
        for name in names:
            constants.config.initialize_plugin_configuration_definitions(kind, name, {})


def warm_up(scratch: Path) -> None:
    """Play something without callbacks, see that it went as it should, and forget it. Raises Unsupported."""
    context.CLIARGS = ansible.utils.context_objects.CLIArgs(
        {"tags": ["all"], "skip_tags": [], "forks": 1, "check": False, "diff": False, "verbosity": 0, "subset": None}
    )
    loader = DataLoader()
    loader.set_basedir(str(scratch / "project"))
    host = 'localhost ansible_connection=local ansible_python_interpreter="{{ansible_playbook_python}}"\n'
    (scratch / "inventory/hosts").write_text(host)
    inventory = InventoryManager(loader=loader, sources=[str(scratch / "inventory")])
    variables = VariableManager(
        loader=loader, inventory=inventory, version_info=ansible.cli.CLI.version_info(gitinfo=False)
    )
    book = scratch / "project/warm_up.yml"
    book.write_text(_TRIAL)
    source = loader.load_from_file(str(book), trusted_as_template=True)[0]
    try:
        for _ in range(_REHEARSALS):
            _rehearse(copy.deepcopy(source), inventory, variables, loader)
    finally:
        loader.cleanup_all_tmp_files()
    keep_filters(warnings.filters)  # libraries that were imported have their wishes, which are for modules only
    warnings.filters[:] = _FILTERS  # type: ignore[index]


def _rehearse(source: Any, inventory: Any, variables: Any, loader: Any) -> None:
    before = in_process()
    queue = TaskQueueManager(inventory, variables, loader, {}, forks=1)
    queue.load_callbacks = lambda: None
    try:
        code = queue.run(Play().load(source, variable_manager=variables, loader=loader))
    finally:
        queue.cleanup()
    ok = queue._stats.ok.get("localhost")
    done = tuple(after - earlier for after, earlier in zip(in_process(), before, strict=True))
    if code != 0 or ok != len(source["tasks"]) or done != (ok, int(takes_modules())):
        raise Unsupported(f"a trial of tasks in one process failed: code {code}, {ok} ok, {done} in process")


def forget() -> None:
    """In a child: nothing that should differ from run to run is inherited."""
    ansible.utils.vars.random_int = f"{secrets.randbelow(2**32):08x}"
    ansible.utils.vars.cur_id = 0
    ansible.utils.context_objects.GlobalCLIArgs._Singleton__instance = None
    context.CLIARGS = ansible.utils.context_objects.CLIArgs({})
    AnsibleCollectionConfig.playbook_paths = []
    for seen in (display._warns, display._deprecations, display._errors):
        seen.clear()
    for function in (ansible.utils.vars.load_extra_vars, ansible.utils.vars.load_options_vars):
        vars(function).clear()
    vars_plugins._plugin_should_run.cache_clear()
    loaders.vars_loader._plugin_instance_cache.clear()
    loaders.vars_loader._paths = None
    files = sys.modules["ansible.plugins.vars.host_group_vars"]
    for found in (files.CANONICAL_PATHS, files.FOUND, files.NAK):
        found.clear()


def forget_users_plugins() -> None:
    """Before the fork. They are loaded anew where they are used.

    What they keep is not to come from the trial, nor from their import.
    """
    for _, loader in loaders.get_all_plugin_loaders():
        for path, module in list(loader._module_cache.items()):
            if not str(path).startswith(LIBRARIES) and not is_own(str(path)) and _COLLECTIONS not in str(path):
                del loader._module_cache[path]
                sys.modules.pop(module.__name__, None)


class _Built(Exception):
    """Carries a parser out of the function that makes it."""


def build_parsers() -> None:
    """Building the two command-line parsers costs more than parsing."""
    cli: Any = ansible.cli.playbook.PlaybookCLI(["ansible-playbook", "none"])
    cli.init_parser()

    def init_parser(self: Any) -> None:
        self.parser = cli.parser

    ansible.cli.playbook.PlaybookCLI.init_parser = init_parser

    kind = runner.AnsibleRunnerArgumentParser

    class Catcher(kind):  # type: ignore[misc,valid-type]
        def parse_args(self, *_: Any, **__: Any) -> Any:
            raise _Built(self)

    runner.AnsibleRunnerArgumentParser = Catcher
    try:
        runner.main(["run", "none"])
    except _Built as built:
        prebuilt: Any = _Prebuilt(built.args[0], kind)
    runner.AnsibleRunnerArgumentParser = lambda **_: prebuilt
    for _ in range(_REHEARSALS):
        cli.parser.parse_args(["-i", "hosts", "-e", "@extravars", "-v", "none.yml"])
        prebuilt.parse_args(["run", "none", "--playbook", "none.yml", "--ident", "none"])


class _Prebuilt:
    """Takes the calls that build a parser, and has it already."""

    def __init__(self, parser: Any, kind: Any) -> None:
        self.exit = parser.exit
        self.parse_args = lambda arguments: kind.parse_args(parser, arguments)

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: self


def play(command: Sequence[str]) -> None:
    """``ansible-playbook``. Ends by SystemExit."""
    ansible.cli.playbook.PlaybookCLI.cli_executor(list(command))


def source_paths() -> list[str]:
    """Files that were read to make what is in memory, and places where more might appear.

    Of the installed libraries only the directory is looked at, in which each installation leaves its mark.
    """
    paths = {*_configuration_files(), *sys.path, str(Path(ansible.__file__).with_name("release.py"))}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and not file.startswith(LIBRARIES):
            paths |= {file, str(Path(file).parent)}
    for root in constants.COLLECTIONS_PATHS:
        collections = Path(root) / "ansible_collections"
        paths |= {str(place) for place in (root, collections, *collections.glob("*"), *collections.glob("*/*/plugins"))}
    for _, loader in loaders.get_all_plugin_loaders():
        paths |= {path for path in (*(loader.config or ()), *loader._get_paths()) if not is_own(str(path))}
    return sorted(str(path) for path in paths if path)


def _configuration_files() -> set[str]:
    """Where Ansible looks for its configuration, outside of a run's own directory."""
    named = os.environ.get("ANSIBLE_CONFIG")
    filters = constants.PLUGIN_FILTERS_CFG or "/etc/ansible/plugin_filters.yml"
    files = {str(Path("~/.ansible.cfg").expanduser()), "/etc/ansible/ansible.cfg", filters}
    return files | {str(Path(named).expanduser())} if named else files
