"""Where a node keeps its files. There is one node on a machine: its network has a fixed name and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DIRECTORY = Path("/var/lib/localnode")

# Written to by fixed names, whatever the programs are told: hidden in the node's mount namespace, so that a containerd
# or kubelet of this machine meets none of it.
HIDDEN = tuple(map(Path, ("/run/containerd", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers")))


@dataclass(frozen=True)
class Layout:
    """The files of a node, all below one directory; the path of a socket may have 107 characters."""

    directory: Path = DIRECTORY

    @property
    def lock(self) -> Path:
        """Outside of what `down` removes."""
        return self.directory.with_name(f"{self.directory.name}.lock")

    @property
    def cluster(self) -> Path:
        return self.directory / "cluster"

    @property
    def state(self) -> Path:
        return self.directory / "state.json"

    @property
    def kernel(self) -> Path:
        """The settings of the kernel as they were before the node."""
        return self.directory / "kernel.json"

    @property
    def config(self) -> Path:
        return self.directory / "config"

    @property
    def containerd(self) -> Path:
        return self.directory / "containerd"

    @property
    def socket(self) -> Path:
        return self.containerd / "containerd.sock"

    @property
    def kubelet(self) -> Path:
        return self.directory / "kubelet"

    @property
    def images(self) -> Path:
        return self.directory / "images"

    def log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def create(self) -> None:
        for path in (self.directory, self.config, self.config / "cni", self.containerd, self.kubelet, self.images):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
