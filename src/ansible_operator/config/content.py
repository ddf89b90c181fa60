"""Finding the playbook or role that a watch names, in the Go operator's search order (contract 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SYSTEM_COLLECTIONS = "/usr/share/ansible/collections"


@dataclass(frozen=True)
class SearchPath:
    """Where content is looked for: the directory the operator runs in, and the two path lists of Ansible."""

    directory: Path
    roles: tuple[Path, ...] = ()
    collections: tuple[Path, ...] = ()

    @staticmethod
    def of(directory: Path, environment: Mapping[str, str]) -> SearchPath:
        """What ``ANSIBLE_ROLES_PATH`` and ``ANSIBLE_COLLECTIONS_PATH`` give; empty entries are skipped."""
        collections = _paths(environment.get("ANSIBLE_COLLECTIONS_PATH") or _SYSTEM_COLLECTIONS, directory)
        home = environment.get("HOME")
        if home:
            collections.append(Path(home, ".ansible/collections"))
        return SearchPath(
            directory, tuple(_paths(environment.get("ANSIBLE_ROLES_PATH", ""), directory)), tuple(collections)
        )

    def role(self, name: str) -> tuple[Path | None, list[Path]]:
        """The directory of a role (None: not found) and the places that were tried."""
        tried = list(self._role_places(name))
        return next((place for place in tried if place.is_dir()), None), tried

    def _role_places(self, name: str) -> list[Path]:
        if Path(name).is_absolute():
            return [Path(name)]
        places: list[Path] = []
        parts = name.split(".")
        if len(parts) == 3:
            namespace, collection, role = parts
            places += [p / "ansible_collections" / namespace / collection / "roles" / role for p in self.collections]
        for path in self.roles:
            places += [path / name, path / "roles" / name]
        places.append(self.directory / "roles" / name)
        return list(dict.fromkeys(places))

    def chart(self, name: str) -> Path | None:
        """The path of a chart, a directory or a package, looked for as a playbook is; None where there is none."""
        path = self.directory / name
        packaged = path.name.endswith(".tgz") and path.is_file()
        return path if packaged or (path / "Chart.yaml").is_file() else None

    def playbook(self, name: str) -> Path:
        """The path of a playbook: as it is, or relative to the directory the operator runs in."""
        return self.directory / name


def _paths(text: str, directory: Path) -> list[Path]:
    return [directory / Path(entry).expanduser() for entry in text.split(":") if entry.strip()]
