"""What the processes of an operator hold at one moment, and whether that has grown."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
_RUN = "ANSIBLE_OPERATOR_RUN"
_PLACEHOLDER = "-"
_MEMORY_GROWTH = 1.10
_KEPT_CONNECTIONS = 4
_POOL_THREADS = 4


@dataclass(frozen=True)
class Life:
    """One long-lived process: memory in MiB, resident and its own alone; open descriptors; threads."""

    rss_mib: float
    private_mib: float
    descriptors: int
    threads: int


@dataclass(frozen=True)
class Reading:
    """The operator at one moment, between runs.

    ``lives`` by role: ``main``, ``guard``, ``parent`` (of several parents the one with the most memory); ``processes``
    counts all of them; ``files`` everything in the work directory, ``temporary`` everything in the temporary one.
    """

    runs: int
    seconds: float
    lives: dict[str, Life]
    processes: int
    files: int
    temporary: int
    results: dict[str, int] = field(default_factory=dict)

    def rows(self) -> dict[str, float]:
        """The figures by name."""
        figures: dict[str, float] = {"runs": self.runs, "seconds": self.seconds}
        for role, life in sorted(self.lives.items()):
            figures |= {f"{role} {name}": value for name, value in vars(life).items()}
        figures |= {"processes": self.processes, "files": self.files, "temporary files": self.temporary}
        return figures | {f"runs {result}": count for result, count in self.results.items()}


def operator_processes(mark: str) -> dict[int, dict[str, str]]:
    """The environment of each process that has ``mark`` (``NAME=value``) in it, by process id."""
    found = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                environment = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
                if mark in environment:
                    found[int(entry.name)] = dict(part.split("=", 1) for part in environment if "=" in part)
    return found


def of_runs(processes: dict[int, dict[str, str]]) -> list[int]:
    """Those of runs, which come and go."""
    return [pid for pid, environment in processes.items() if environment.get(_RUN, _PLACEHOLDER)[0] != _PLACEHOLDER]


def lives(main: int, processes: dict[int, dict[str, str]]) -> dict[str, Life]:
    """A reading of each long-lived process."""
    found: dict[str, Life] = {}
    runs = of_runs(processes)
    for pid in processes:
        if pid in runs:
            continue
        with suppress(OSError):
            role, life = _role(pid, main), _life(pid)
            if role not in found or found[role].rss_mib < life.rss_mib:
                found[role] = life
    return found


def ticks_of_parents(main: int, processes: dict[int, dict[str, str]]) -> int:
    """The CPU time (clock ticks) that warm parents have taken; it stands still where none starts or forks."""
    total = 0
    for pid in processes:
        with suppress(OSError):
            if _role(pid, main) == "parent":
                fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
    return total


def _role(pid: int, main: int) -> str:
    if pid == main:
        return "main"
    command = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace")
    return "parent" if "ansible_operator.runner.worker" in command else "guard" if "guard.py" in command else "other"


def _life(pid: int) -> Life:
    proc = PROC / str(pid)
    memory = {
        name: int(value.split()[0]) / 1024
        for name, _, value in (line.partition(":") for line in (proc / "smaps_rollup").read_text().splitlines()[1:])
    }
    return Life(
        rss_mib=round(memory["Rss"], 1),
        private_mib=round(memory["Private_Clean"] + memory["Private_Dirty"], 1),
        descriptors=len(list((proc / "fd").iterdir())),
        threads=len(list((proc / "task").iterdir())),
    )


def count_files(directory: Path) -> int:
    """Everything below a directory."""
    return sum(len(names) + len(folders) for _, folders, names in os.walk(directory))


def growth(first: Reading, last: Reading) -> list[str]:
    """What has grown beyond what a long life allows: memory by more than a tenth, anything else at all.

    Descriptors have some slack, as connections to the API server that are kept for a while come and go, and so have the
    threads of the main process: asyncio makes those of its pool one by one, whenever more than ever wait for a disk.
    """
    before, after = first.rows(), last.rows()
    return [
        f"{name}: {value:g} -> {after.get(name, 0.0):g}"
        for name, value in before.items()
        if _is_judged(name) and after.get(name, 0.0) > _bound(name, value)
    ]


def _is_judged(name: str) -> bool:
    return not name.startswith(("runs", "seconds")) and not name.endswith("private_mib")


def _bound(name: str, value: float) -> float:
    if name.endswith("rss_mib"):
        return value * _MEMORY_GROWTH
    if name == "main threads":
        return value + _POOL_THREADS
    return value + (_KEPT_CONNECTIONS if name.endswith("descriptors") else 0)
