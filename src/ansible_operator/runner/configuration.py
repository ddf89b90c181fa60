"""What a warm parent is made for: everything that Ansible reads once, when it is imported.

The environment, the arguments and the files below ``~`` and ``/etc`` are the same for all runs of an operator (and a
parent is replaced when one of the files changes). What may differ from run to run is the directory that a play runs in,
where Ansible looks for an ``ansible.cfg`` first, and a playbook's own collections, which come before all others.
"""

from __future__ import annotations

from dataclasses import dataclass

from ansible_operator.runner.freshness import Fingerprint, fingerprint
from ansible_operator.runner.interface import RunRequest

CONFIGURATION_FILE = "ansible.cfg"
_COLLECTIONS = "collections/ansible_collections"


@dataclass(frozen=True)
class Configuration:
    """``directory``: the current directory of the plays, where that matters, and ``file`` the state of its ansible.cfg.

    ``playbook``: the directory of a playbook that has collections beside it. Both are absolute, or empty.
    """

    directory: str = ""
    file: Fingerprint | None = None
    playbook: str = ""

    def succeeds(self, other: Configuration) -> bool:
        """Whether it is what ``other`` was before a file was changed."""
        return (
            self != other
            and bool(self.directory)
            and (self.directory, self.playbook) == (other.directory, other.playbook)
        )


COMMON = Configuration()
"""That of every run with nothing of its own."""


def configuration_of(request: RunRequest, bound: bool) -> Configuration:
    """The configuration of a run; ``bound``: settings have relative paths, so that the directory always matters."""
    project = request.directory / "project"
    own = fingerprint(str(project / CONFIGURATION_FILE))
    book = request.content.playbook
    beside = book is not None and (book.parent / _COLLECTIONS).is_dir()
    return Configuration(
        directory=str(project) if bound or own is not None else "",
        file=own,
        playbook=str(book.parent) if book is not None and beside else "",
    )
