"""Whether the kernel has killed a process for memory: a count that the container's cgroup keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath

_CLAIM_SECONDS = 10.0


class OutOfMemory:
    """Tells deaths by the kernel's hand from others.

    The kernel counts a kill before it sends the signal, so a death is seen after its count has gone up. Each kill
    explains one death, and only one that is seen soon after: what was killed may also have been a process of a task.
    """

    def __init__(self, count: Callable[[], int] | None = None) -> None:
        self._count = count or _counter()
        self._seen = self._count()
        self._unclaimed: list[float] = []

    def look(self) -> None:
        """Take note of kills so far. Called whenever a run begins or ends, so that each is known about when it was."""
        now, total = time.monotonic(), self._count()
        self._unclaimed = [seen for seen in self._unclaimed if now - seen < _CLAIM_SECONDS]
        self._unclaimed += [now] * (total - self._seen)
        self._seen = total

    def explains(self) -> bool:
        """Whether a process that has just died by SIGKILL was killed for memory."""
        self.look()
        if not self._unclaimed:
            return False
        self._unclaimed.pop(0)
        return True


def _counter() -> Callable[[], int]:
    file = oom_file()
    return (lambda: oom_kills(file)) if file is not None else lambda: 0


def oom_kills(file: Path) -> int:
    """The number of kills in ``memory.events`` (cgroup v2) or ``memory.oom_control`` (v1); 0 where it has none."""
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return 0


def oom_file(proc: Path = Path("/proc/self"), root: Path = Path("/")) -> Path | None:
    """Where the kernel counts them for this process; None where memory is in no cgroup that can be seen."""
    try:
        groups = [line.split(":", 2) for line in (proc / "cgroup").read_text().splitlines()]
        mounts = [line.split(" ") for line in (proc / "mountinfo").read_text().splitlines()]
    except OSError:
        return None
    candidates = [
        Path(_place(mount, group)) / ("memory.oom_control" if old else "memory.events")
        for old in (True, False)  # where version 1 has the memory, version 2 does not
        for _, controllers, group in groups
        if (("memory" in controllers.split(",")) if old else not controllers)
        for mount in mounts
        if _serves_memory(mount, old)
    ]
    found = (root / file.relative_to("/") for file in candidates)
    return next((file for file in found if file.exists()), None)


def _serves_memory(mount: list[str], old: bool) -> bool:
    kind, options = mount[mount.index("-") + 1], mount[-1].split(",")
    return (kind == "cgroup" and "memory" in options) if old else kind == "cgroup2"


def _place(mount: list[str], group: str) -> str:
    """The directory of a cgroup below a mount; in a container the mount may show the container's own group only."""
    shown, point = PurePosixPath(mount[3]), mount[4]
    with suppress(ValueError):
        return str(point / PurePosixPath(group).relative_to(shown))
    return point
