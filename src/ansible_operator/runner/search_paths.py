"""Where Ansible looks for collections and modules in a run: where the user says, and behind that, where ours are.

A variable in the environment beats ``ansible.cfg``, so what stands there has to be read and put in front.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from pathlib import Path

MODULES = "ansible_collections/operator_sdk/util/plugins/modules"
_SYSTEM = Path("/etc/ansible/ansible.cfg")
_WITH_A_ROOT = ("/", "~", "$", "{{")


def collections_path(environment: Mapping[str, str], ours: Path, system: Path = _SYSTEM) -> str:
    """The value of ANSIBLE_COLLECTIONS_PATH. A user's own copy of ``operator_sdk.util`` wins."""
    users = environment.get("ANSIBLE_COLLECTIONS_PATH") or _configured(environment, "collections_path", system)
    return f"{users or f'{_home(environment)}/collections:/usr/share/ansible/collections'}:{ours}"


def library_path(environment: Mapping[str, str], ours: Path, system: Path = _SYSTEM) -> str:
    """The value of ANSIBLE_LIBRARY: with our modules in it, a role may name them without the collection's prefix."""
    users = environment.get("ANSIBLE_LIBRARY") or _configured(environment, "library", system)
    default = f"{_home(environment)}/plugins/modules:/usr/share/ansible/plugins/modules"
    return f"{users or default}:{ours / MODULES}"


def _home(environment: Mapping[str, str]) -> str:
    return environment.get("ANSIBLE_HOME") or f"{environment.get('HOME', '~')}/.ansible"


def _configured(environment: Mapping[str, str], name: str, system: Path) -> str:
    """A path in the ``[defaults]`` of the first ansible.cfg that Ansible would find; relative to that file."""
    named = Path(environment.get("ANSIBLE_CONFIG") or "/nonexistent").expanduser()
    files = (named / "ansible.cfg" if named.is_dir() else named, Path(environment.get("HOME", "/")) / ".ansible.cfg")
    file = next((file for file in (*files, system) if file.is_file() and os.access(file, os.R_OK)), None)
    if file is None:
        return ""
    parser = configparser.ConfigParser(inline_comment_prefixes=(";",), interpolation=None)
    try:
        parser.read(file)
        value = parser.get("defaults", name, fallback="")
    except (configparser.Error, UnicodeDecodeError):
        return ""  # Ansible says in every run what is wrong with it
    parts = (part.strip() for part in value.split(os.pathsep) if part.strip())
    return os.pathsep.join(part if part.startswith(_WITH_A_ROOT) else str(file.parent / part) for part in parts)
