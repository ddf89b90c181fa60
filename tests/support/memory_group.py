"""A memory cgroup of a test's own, with a limit, so that the kernel kills what takes too much."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ansible_operator.runner.memory import oom_file
from tests.support.waiting import until

_LIMITS = ("memory.limit_in_bytes", "memory.max")
_NO_SWAP = {"memory.memsw.limit_in_bytes": "{}", "memory.swap.max": "0"}


class MemoryGroup:
    """A cgroup below this process's own; ``events`` is the file with the kernel's count of kills."""

    def __init__(self, directory: Path, events: str) -> None:
        self._directory = directory
        self.events = directory / events

    def limit(self, mebibytes: int) -> None:
        """Whoever makes the group take more is killed."""
        name = next(name for name in _LIMITS if (self._directory / name).exists())
        (self._directory / name).write_text(str(mebibytes << 20))
        for name, value in _NO_SWAP.items():  # else what is too much is swapped out, and nobody is killed
            with suppress(OSError):  # where the kernel does not count it
                (self._directory / name).write_text(value.format(mebibytes << 20))

    def add(self, pid: int) -> None:
        """Its children will be in it as well."""
        (self._directory / "cgroup.procs").write_text(str(pid))

    @contextmanager
    def joined(self) -> Iterator[None]:
        """What this process starts meanwhile is in the group."""
        self.add(os.getpid())
        try:
            yield
        finally:
            (self._directory.parent / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        """With all its processes."""
        until(self._is_empty, f"{self._directory} is empty")
        self._directory.rmdir()

    def _is_empty(self) -> bool:
        left = (self._directory / "cgroup.procs").read_text().split()
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        return not left


@contextmanager
def memory_group() -> Iterator[MemoryGroup]:
    """Make one. Skips the test where this user or this machine cannot: that takes root and a writable cgroup."""
    own = oom_file()
    if own is None:
        pytest.skip("memory is in no cgroup here, or in the root's")
    directory = own.parent / f"test-{uuid.uuid4().hex[:8]}"
    try:
        directory.mkdir()
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error}")
    group = MemoryGroup(directory, own.name)
    if not group.events.exists():
        directory.rmdir()
        pytest.skip(f"{directory.parent} gives its children no memory controller")
    try:
        yield group
    finally:
        group.remove()
