"""The component processes of one supervisor: start, watch, start again on another port, end.

Knows no order and no meaning of the components: that is `bringup`. Must run in a process without threads, because of
how the children are tied to it (`processes.die_with_parent`).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localcluster.components import Component
from localcluster.errors import StartError
from localcluster.layout import Layout
from localcluster.ports import BIND_FAILURE, free_port
from localcluster.processes import MARK, Identity, die_with_parent, end, identify
from localcluster.state import ComponentState

_ATTEMPTS = 5
_TAIL_LINES = 15
# Enough for what ends politely. The API server takes its time over that, and the data is thrown away in any case.
_GRACE_SECONDS = 0.3
_REAP_SECONDS = 30.0  # a kill takes its time on a busy machine


@dataclass
class Child:
    """One try to run a component: a new one, with new ports, replaces it when its port was taken."""

    component: Component
    process: subprocess.Popen[bytes]
    identity: Identity
    ports: list[int]
    attempt: int

    def health(self) -> str:
        return self.component.health(self.ports)


class Children:
    """All of them, by name, in the order they were started."""

    def __init__(self, layout: Layout, programs: dict[str, str], on_change: Callable[[], None]) -> None:
        self._layout = layout
        self._programs = programs
        self._on_change = on_change
        self._children: dict[str, Child] = {}
        self._tie = die_with_parent()

    def __getitem__(self, name: str) -> Child:
        return self._children[name]

    def launch(self, component: Component, attempt: int = 1) -> None:
        taken = {port for child in self._children.values() for port in child.ports}
        ports: list[int] = []
        for _ in range(component.port_count):
            ports.append(free_port(taken | set(ports)))
        process = self._spawn(component, ports)
        # A process that ended at once has no start time any more; poll() still knows how it ended.
        identity = identify(process.pid) or Identity(process.pid, "gone")
        self._children[component.name] = Child(component, process, identity, ports, attempt)
        self._on_change()

    def _spawn(self, component: Component, ports: list[int]) -> subprocess.Popen[bytes]:
        program = self._programs[component.name]
        environment = {**os.environ, MARK: str(self._layout.directory), "KWOK_WORKDIR": str(self._layout.config)}
        environment.pop("KUBECONFIG", None)  # each is told its own; the user's must never be a fallback
        with self._layout.log(component.name).open("wb") as log:  # anew: the bind failure of an earlier try is over
            try:
                return subprocess.Popen(
                    [program, *component.arguments(ports)],
                    cwd=self._layout.directory,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    preexec_fn=self._tie,  # noqa: PLW1509  (there is one thread, see the top)
                )
            except OSError as error:
                raise StartError(f"{component.name}: cannot run {program}: {error.strerror}") from error

    def relaunch_or_raise(self) -> None:
        """Give a child that lost the race for its port another one. Any other end while starting is a StartError."""
        for name, child in list(self._children.items()):
            code = child.process.poll()
            if code is None:
                continue
            tail = log_tail(self._layout.log(name))
            if BIND_FAILURE in tail and child.attempt < _ATTEMPTS:
                self.launch(child.component, child.attempt + 1)
            else:
                raise StartError(self.describe(name, f"ended with exit code {code}"))

    def exited(self) -> list[str]:
        return [name for name, child in self._children.items() if child.process.poll() is not None]

    def describe(self, name: str, what: str) -> str:
        log = self._layout.log(name)
        return f"{name} {what}; the last lines of {log}:\n{log_tail(log)}"

    def states(self) -> list[ComponentState]:
        return [
            ComponentState(
                name=name,
                program=self._programs[name],
                pid=child.identity.pid,
                started=child.identity.started,
                ports=child.ports,
                log=str(self._layout.log(name)),
                exit_code=child.process.poll(),
            )
            for name, child in self._children.items()
        ]

    def end_all(self) -> None:
        # What asks the API server goes first; etcd and the API server would otherwise wait for each other.
        end((child.identity for child in reversed(self._children.values())), grace=_GRACE_SECONDS)
        for child in self._children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):  # it outlived SIGKILL: nothing more can be done here
                child.process.wait(_REAP_SECONDS)


def log_tail(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return "(no log)"
    return "\n".join(lines[-_TAIL_LINES:]) or "(it wrote nothing)"
