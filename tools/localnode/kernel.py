"""The settings of the kernel that a kubelet changes: they are of no namespace, and would outlive the node."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from localcluster.layout import write_private
from localnode.errors import NodeError

# What kubelet 1.37 sets at its start (setupKernelTunables in pkg/kubelet/cm/container_manager_linux.go).
SETTINGS = (
    "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)  # fmt: skip
_ROOT = Path("/proc/sys")


def note(path: Path) -> None:
    """Write down the values, before the kubelet starts."""
    found = {}
    for name in SETTINGS:
        with contextlib.suppress(OSError):  # a kernel without it
            found[name] = (_ROOT / name).read_text().strip()
    write_private(path, json.dumps(found, indent=2) + "\n")


def restore(path: Path) -> None:
    """Set again what differs from the note, and remove the note. Without a note nothing was changed.

    Raises NodeError with what could not be set; the note stays then.
    """
    if not path.exists():
        return
    failed = [f"{name} = {value}" for name, value in json.loads(path.read_text()).items() if not _set(name, value)]
    if failed:
        raise NodeError(f"settings of {_ROOT} that could not be set again: {', '.join(failed)}")
    path.unlink()


def _set(name: str, value: str) -> bool:
    file = _ROOT / name
    try:
        if file.read_text().strip() != value:
            file.write_text(value)
    except OSError:
        return False
    return True
