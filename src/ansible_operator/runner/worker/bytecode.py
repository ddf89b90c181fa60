"""Python files of the content are read before the fork: what `tame` and `stateless` say of them, and their code.

A role in an image lies on a read-only file system, mostly without compiled files beside it: each run would compile its
plugins anew, and judge them anew. Nothing is executed here, and a file that has changed is read again where it is used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any
from warnings import catch_warnings, simplefilter

from ansible_operator.runner.freshness import Fingerprint, fingerprint
from ansible_operator.runner.worker.content import roles_of
from ansible_operator.runner.worker.stateless import is_stateless
from ansible_operator.runner.worker.tame import is_tame

LARGEST = 1 << 20
"""Bytes of a file that is read beforehand."""
MOST = 1000
"""Files that are read beforehand."""
FARTHEST = 10_000
"""Names of files that are looked at; a directory of content may hold anything."""
_OTHERS = frozenset(("files", "templates", "tests", "molecule", "docs", "meta", "__pycache__"))
"""Directories of a role whose Python files, if any, no plugin imports."""

_codes: dict[tuple[str, Fingerprint | None], CodeType] = {}
"""By name, since code knows its file's, and by what tells its state."""
_ordinary = SourceFileLoader.get_code


def install() -> None:
    """Let Python's import ask here first."""
    SourceFileLoader.get_code = _get_code  # type: ignore[method-assign, assignment]


def prepare(content: Iterable[Path]) -> None:
    """Read the Python files of roles, and the plugins beside playbooks. What cannot be read is left to the run.

    So is what the compiler warns of: the warning belongs into the output of each run.
    """
    for path in islice(_files(content), MOST):
        with catch_warnings():
            simplefilter("ignore")
            is_tame(path)
            is_stateless(path)
        for name in {path, str(Path(path).resolve())}:  # a role may be a link
            with suppress(Exception), catch_warnings():
                simplefilter("error")
                keep(name, fingerprint(name), _ordinary(SourceFileLoader("content", name), "content"))


def keep(path: str, state: Fingerprint | None, code: CodeType | None) -> None:
    """Keep the code of a file that was in a state before it was read."""
    if code is not None:
        _codes[path, state] = code


def kept(path: str) -> CodeType | None:
    """The code of a file that has not changed since it was kept."""
    return _codes.get((path, fingerprint(path)))


def _files(content: Iterable[Path]) -> Iterator[str]:
    """Plugins first: whatever else a role holds may be more than is read."""
    roots: list[Path] = []
    for place in content:
        roles = roles_of(place)
        holders = roles if place.is_dir() else [place.parent, *roles]
        roots += [*(root for holder in holders for root in sorted(holder.glob("*_plugins"))), *roles]
    seen: set[str] = set()
    for path in islice(_walk(roots), FARTHEST):
        if path not in seen and path.endswith(".py") and _is_small_file(path):
            seen.add(path)
            yield path


def _walk(roots: Iterable[Path]) -> Iterator[str]:
    for root in roots:
        for directory, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in _OTHERS and not name.startswith("."))
            yield from (os.path.join(directory, name) for name in sorted(names))  # noqa: PTH118 - thousands of them


def _is_small_file(path: str) -> bool:
    """A file, not a pipe that would be waited for."""
    with suppress(OSError):
        status = Path(path).stat()
        return stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST
    return False


def _get_code(loader: SourceFileLoader, fullname: str) -> Any:
    """In place of ``SourceFileLoader.get_code``."""
    code = kept(loader.path)
    return _ordinary(loader, fullname) if code is None else code
