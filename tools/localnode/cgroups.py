"""The node's own cgroup, below which the kubelet puts all pods: so it is known which processes are theirs."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from localnode.errors import NodeError

NAME = "localnode"
_ROOT = Path("/sys/fs/cgroup")
_SECONDS = 20.0


def create() -> None:
    """In each hierarchy. With version 2, pods get every controller that there is.

    Raises NodeError where a node of another container is in it.
    """
    _processes()
    for root in _roots():
        (root / NAME).mkdir(exist_ok=True)
        if (root / "cgroup.controllers").exists() and root == _ROOT:
            _delegate(root)
            _delegate(root / NAME)
        if (root / "cpuset.cpus").exists():  # empty in a new cgroup of version 1, and no process may enter it then
            for file in ("cpuset.cpus", "cpuset.mems"):
                (root / NAME / file).write_text((root / file).read_text())


def remove() -> list[int]:
    """Kill what is left in it and remove it. Returns the processes that did not end.

    Raises NodeError, and kills nothing, where processes of another container are in it.
    """
    deadline = time.monotonic() + _SECONDS
    while (left := _processes()) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for directory in _directories():
        with contextlib.suppress(OSError):  # a process that cannot be killed keeps it
            directory.rmdir()
    return sorted(left)


def _delegate(directory: Path) -> None:
    for controller in (directory / "cgroup.controllers").read_text().split():
        with contextlib.suppress(OSError):  # some cannot be given where processes live
            (directory / "cgroup.subtree_control").write_text(f"+{controller}")


def _roots() -> list[Path]:
    """Of version 2 the one, of version 1 all controllers (some are links to another)."""
    if (_ROOT / "cgroup.controllers").exists():
        return [_ROOT]
    return [path for path in _ROOT.iterdir() if path.is_dir() and not path.is_symlink()]


def _directories() -> Iterator[Path]:
    """Innermost first."""
    for root in _roots():
        for directory, _, _ in os.walk(root / NAME, topdown=False):
            yield Path(directory)


def _processes() -> set[int]:
    """The kernel lists a process outside of this PID namespace as 0, which kill(2) takes for the caller's own group."""
    found: set[int] = set()
    for directory in _directories():
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in (directory / "cgroup.procs").read_text().split()}
    if any(pid < 2 for pid in found):
        raise NodeError(f"cgroup {NAME} has processes of another container: end its node there (`make node-down`)")
    return found
