"""What kinds a cluster has, as ``kubernetes.core`` keeps it in a file of the temporary directory.

Each run has a temporary directory of its own, so each would ask the cluster anew. A run is given the files of the last
one that went well. They hold nothing of an object, and the collection asks again for what it does not find in them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ansible_operator.runner.files import write_private

_FILES = "k8srcp-*.json"
_KEPT = 8
_LARGEST = 4 << 20
_GIVEN_NS = 1_000_000_000
"""The modification time of files that were given: those which a run has changed have another."""


class Discovery:
    """The files by name, one for each API server that runs talk to."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    def give(self, directory: Path) -> None:
        """Put them into the temporary directory of a run."""
        for name, content in list(self._files.items()):
            write_private(directory / name, content)
            os.utime(directory / name, ns=(_GIVEN_NS, _GIVEN_NS))

    def take(self, directory: Path) -> None:
        """Keep those that a run has made or changed."""
        for file in directory.glob(_FILES):
            with suppress(OSError):
                status = file.lstat()
                if status.st_mtime_ns != _GIVEN_NS and status.st_size <= _LARGEST and not file.is_symlink():
                    self._keep(file.name, file.read_bytes())

    def _keep(self, name: str, content: bytes) -> None:
        self._files.pop(name, None)
        self._files[name] = content
        while len(self._files) > _KEPT:
            del self._files[next(iter(self._files))]
