"""What runs leave behind, and how long it stays."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from ansible_operator.runner.files import write_private

_TAIL = 16 * 1024


def link_latest(directory: Path, ident: str) -> None:
    """Point ``artifacts/latest`` at a run."""
    link = directory / "artifacts/latest"
    temporary = link.with_name(f".latest-{ident}")
    with suppress(OSError):
        temporary.symlink_to(ident)
        temporary.replace(link)


def rotate(directory: Path, keep: int, live: str) -> None:
    """Remove the oldest runs beyond ``keep`` (0: none), but never the live one.

    ansible-runner's own rotation stumbles over the link ``latest``: it takes it for a run, and fails once it dangles.
    """
    runs = [path for path in (directory / "artifacts").iterdir() if path.is_dir() and not path.is_symlink()]
    runs.sort(key=lambda path: path.stat().st_mtime_ns)
    for run in runs[: max(0, len(runs) - keep)] if keep else ():
        if run.name != live:
            shutil.rmtree(run, ignore_errors=True)


def complete(directory: Path, ident: str, status: str, code: int) -> None:
    """Write what a run that was killed could not write itself any more."""
    for name, value in (("status", status), ("rc", str(code))):
        path = directory / "artifacts" / ident / name
        with suppress(OSError):
            if not path.exists():
                write_private(path, value)


def remove_playbooks(directory: Path) -> None:
    """Remove what ansible-runner makes of a role for a run, and a run that was killed leaves: ``project/<UUID>``."""
    for file in (directory / "project").glob("[0-9a-f]" * 32):
        with suppress(OSError):
            file.unlink()


def output_tail(directory: Path, ident: str, limit: int = _TAIL) -> str:
    """The last ``limit`` bytes of what Ansible printed in a run; empty where it never came to print."""
    try:
        with (directory / "artifacts" / ident / "stdout").open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - limit))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def purge(directory: Path, root: Path) -> None:
    """Remove the private data directory of an object that is gone, and parents that it leaves empty, up to ``root``.

    What is not below ``root`` is left alone, whatever name brought us there.
    """
    if root.resolve() not in directory.resolve().parents:
        return
    shutil.rmtree(directory, ignore_errors=True)
    for parent in directory.parents:
        if parent == root or root not in parent.parents:
            return
        try:
            parent.rmdir()
        except OSError:
            return
