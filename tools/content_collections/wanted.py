"""What is asked for: the pins of requirements.yml and the pinned PyPI package that stands in for Galaxy."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

EXACT_VERSION = re.compile(r"\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?")
COLLECTION_NAME = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*")
PACKAGE_PIN = re.compile(
    r"^(?P<name>ansible)==(?P<version>\S+)\s+--hash=sha256:(?P<sha256>[0-9a-f]{64})\s*$", re.MULTILINE
)


class CollectionsError(Exception):
    """A foreseen fault: its text names the cure and is shown as it is."""


@dataclass(frozen=True)
class PackagePin:
    """One wheel on PyPI: the release and the hash of its file."""

    version: str
    sha256: str


def read_wanted(path: Path) -> dict[str, str]:
    """Name and exact version of each collection."""
    try:
        entries = (yaml.safe_load(path.read_text()) or {}).get("collections") or []
    except (OSError, yaml.YAMLError, AttributeError) as error:
        raise CollectionsError(f"{path}: cannot be read as a requirements file ({error})") from error
    return dict(_read_entry(path, entry) for entry in entries)


def _read_entry(path: Path, entry: Any) -> tuple[str, str]:
    name, version = (entry.get("name"), entry.get("version")) if isinstance(entry, dict) else (entry, None)
    if not COLLECTION_NAME.fullmatch(str(name)):
        raise CollectionsError(f"{path}: {name!r} is not the name of a collection; write it as namespace.name")
    if not EXACT_VERSION.fullmatch(str(version)):
        raise CollectionsError(
            f'{path}: {name} has the version {version!r}; pin an exact one, such as version: "1.2.3"'
        )
    return str(name), str(version)


def read_package_pin(path: Path) -> PackagePin:
    """The only requirement in the file, with the one hash of its wheel."""
    try:
        text = path.read_text().replace("\\\n", " ")
    except OSError as error:
        raise CollectionsError(f"{path}: cannot be read ({error.strerror})") from error
    found = PACKAGE_PIN.search(text)
    if found is None:
        raise CollectionsError(f"{path}: holds no line of the form ansible==VERSION --hash=sha256:…")
    return PackagePin(found["version"], found["sha256"])


def installed_version(tree: Path, name: str) -> str | None:
    """What the MANIFEST.json of a collection below `ansible_collections/` says, None without one."""
    try:
        manifest = json.loads((tree.joinpath(*name.split(".")) / "MANIFEST.json").read_text())
    except FileNotFoundError:
        return None
    return str(manifest["collection_info"]["version"])
