"""A run in a child of a warm parent, as the runner sees it."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress


class Refused(Exception):
    """The parent did not start the run."""


class Silent(Refused):
    """It did not even answer."""


class WarmProcess:
    """A run in a forked child. Has what the runner asks of a process (see ``RunProcess``)."""

    def __init__(self, ident: str, pid: int, stdout: asyncio.StreamReader) -> None:
        self.ident = ident
        self.pid = pid
        self.stdout = stdout
        self.lost = False
        self._over: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._over.result() if self._over.done() else None

    async def wait(self) -> int:
        """Wait for its end."""
        return await asyncio.shield(self._over)

    def terminate(self) -> None:
        """Ask it to end."""
        if not self._over.done():
            os.kill(self.pid, signal.SIGTERM)

    def end(self, code: int) -> None:
        """It has ended."""
        if not self._over.done():
            self._over.set_result(code)

    def lose(self) -> None:
        """Its parent is gone, and with that, by the kernel, it is as well."""
        self.lost = True
        self.end(-signal.SIGKILL)


def kill_unwanted(pid: int) -> None:
    """End a run that was started when nobody waited for it any more."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
