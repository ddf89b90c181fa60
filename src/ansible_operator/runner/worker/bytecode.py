"""Python files of the content are read before the fork: what `tame` and `stateless` say of them, and their code.

A role in an image lies on a read-only file system, mostly without compiled files beside it: each run would compile its
plugins anew, and judge them anew. Nothing is executed here, and a file that has changed is read again where it is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from ansible_operator.runner.worker.stateless import is_stateless
from ansible_operator.runner.worker.tame import is_tame

LARGEST = 1 << 20
"""Bytes of a file that is read beforehand."""
MOST = 1000
"""Files that are read beforehand; a directory of content may hold anything."""

_codes: dict[tuple[str, int, int, int], CodeType] = {}
_ordinary = SourceFileLoader.get_code


def install() -> None:
    """Let Python's import ask here first."""
    SourceFileLoader.get_code = _get_code  # type: ignore[method-assign, assignment]


def prepare(content: Iterable[Path]) -> None:
    """Read the Python files of roles, and of the directories of playbooks. What cannot be read is left to the run."""
    for number, file in enumerate(_files(content)):
        if number >= MOST:
            return
        is_tame(str(file))
        is_stateless(str(file))
        for path in {str(file), str(file.resolve())}:  # code knows its file's name, and a role may be a link
            with suppress(OSError, SyntaxError, ValueError):
                key, code = _key(path), _ordinary(SourceFileLoader("content", path), "content")
                if code is not None:
                    _codes[key] = code


def _files(content: Iterable[Path]) -> Iterator[Path]:
    for place in content:
        roots = [place] if place.is_dir() else [place.parent / "roles", *place.parent.glob("*_plugins")]
        for root in roots:
            for directory, _, names in os.walk(root):
                for name in sorted(names):
                    file = Path(directory, name)
                    with suppress(OSError):
                        if name.endswith(".py") and file.stat().st_size <= LARGEST:
                            yield file


def _key(path: str) -> tuple[str, int, int, int]:
    status = Path(path).stat()
    return path, status.st_ino, status.st_mtime_ns, status.st_size


def _get_code(loader: SourceFileLoader, fullname: str) -> Any:
    """In place of ``SourceFileLoader.get_code``."""
    try:
        code = _codes.get(_key(loader.path))
    except OSError:
        code = None
    return _ordinary(loader, fullname) if code is None else code
