"""File locks that the kernel releases when their holder is gone, however it went.

Used for two questions: does somebody build this program right now, and does this cluster directory have a supervisor.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path


def try_lock(path: Path) -> int | None:
    """A file descriptor that holds the lock while it is open (also in a process that inherits it), or None if taken."""
    deadline = time.monotonic() + 0.3  # `is_locked` of another process holds it for an instant
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)
            continue
        except OSError:
            os.close(descriptor)
            raise
        if _is_current(descriptor, path):
            return descriptor
        # The last holder removed the file between our open and our lock: what we hold protects nothing.
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # Shared, so that two processes that only ask do not look like a holder to each other.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextlib.contextmanager
def wait_for_lock(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock for the block; `on_wait` is called once if somebody else has it. The file stays."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
