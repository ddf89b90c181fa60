"""The private data directory of a run, as ansible-runner wants it, and the command that plays it (contract 4.5).

``env/extravars`` and ``inventory/hosts`` are written, a copy of the playbook in ``project/`` for
people who look, and beside them the run's ``kubeconfig``. Everything is 0600 in 0700: specs may hold secrets.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from ansible_operator.runner.files import make_private_directory, write_private, write_private_json
from ansible_operator.runner.interface import RunRequest
from ansible_operator.runner.kubeconfig import kubeconfig
from ansible_operator.runner.record import write_record
from ansible_operator.runner.search_paths import collections_path, library_path

RUN_MARKER = "ANSIBLE_OPERATOR_RUN"
"""Environment variable that every process of a run carries, and by which strays are found."""

_ACCESS = ("KUBECONFIG", "K8S_AUTH_KUBECONFIG")
_LOOPBACK = "127.0.0.1,localhost,::1"


def kubeconfig_file(request: RunRequest) -> Path:
    """Where the run's kubeconfig is."""
    return request.directory / "kubeconfig"


def temporary_directory(request: RunRequest) -> Path:
    """Where the run's temporary files are."""
    return request.temporary or request.directory / "tmp"


def prepare(request: RunRequest, environment: Mapping[str, str], ansible_args: str) -> None:
    """Write everything the run reads. Raises OSError, with the path, where the work directory is full or closed."""
    for name in ("env", "project", "inventory", "artifacts"):
        make_private_directory(request.directory / name)
    make_private_directory(temporary_directory(request))
    env = request.directory / "env"
    write_private_json(env / "extravars", request.variables)
    access = str(kubeconfig_file(request))
    write_private_json(env / "envvars", {"KUBECONFIG": access, "K8S_AUTH_KUBECONFIG": access})
    write_record(request, command(request, environment))
    _write_or_remove(env / "cmdline", _strip_quotes(ansible_args))
    _write_inventory(request.directory / "inventory", environment)
    write_private_json(kubeconfig_file(request), kubeconfig(request.access))
    if request.content.playbook is not None:
        write_private(request.directory / "project/playbook.yaml", request.content.playbook.read_bytes())


def _write_or_remove(path: Path, text: str) -> None:
    if text:
        write_private(path, text)
    else:
        path.unlink(missing_ok=True)


def _strip_quotes(text: str) -> str:
    """One pair of outer single quotes goes, as a Deployment's args often have them."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == "'" else text


def _write_inventory(directory: Path, environment: Mapping[str, str]) -> None:
    """The user's inventory (``ANSIBLE_INVENTORY``), or localhost with the interpreter Ansible itself runs with."""
    source = environment.get("ANSIBLE_INVENTORY")
    if source and Path(source).is_dir():
        shutil.copytree(source, directory, dirs_exist_ok=True)
        return
    if source and Path(source).is_file():
        write_private(directory / Path(source).name, Path(source).read_bytes())
        return
    virtual_env = environment.get("VIRTUAL_ENV")
    interpreter = f"{virtual_env}/bin/python3" if virtual_env else "{{ansible_playbook_python}}"
    hosts = f'localhost ansible_connection=local ansible_python_interpreter="{interpreter}"\n'
    write_private(directory / "hosts", hosts)


def common_environment(environment: Mapping[str, str], collections: Path) -> dict[str, str]:
    """The part of a run's environment that all runs share: the operator's without its access to the cluster."""
    loopback = ",".join(
        part for part in (environment.get("NO_PROXY") or environment.get("no_proxy"), _LOOPBACK) if part
    )
    return {
        **{name: value for name, value in environment.items() if name not in _ACCESS},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}",
        "ANSIBLE_COLLECTIONS_PATH": collections_path(environment, collections),
        "ANSIBLE_LIBRARY": library_path(environment, collections),
        "NO_PROXY": loopback,
        "no_proxy": loopback,
    }


def run_environment(request: RunRequest, environment: Mapping[str, str], collections: Path) -> dict[str, str]:
    """The operator's environment with the run's own access to the cluster in place of the operator's."""
    temporary = str(temporary_directory(request))
    return {
        "ANSIBLE_LOCAL_TEMP": temporary,
        "ANSIBLE_REMOTE_TEMP": temporary,
        **common_environment(environment, collections),
        **dict.fromkeys(_ACCESS, str(kubeconfig_file(request))),
        "TMPDIR": temporary,
        RUN_MARKER: request.ident,
    }


def command(request: RunRequest, environment: Mapping[str, str]) -> list[str]:
    """The ``ansible-runner run`` command line of the run."""
    words = [sys.executable, "-m", "ansible_runner", "run", str(request.directory), "-i", request.ident]
    if request.content.playbook is not None:
        words += ["-p", str(request.content.playbook)]
    else:
        role = request.content.role
        assert role is not None
        words += ["--role", role.name, "--roles-path", str(role.parent), "--hosts", "localhost"]
        if environment.get("ANSIBLE_GATHERING") == "explicit":
            words.append("--role-skip-facts")
    if request.verbosity:
        words.append("-" + "v" * request.verbosity)
    return words
