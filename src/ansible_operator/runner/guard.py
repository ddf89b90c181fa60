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
    wanted, own = mark.encode(), str(os.getpid())
    found = []
    for name in os.listdir(proc) if os.path.isdir(proc) else ():  # noqa: PTH112, PTH208 - after each run: no Paths
        if name.isdecimal() and name != own:
            with suppress(OSError), open(f"{proc}/{name}/environ", "rb", buffering=0) as file:  # noqa: PTH123
                environment = file.read()
                if wanted in environment and wanted in environment.split(b"\0"):
                    found.append(int(name))
    return found


def kill_marked(mark: str) -> bool:
    """Kill them. Whether there was any."""
    found = marked_processes(mark)
    for pid in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def main(mark: str, scratch: str) -> None:
    """Wait for the end of standard input, then kill until nothing is left, and remove the directory ``scratch``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # they are for the operator, which closes the pipe when it is done
    while os.read(0, 1):
        pass
    calm = 0
    while calm < _CALM:
        calm = 0 if kill_marked(mark) else calm + 1
        time.sleep(0.05)
    if os.path.lexists(scratch):
        import shutil  # here, as this process waits for days and had better be small

        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
