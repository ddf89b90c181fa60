"""Files that only their owner can read, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def make_private_directory(path: Path) -> None:
    """Make a directory and its parents, mode 0700 whatever the umask is."""
    for missing in reversed([path, *path.parents]):
        if not missing.exists():
            missing.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file with mode 0600; readers see the old content or the new, never a part."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError:  # a disk that is full needs the room
        temporary.unlink(missing_ok=True)
        raise


def write_private_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    write_private(path, json.dumps(value))
