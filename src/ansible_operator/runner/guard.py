"""The guard: a process that outlives the operator by a moment, and kills what a killed operator leaves behind.

Its standard input is a pipe that the operator alone holds open, so the end of the pipe tells of the operator's end,
however that came. The kernel's own way (PR_SET_PDEATHSIG) reaches only direct children, and Ansible starts others, in
sessions of their own. Runs as a script, without anything outside the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

_CALM = 3
"""Scans in a row that must find nothing: what is being forked during one shows in the next."""


def marked_processes(mark: str, proc: Path = Path("/proc")) -> list[int]:
    """Every process with ``mark``, a ``NAME=value``, in its environment, in whatever session it is; this one aside."""
    wanted = mark.encode()
    found = []
    for entry in proc.iterdir() if proc.is_dir() else ():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def kill_marked(mark: str) -> bool:
    """Kill them. Whether there was any."""
    found = marked_processes(mark)
    for pid in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def main(mark: str) -> None:
    """Wait for the end of standard input, then kill until nothing is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # they are for the operator, which closes the pipe when it is done
    while os.read(0, 1):
        pass
    calm = 0
    while calm < _CALM:
        calm = 0 if kill_marked(mark) else calm + 1
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1])
