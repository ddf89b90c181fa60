"""The processes of a run: started in a session of their own, and ended with everything they have started."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ansible_operator.runner.private_dir import RUN_MARKER

_PR_SET_PDEATHSIG = 1
_GRACE = 5.0


def die_with_parent() -> Callable[[], None] | None:
    """What a child calls before it becomes the run: the kernel then sends it SIGTERM when the operator dies, however.

    ansible-runner answers SIGTERM by ending its playbook. The library is loaded here, since nothing may be imported
    between fork and exec. None where the kernel has no such call.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def processes_of(ident: str, proc: Path = Path("/proc")) -> list[int]:
    """Every process that carries the marker of a run, in whatever session it is."""
    marker = f"{RUN_MARKER}={ident}".encode()
    found = []
    for entry in proc.iterdir() if proc.is_dir() else ():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if marker in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


async def end_run(process: asyncio.subprocess.Process, ident: str) -> None:
    """Ask the run to end, then kill whatever is left of it."""
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _GRACE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await kill_processes(ident)
    await process.wait()


async def kill_processes(ident: str) -> None:
    """Kill every process of a run, until there is none; what they fork meanwhile carries the marker as well."""
    while strays := await asyncio.to_thread(processes_of, ident):
        for pid in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.05)
