"""What is known about a cluster between processes: the state file.

The supervisor is its only writer while it lives. A reader may find none, or (after a crash of the machine) half of one:
both read as None, and the lock and the marks in `processes` say the rest. Decides nothing.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from localcluster.layout import write_private
from localcluster.processes import Identity


class Phase(StrEnum):
    """starting, then ready or failed; stopping comes last."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"  # it did not come up, or a component ended by itself
    STOPPING = "stopping"


@dataclass
class ComponentState:
    """One process of the cluster; `started` belongs to its identity, see `processes`."""

    name: str
    program: str
    pid: int
    started: str
    ports: list[int]
    log: str
    exit_code: int | None = None

    @property
    def identity(self) -> Identity:
        return Identity(self.pid, self.started)


@dataclass
class State:
    """The whole cluster, as its supervisor saw it last."""

    phase: Phase
    supervisor_pid: int
    supervisor_started: str
    owner_pid: int | None  # None: it runs in the background until somebody stops it
    keep: bool
    server: str = ""
    kubectl: str = ""
    message: str = ""
    components: list[ComponentState] = field(default_factory=list)

    @property
    def supervisor(self) -> Identity:
        return Identity(self.supervisor_pid, self.supervisor_started)

    def identities(self) -> list[Identity]:
        return [self.supervisor, *(component.identity for component in self.components)]


def write_state(path: Path, state: State) -> None:
    write_private(path, json.dumps(dataclasses.asdict(state), indent=2) + "\n")


def read_state(path: Path) -> State | None:
    try:
        return _parse(json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        return None


def _parse(data: dict[str, Any]) -> State:
    components = [ComponentState(**component) for component in data["components"]]
    return State(**{**data, "phase": Phase(data["phase"]), "components": components})
