"""The bundle and the catalog of a work tree."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from localcluster import binaries
from olmbundle import history
from olmbundle.catalog import PATH, Entry, catalog
from olmbundle.files import Files, bundle
from olmbundle.previous import bundle_source
from olmbundle.release import ROOT, Release, present, previous_commit, previous_version, service_version_name


def present_entry(root: Path = ROOT, image: str = "", bundle_image: str = "") -> Entry:
    """The work tree as a release."""
    release = replace(present(root, image), bundle=bundle_image)
    return Entry(release, bundle(root, kubectl(), release))


def previous_entry(root: Path = ROOT, image: str = "") -> Entry:
    """The last release, from its commit. Raises UnreachableError where the clone has it not."""
    release = Release(previous_version(root), image)
    with tempfile.TemporaryDirectory() as directory:
        source = bundle_source(root, previous_commit(root), Path(directory))
        return Entry(release, bundle(source, kubectl(), release))


def entries(root: Path = ROOT) -> list[Entry]:
    """The last release and the work tree; only the last one while nothing is released after it."""
    now, before = present(root), previous_entry(root)
    return [before, present_entry(root)] if now.replaces else [before]


def catalog_files(root: Path = ROOT, directory: Path = ROOT, *, image: str = "", bundle_image: str = "") -> Files:
    """The catalog below `directory`, with bundles by image: its other releases stay as they are, that of the work tree
    is made anew. Where it has not the last release, that one is made from its commit; with an image of the bundle it is
    left out, as are all that name no real one.
    """
    now = present(root)
    if not now.replaces:
        return _of_the_last(root, directory / PATH)
    kept = history.kept(directory / PATH, but=now.name, built=bool(bundle_image))
    made = [present_entry(root, image, bundle_image)]
    if not bundle_image and service_version_name(now.replaces) not in history.names(kept):
        made.insert(0, previous_entry(root))
    return {PATH: catalog(made, inline=False, kept=kept)}


def _of_the_last(root: Path, there: Path) -> Files:
    """Nothing is released after it: as it is, if it is in it."""
    kept = history.kept(there, but="", built=False)
    if service_version_name(previous_version(root)) in history.names(kept):
        return {PATH: there.read_text()}
    return {PATH: catalog([previous_entry(root)], inline=False, kept=kept)}


def kubectl() -> Path:
    """The one that renders: of the PATH if it fits the local cluster, else the pinned one."""
    return binaries.resolve(["kubectl"], lambda text: None)["kubectl"]
