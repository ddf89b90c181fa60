"""How the runner finds a forked child: by the run's marker in the environment that ``/proc`` shows.

``/proc/PID/environ`` shows the memory in which the kernel put the environment at exec, so a fork shows its parent's.
The parent is started with a placeholder that leaves room, and a child writes its run's name there.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

from ansible_operator.runner.private_dir import RUN_MARKER

PLACEHOLDER = "-" * 64


class Marker:
    """The place of the marker in this process's memory. Must be made before the environment is changed."""

    def __init__(self) -> None:
        entries = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
        wanted = f"{RUN_MARKER}={PLACEHOLDER}".encode()
        index = 0
        while entries[index]:
            if ctypes.string_at(entries[index]) == wanted:
                self._address = entries[index] + len(RUN_MARKER) + 1
                break
            index += 1
        else:
            raise LookupError(f"{RUN_MARKER} is not in the environment")
        self._check()

    def write(self, ident: str) -> None:
        """Carry the marker of a run from now on."""
        value = ident.encode()
        if len(value) > len(PLACEHOLDER):
            raise ValueError(f"the name of the run is too long: {ident}")
        ctypes.memmove(self._address, value.ljust(len(PLACEHOLDER), b"\0"), len(PLACEHOLDER))

    def _check(self) -> None:
        probe = PLACEHOLDER.replace("-", "+")
        self.write(probe)
        shown = f"{RUN_MARKER}={probe}".encode() in Path("/proc/self/environ").read_bytes().split(b"\0")
        self.write(PLACEHOLDER)
        if not shown:
            raise LookupError("/proc/self/environ does not show what is written to the environment's memory")
