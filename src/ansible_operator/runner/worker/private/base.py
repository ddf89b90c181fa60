"""Which Ansible this is, and what belongs to it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import ansible.cli
import ansible.cli.playbook
import ansible.plugins.loader as loaders
import ansible.utils.context_objects
import ansible.utils.vars
from ansible.utils.display import Display

from ansible_operator.runner.worker.private import insides
from ansible_operator.runner.worker.private.supported import Unsupported

_PACKAGE = str(Path(ansible.cli.__file__).parent.parent) + os.sep


LIBRARIES = (sys.prefix + os.sep, sys.base_prefix + os.sep)
display = Display()


def check() -> None:
    """Raises Unsupported."""
    insides.check()
    _check_command()


def _check_command() -> None:
    """``ansible-playbook`` must be of this Python; plays see the interpreter under the name that its first line has."""
    command = shutil.which("ansible-playbook")
    if command is None:
        raise Unsupported("ansible-playbook is not on the PATH")
    with Path(command).open("rb") as file:
        interpreter = file.readline().removeprefix(b"#!").strip().decode(errors="replace")
    if not is_this(interpreter):
        raise Unsupported(f"{command} is not of {sys.executable}")
    sys.executable = interpreter
    sys.path[0] = str(Path(command).parent)  # where the program's would begin


def is_this(interpreter: str) -> bool:
    """Whether it is the interpreter, with the packages, that this process has."""
    other, this = Path(interpreter).absolute(), Path(sys.executable).absolute()
    return other.parent == this.parent and other.resolve() == this.resolve()


def is_own(path: str) -> bool:
    """Whether a file is ansible-core's own."""
    return path.startswith(_PACKAGE)


def action_class(name: str, collections: tuple[str, ...]) -> type | None:
    """The action plugin that Ansible will take for a task."""
    names = list(collections)
    module = loaders.module_loader.find_plugin_with_context(name, collection_list=names)
    if module.resolved and module.action_plugin:
        name = module.action_plugin
    elif not loaders.action_loader.has_plugin(name, collection_list=names):
        name, names = "ansible.legacy.normal", []
    plugin: type | None = loaders.action_loader.get(name, class_only=True, collection_list=names or None)
    return plugin


def plugin_name(plugin: Any) -> str:
    """The full name of a plugin; of one that is neither Ansible's own nor in a collection, its path."""
    if plugin.__module__.startswith("ansible_collections."):
        return str(plugin.ansible_name)
    if is_own(plugin._original_path):
        return f"ansible.builtin.{plugin._load_name.rpartition('.')[2]}"
    return str(plugin._original_path)
