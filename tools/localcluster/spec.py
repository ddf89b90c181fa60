"""What the starting process tells the supervisor: which programs and which options. No secrets."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from localcluster.layout import write_private

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager")
# The scheduler only comes with kwok: without nodes it has nothing to decide.
WITH_NODES = ("kube-scheduler", "kwok")


@dataclass(frozen=True)
class Spec:
    """See `Cluster.start` for the options; `stages` is kwok's configuration file."""

    programs: dict[str, str]
    kwok: bool
    audit: bool
    keep: bool
    stages: str = ""
    start_seconds: float = 120.0


def programs_needed(*, kwok: bool) -> tuple[str, ...]:
    return (*CONTROL_PLANE, *(WITH_NODES if kwok else ()), "kubectl")


def write_spec(path: Path, spec: Spec) -> None:
    write_private(path, json.dumps(dataclasses.asdict(spec), indent=2) + "\n")


def read_spec(path: Path) -> Spec:
    return Spec(**json.loads(path.read_text()))
