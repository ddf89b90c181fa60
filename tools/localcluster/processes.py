"""Processes by identity: a pid together with when it started, so that a recycled pid is never taken for the old one.

Also how a child is tied to its parent's life, and how processes of a cluster are found when no record of them is left.
Knows nothing about clusters beyond the name of the environment variable that marks their processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

_KILLED_SECONDS = 30.0  # a kill takes its time on a busy machine

MARK = "LOCALCLUSTER_DIRECTORY"  # in the environment of every process of a cluster: its directory

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Identity:
    """One process, never another one that got its pid later."""

    pid: int
    started: str

    def alive(self) -> bool:
        return start_mark(self.pid) == self.started

    def signal(self, number: signal.Signals) -> None:
        """Nothing happens when that process is gone, or when its pid belongs to another one by now."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def identify(pid: int) -> Identity | None:
    started = start_mark(pid)
    return Identity(pid, started) if started else None


def start_mark(pid: int) -> str | None:
    """When the process started, in a form only good for comparison; None for no process or a zombie.

    A process whose first thread has ended while others still run is no zombie yet: it may hold its ports and its parent
    cannot reap it.
    """
    if pid <= 0:
        return None
    return _start_mark_linux(pid) if sys.platform == "linux" else _start_mark_ps(pid)


def _start_mark_linux(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (OSError, UnicodeDecodeError):
        return None
    fields = stat[stat.rindex(")") + 2 :].split()  # the name before it may hold spaces and parentheses
    if fields[0] == "X" or (fields[0] == "Z" and int(fields[17]) <= 1):  # 17: the number of threads, proc(5)
        return None
    return f"{_boot_id()}/{fields[19]}"  # clock ticks since boot: unique only together with the boot


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
    except OSError:
        return "unknown"


def _start_mark_ps(pid: int) -> str | None:
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    state, _, started = result.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else started.strip()


def die_with_parent() -> Callable[[], None]:
    """For Popen's preexec_fn: the kernel kills the child when the thread that started it ends (Linux only).

    Good for a single-threaded parent, which the supervisor is. In a process with threads it would be wrong twice: the
    signal comes when the *thread* ends, and code between fork and exec may deadlock.
    """
    parent = os.getpid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def prepare() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:  # it died before the call took effect
                os._exit(1)

    return prepare


def marked(directory: Path) -> list[Identity]:
    """The live processes that carry the mark of this cluster: the last resort when its state file is lost.

    Linux only; elsewhere the state file is all there is.
    """
    wanted = f"{MARK}={directory}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*") if sys.platform == "linux" else ():
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # gone meanwhile, or another user's
        pid = int(entry.name)
        if wanted in environment and pid != os.getpid() and (identity := identify(pid)):
            found.append(identity)
    return found


def end(identities: Iterable[Identity], *, grace: float) -> list[Identity]:
    """Terminate, wait up to `grace` seconds, then kill. Returns what is still alive after that (nothing, normally)."""
    alive = [identity for identity in identities if identity.alive()]
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, _KILLED_SECONDS)):
        for identity in alive:
            identity.signal(number)
        alive = wait_gone(alive, seconds)
    return alive


def wait_gone(identities: Iterable[Identity], seconds: float) -> list[Identity]:
    deadline = time.monotonic() + seconds
    alive = [identity for identity in identities if identity.alive()]
    while alive and time.monotonic() < deadline:
        time.sleep(0.02)
        alive = [identity for identity in alive if identity.alive()]
    return alive
