"""The processes of a node: start one with its log, know it again, end all. Nothing is ever ended by name."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

from localcluster.layout import write_private
from localcluster.processes import MARK, Identity, end, identify, marked
from localnode import cgroups
from localnode.errors import NodeError
from localnode.layout import Layout

_GRACE_SECONDS = 3.0
_TAIL_LINES = 15


Child = subprocess.Popen[bytes]


@dataclass
class State:
    """Who started the node (None: it runs until somebody ends it), and its processes by name."""

    owner: Identity | None
    processes: dict[str, Identity] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        write_private(path, json.dumps(asdict(self), indent=2) + "\n")

    def abandoned(self) -> bool:
        """Whether whoever it was for is gone, or all of it."""
        gone = self.owner is not None and not self.owner.alive()
        return gone or not any(identity.alive() for identity in self.processes.values())


def read_state(path: Path) -> State | None:
    """None where there is none that can be read."""
    try:
        found = json.loads(path.read_text())
        owner = Identity(**found["owner"]) if found["owner"] else None
        return State(owner, {name: Identity(**one) for name, one in found["processes"].items()})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def start(layout: Layout, state: State, name: str, command: list[str]) -> Child:
    """Start it in a session of its own, marked, and note it down."""
    environment = {**os.environ, MARK: str(layout.directory)}
    environment.pop("KUBECONFIG", None)  # each is told its own
    with layout.log(name).open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=layout.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    identity = identify(process.pid)
    if identity is None:
        raise NodeError(failed(layout, name))
    state.processes[name] = identity
    state.write(layout.state)
    return process


def failed(layout: Layout, name: str) -> str:
    """For a message: that it ended, and what it said last."""
    log = layout.log(name)
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return f"{name} ended; the last lines of {log}:\n" + "\n".join(lines[-_TAIL_LINES:])


def end_all(layout: Layout) -> None:
    """The kubelet first, which would start again what is ended; then pods; then containerd and its shims.

    Raises NodeError where something cannot be ended.
    """
    state = read_state(layout.state)
    known = state.processes if state else {}
    left = end([identity for name, identity in known.items() if name != "containerd"], grace=_GRACE_SECONDS)
    pods = cgroups.remove()
    left += end({*known.values(), *marked(layout.directory)}, grace=_GRACE_SECONDS)
    pids = sorted({*pods, *(identity.pid for identity in left)})
    if pids:
        raise NodeError(f"processes of the node that cannot be ended: {', '.join(map(str, pids))}")
