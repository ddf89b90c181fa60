"""What Ansible's settings, and what it has loaded, depend on."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.utils.collection_loader import AnsibleCollectionConfig


def depend_on_directory() -> bool:
    """Whether a setting has another value in another current directory, as relative paths in variables have."""
    here = Path.cwd()
    values = _values()
    os.chdir("/")
    try:
        return values != _values()
    finally:
        os.chdir(here)


def _values() -> dict[str, Any]:
    values = {}
    for name, definition in constants.config.get_configuration_definitions().items():
        if definition.get("type") == "tmppath":  # a new directory each time, and of each run's own in any case
            continue
        with suppress(Exception):  # Ansible says in the run what is wrong with it
            values[name] = constants.config.get_config_value(name, variables=vars(constants))
    return values


def add_collections_of(playbook: str) -> None:
    """Look for collections beside a playbook first, as in its runs."""
    AnsibleCollectionConfig.playbook_paths = [playbook]


def collection_paths(playbook: str) -> set[str]:
    """Where collections beside a playbook are, and where more might appear."""
    root = Path(playbook) / "collections"
    places = root / "ansible_collections"
    return {str(path) for path in (root, places, *places.glob("*"), *places.glob("*/*/plugins"))}


def loaded_files() -> set[str]:
    """The files of all modules in memory."""
    return {file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}


_settings: dict[str, list[tuple[int, str]]] = {}
"""Ansible's settings, with their place among all, by the environment variables that they are read from."""


def note_settings() -> None:
    """Before the fork, as there are hundreds."""
    for place, (setting, definition) in enumerate(constants.config.get_configuration_definitions().items()):
        for entry in definition.get("env", ()):
            _settings.setdefault(entry["name"], []).append((place, setting))


def configure(warm: Mapping[str, str]) -> None:
    """Read anew those settings whose variables the run has set otherwise."""
    changed = {name for name in {*warm, *os.environ} if warm.get(name) != os.environ.get(name)}
    for _, setting in sorted({setting for name in changed for setting in _settings.get(name, ())}):
        constants.set_constant(setting, constants.config.get_config_value(setting, variables=vars(constants)))
