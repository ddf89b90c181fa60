"""What one release of the bundle is called, and what it follows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from olmbundle.errors import BundleError

ROOT = Path(__file__).parents[2]
PACKAGE = "aitask-operator"
DEFAULT_CHANNEL = "alpha"
IMAGE = f"example.com/{PACKAGE}"
"""The operator's image, without a tag: the one of config/manager."""

_VERSION_FILE = Path("src/ansible_operator/__init__.py")
_PREVIOUS = Path("releases/previous")


@dataclass(frozen=True)
class Release:
    """A version (semantic, without a v), the operator's image, the version that it replaces, if any, and the image of
    its bundle."""

    version: str
    image: str = ""
    replaces: str = ""
    bundle: str = ""

    @property
    def name(self) -> str:
        """Of the ClusterServiceVersion."""
        return service_version_name(self.version)

    @property
    def operator_image(self) -> str:
        return self.image or f"{IMAGE}:{self.version}"

    @property
    def bundle_image(self) -> str:
        return self.bundle or f"{IMAGE}-bundle:{self.version}"

    @property
    def minor_channel(self) -> str:
        """The channel of fixes alone, for example v0.1."""
        return "v" + ".".join(self.version.split(".")[:2])

    @property
    def channels(self) -> tuple[str, str]:
        return DEFAULT_CHANNEL, self.minor_channel


def service_version_name(version: str) -> str:
    return f"{PACKAGE}.v{version}"


def present(root: Path = ROOT, image: str = "") -> Release:
    """The release that the work tree is: it replaces the one of releases/previous, unless it is that one still."""
    version, before = present_version(root), previous_version(root)
    return Release(version, image, "" if before == version else before)


def present_version(root: Path = ROOT) -> str:
    found = re.search(r'^__version__ = "([^"]+)"', (root / _VERSION_FILE).read_text(), re.MULTILINE)
    if found is None:
        raise BundleError(f'{_VERSION_FILE} has no line __version__ = "…"; the bundle\'s version is read there')
    return found.group(1)


def previous_version(root: Path = ROOT) -> str:
    return (root / _PREVIOUS / "version").read_text().strip()


def previous_commit(root: Path = ROOT) -> str:
    return (root / _PREVIOUS / "commit").read_text().strip()
