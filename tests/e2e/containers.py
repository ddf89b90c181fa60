"""Containers for tests: podman with runc, which are Debian packages, and a store of the tests alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PACKAGES = "mmdebstrap buildah podman runc"

# No more than a small machine allows, and nothing that asks for systemd.
_CONFIGURATION = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=30000:30000"]
"""
_STORAGE = '[storage]\ndriver = "overlay"\ngraphroot = "{0}/store"\nrunroot = "{0}/run"\n'
RESTRICTED = (
    *("--read-only", "--read-only-tmpfs=false", "--tmpfs=/tmp:rw,mode=1777"),
    *("--cap-drop=all", "--security-opt=no-new-privileges", "--network=host", "--passwd=false"),
)
"""As Kubernetes runs a pod of the restricted profile: no entry of the user in /etc/passwd either."""


def missing() -> str | None:
    """Why containers cannot run here, None where they can."""
    if os.geteuid() != 0:
        return "needs root"
    absent = [name for name in PACKAGES.split() if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)} not found; apt-get install --no-install-recommends {PACKAGES}"
    return None


class Store:
    """Images and containers of the tests, below one directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "containers.conf").write_text(_CONFIGURATION)
        (directory / "storage.conf").write_text(_STORAGE.format(directory))
        self.environment = {
            **os.environ,
            "CONTAINERS_CONF": str(directory / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(directory / "storage.conf"),
        }

    def call(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Any program of containers, on this store."""
        done = subprocess.run(
            command,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done

    def shell(self, image: str, script: str, user: str = "12345:0") -> str:
        """What a script prints in a restricted container."""
        inside = ("--rm", f"--user={user}", *RESTRICTED, "--entrypoint=/tini", image, "--", "sh", "-ec", script)
        return self.call("podman", "run", *inside).stdout

    def inspect(self, image: str) -> dict[str, Any]:
        """The configuration of an image, as Docker names its fields."""
        found: dict[str, Any] = json.loads(self.call("podman", "image", "inspect", image).stdout)[0]["Config"]
        return found


@dataclass
class Container:
    """The operator in a restricted container on the host's network, begun by its own entry point."""

    store: Store
    image: str
    flags: tuple[str, ...]
    kubeconfig: Path
    user: str = "12345:0"
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = f"e2e-{uuid.uuid4().hex[:12]}"
        variables = [f"--env={name}={value}" for name, value in self.environment.items()]
        mounts = [f"--volume={self.kubeconfig}:/kube/config:ro", "--env=KUBECONFIG=/kube/config"]
        own = (f"--name={self.name}", f"--user={self.user}", *RESTRICTED, *mounts, *variables)
        self.store.call("podman", "run", "--detach", *own, self.image, *self.flags)

    def execute(self, *command: str) -> str:
        """What a program prints in it."""
        return self.store.call("podman", "exec", self.name, *command).stdout

    def check_running(self) -> None:
        """Fail where it has ended, with what it logged."""
        state = self.store.call("podman", "inspect", "--format={{.State.Running}}", self.name).stdout.strip()
        assert state == "true", self.logs()

    def logs(self) -> str:
        """All that it has printed."""
        done = self.store.call("podman", "logs", self.name, check=False)
        return done.stdout + done.stderr

    def stop(self) -> int:
        """The exit status after SIGTERM; 137 where it had to be killed after a minute."""
        self.store.call("podman", "stop", "--time=60", self.name)
        return int(self.store.call("podman", "inspect", "--format={{.State.ExitCode}}", self.name).stdout)

    def remove(self) -> None:
        """Also where it still runs."""
        self.store.call("podman", "rm", "--force", "--time=1", self.name, check=False)
