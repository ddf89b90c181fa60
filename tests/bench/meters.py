"""What the benchmark reads of processes: CPU of a tree, memory of its members."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_WORKER = b"ansible_operator.runner.worker"
_SAMPLE_SECONDS = 0.02


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(below for child in children for below in tree(int(child)))]


def own_cpu(pid: int) -> float:
    """CPU seconds of one process."""
    return _cpu(pid, ended=False)


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process and everything it has started, what has ended included."""
    return sum(_cpu(process, ended=True) for process in tree(pid))


def _cpu(pid: int, *, ended: bool) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(fields[index]) for index in ((11, 12, 13, 14) if ended else (11, 12))) / _TICKS


def resident(pid: int) -> float:
    """Resident memory, MiB."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 2**20
    except (OSError, IndexError):
        return 0.0


def warm_parents(pid: int) -> list[int]:
    """The parents of warm runs below an operator."""
    return [child for child in tree(pid)[1:] if _is_worker(child) and not _is_worker(_parent(child))]


def _is_worker(pid: int) -> bool:
    try:
        return _WORKER in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def private_memory(pid: int) -> float:
    """Memory that a process shares with nobody, MiB."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


class PeakMemory:
    """While it is entered, the largest private memory of any run of an operator, MiB."""

    def __init__(self, operator: int) -> None:
        self._operator = operator
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.mib = 0.0

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_SAMPLE_SECONDS):
            for parent in warm_parents(self._operator):
                for run in tree(parent)[1:]:
                    self.mib = max(self.mib, private_memory(run))
