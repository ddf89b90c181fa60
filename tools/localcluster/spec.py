"""What the starting process tells the supervisor: which programs and which options. No secrets."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from localcluster.layout import write_private

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager")
# The scheduler only comes with nodes: without them it has nothing to decide.
WITH_NODES = ("kube-scheduler", "kwok")
LOOPBACK = "127.0.0.1"
REAL_NODE = "local-node"
"""Name of the node that may join where the API server listens on another address than loopback."""


@dataclass(frozen=True)
class Spec:
    """See `Cluster.start` for the options; `stages` is kwok's configuration file."""

    programs: dict[str, str]
    kwok: bool
    audit: bool
    keep: bool
    stages: str = ""
    start_seconds: float = 120.0
    address: str = LOOPBACK

    @property
    def real_node(self) -> bool:
        """Whether a kubelet is to join, for which kwok makes way."""
        return self.address != LOOPBACK

    @property
    def scheduler(self) -> bool:
        return self.kwok or self.real_node


def programs_needed(*, kwok: bool, real_node: bool = False) -> tuple[str, ...]:
    nodes = WITH_NODES if kwok else WITH_NODES[:1] if real_node else ()
    return (*CONTROL_PLANE, *nodes, "kubectl")


def write_spec(path: Path, spec: Spec) -> None:
    write_private(path, json.dumps(dataclasses.asdict(spec), indent=2) + "\n")


def read_spec(path: Path) -> Spec:
    return Spec(**json.loads(path.read_text()))
