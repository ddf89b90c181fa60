"""Where everything lies: the cache of built programs, and the files of one cluster directory.

Names and permissions of files only; what is in them belongs to the modules that write them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from localcluster.pins import TOOLS_DIR

REPOSITORY = TOOLS_DIR.parent
DEFAULT_DIRECTORY = REPOSITORY / ".cluster"


def cache_directory() -> Path:
    """Outside the work tree, so that a clean checkout does not build for eight minutes again."""
    if chosen := os.environ.get("AITASK_TOOLS_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "aitask-operator"


@dataclass(frozen=True)
class Layout:
    """The files of one cluster. Everything the tool makes is one of these names, so it can remove exactly that."""

    directory: Path

    @property
    def lock(self) -> Path:
        return self.directory / "lock"

    @property
    def state(self) -> Path:
        return self.directory / "state.json"

    @property
    def spec(self) -> Path:
        return self.directory / "spec.json"

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def admin_token(self) -> Path:
        return self.directory / "admin.token"

    @property
    def audit_log(self) -> Path:
        return self.directory / "audit.log"

    @property
    def config(self) -> Path:
        return self.directory / "config"

    @property
    def pki(self) -> Path:
        return self.directory / "pki"

    @property
    def ca_file(self) -> Path:
        return self.pki / "ca.crt"

    @property
    def etcd_data(self) -> Path:
        return self.directory / "etcd"

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    def log(self, component: str) -> Path:
        return self.logs / f"{component}.log"

    def component_kubeconfig(self, component: str) -> Path:
        return self.config / f"{component}.kubeconfig"

    def create(self) -> None:
        for path in (self.directory, self.config, self.pki, self.etcd_data, self.logs):
            path.mkdir(parents=True, exist_ok=True)
        for path in (self.config, self.pki, self.etcd_data, self.logs):
            path.chmod(0o700)

    def remove_data(self) -> None:
        """What takes space and has no use once the processes are gone; logs and audit log stay readable."""
        shutil.rmtree(self.etcd_data, ignore_errors=True)

    def remove_all(self) -> None:
        """Only what the tool made: a directory that also holds somebody's files keeps them."""
        self.remove_data()
        for path in (self.pki, self.config, self.logs):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.kubeconfig, self.admin_token, self.audit_log, self.spec, self.state):
            path.unlink(missing_ok=True)
            for unfinished in path.parent.glob(f".{path.name}.*"):  # of a writer that was killed
                unfinished.unlink(missing_ok=True)

    def remove_lock(self) -> None:
        """Last of all, while the lock is still held."""
        self.lock.unlink(missing_ok=True)
        if self.directory.is_dir() and not any(self.directory.iterdir()):
            self.directory.rmdir()


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, at once: a reader sees the old text or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
