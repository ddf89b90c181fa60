"""Processes as /proc shows them: found by a variable in their environment, which every child inherits."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_LISTEN = "0A"


@dataclass(frozen=True)
class Process:
    """A live process; a zombie has no environment and is none."""

    pid: int
    command: str
    environment: frozenset[str]

    def __str__(self) -> str:
        return f"{self.pid} {self.command}"


def processes_with(variable: str) -> list[Process]:
    """All processes with ``NAME=value``, or with any value where only ``NAME=`` is given."""
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                environment = frozenset((entry / "environ").read_bytes().decode(errors="replace").split("\0"))
                if _has(environment, variable):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                    found.append(Process(int(entry.name), command, environment))
    return found


def _has(environment: frozenset[str], variable: str) -> bool:
    if variable.endswith("="):
        return any(entry.startswith(variable) for entry in environment)
    return variable in environment


def listening_ports(pid: int) -> set[int]:
    """The TCP ports that a process listens on."""
    inodes = set()
    for descriptor in (_PROC / str(pid) / "fd").iterdir():
        with suppress(OSError):
            target = str(descriptor.readlink())
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in (_PROC / "net" / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN and fields[9] in inodes:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports
