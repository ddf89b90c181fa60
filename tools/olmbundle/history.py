"""What an earlier catalog says of releases. A catalog only grows: whose release leaves it gets no upgrade any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from olmbundle.release import IMAGE

Blob = Mapping[str, Any]


def kept(path: Path, *, but: str, built: bool) -> list[Blob]:
    """The channels and bundles of the catalog at `path`, as they are, without the release of that name; none where
    there is no catalog. With `built` also without bundles of example.com, which is where an image is not."""
    if not path.exists():
        return []
    blobs = list(yaml.load_all(path.read_text(), yaml.CSafeLoader))
    bundles = [one for one in blobs if one["schema"] == "olm.bundle" and one["name"] != but]
    if built:
        bundles = [one for one in bundles if not one["image"].startswith(IMAGE)]
    names = {one["name"] for one in bundles}
    channels = [_only(one, names) for one in blobs if one["schema"] == "olm.channel"]
    return [*(one for one in channels if one["entries"]), *bundles]


def names(blobs: Sequence[Blob]) -> set[str]:
    """Of the releases in them."""
    return {one["name"] for one in blobs if one["schema"] == "olm.bundle"}


def _only(channel: Blob, releases: set[str]) -> Blob:
    return {**channel, "entries": [edge for edge in channel["entries"] if edge["name"] in releases]}
