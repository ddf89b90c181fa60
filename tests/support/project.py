"""An operator project in a directory: watches.yaml, roles and playbooks, written as text."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import yaml


class Project:
    """What a person who writes an operator has in their repository."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "roles").mkdir(parents=True)

    @property
    def watches_file(self) -> Path:
        """Where watches.yaml is."""
        return self.directory / "watches.yaml"

    def watches(self, *entries: dict[str, Any]) -> None:
        """Write watches.yaml."""
        self.watches_file.write_text(yaml.safe_dump(list(entries), sort_keys=False))

    def role(self, name: str, tasks: str) -> None:
        """Write ``roles/<name>/tasks/main.yml``; the text may be indented."""
        self._write(self.directory / "roles" / name / "tasks/main.yml", tasks)

    def playbook(self, name: str, text: str) -> None:
        """Write a playbook; the text may be indented."""
        self._write(self.directory / name, text)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
