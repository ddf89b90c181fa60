"""The bundle and the catalog of a work tree."""

from __future__ import annotations

import tempfile
from pathlib import Path

from localcluster import binaries
from olmbundle.catalog import PATH, Entry, catalog
from olmbundle.files import Files, bundle
from olmbundle.previous import bundle_source
from olmbundle.release import ROOT, Release, present, previous_commit, previous_version


def present_entry(root: Path = ROOT, image: str = "") -> Entry:
    """The work tree as a release."""
    release = present(root, image)
    return Entry(release, bundle(root, kubectl(), release))


def previous_entry(root: Path = ROOT, image: str = "") -> Entry:
    """The last release, from its commit. Raises UnreachableError where the clone has it not."""
    release = Release(previous_version(root), image)
    with tempfile.TemporaryDirectory() as directory:
        source = bundle_source(root, previous_commit(root), Path(directory))
        return Entry(release, bundle(source, kubectl(), release))


def entries(root: Path = ROOT) -> list[Entry]:
    """The releases of the catalog, the oldest first; only the last one while nothing is released after it."""
    now, before = present(root), previous_entry(root)
    return [before, present_entry(root)] if now.replaces else [before]


def catalog_files(root: Path = ROOT) -> Files:
    """The catalog with bundles by image, as it is kept in the repository."""
    return {PATH: catalog(entries(root), inline=False)}


def kubectl() -> Path:
    """The one that renders: of the PATH if it fits the local cluster, else the pinned one."""
    return binaries.resolve(["kubectl"], lambda text: None)["kubectl"]
