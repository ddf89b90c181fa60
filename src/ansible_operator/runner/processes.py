"""The processes of a run: started in a session of their own, and ended with everything they have started."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ansible_operator.runner import guard
from ansible_operator.runner.private_dir import RUN_MARKER

OPERATOR_MARKER = "ANSIBLE_OPERATOR_PROCESS"
"""Environment variable that the processes of all runs of one operator carry, and by which the guard finds them."""

_GRACE = 5.0


class Guard:
    """Keeps a guard process (see ``guard``).

    ``environment`` is what puts a process under its eyes; ``scratch`` is a directory, not made here, that it removes
    in the end with all that is in it.
    """

    def __init__(self) -> None:
        self._name = secrets.token_hex(8)
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()
        self.environment = {OPERATOR_MARKER: self._name}
        self.scratch = Path(tempfile.gettempdir()) / f"ansible-operator-warm-{self._name}"

    async def ensure(self) -> None:
        """Start it, if it is not there. Raises OSError."""
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", guard.__file__, f"{OPERATOR_MARKER}={self._name}", str(self.scratch)),
                    stdin=asyncio.subprocess.PIPE,
                    start_new_session=True,  # a Ctrl-C in a terminal is not for it
                )

    async def stop(self) -> None:
        """Let it kill what is left, and end."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            await self._process.wait()


def processes_of(ident: str, proc: Path = Path("/proc")) -> list[int]:
    """Every process that carries the marker of a run, in whatever session it is."""
    return guard.marked_processes(f"{RUN_MARKER}={ident}", proc)


class RunProcess(Protocol):
    """What the runner asks of the process of a run."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    def terminate(self) -> None: ...
    async def wait(self) -> int: ...


async def end_run(process: RunProcess, ident: str) -> None:
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
    while True:
        if not await asyncio.to_thread(guard.kill_marked, f"{RUN_MARKER}={ident}"):
            return
        await asyncio.sleep(0.05)
