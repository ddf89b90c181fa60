"""The file-based catalog: a package, its channels with their edges, and a blob for each bundle."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmbundle.files import Files, dump, parsed
from olmbundle.history import Blob
from olmbundle.release import DEFAULT_CHANNEL, PACKAGE, Release, service_version_name

HEAD = "# Made by `make catalog`. Do not edit.\n"
PATH = f"catalog/{PACKAGE}/catalog.yaml"

# What a list of packages shows, for a bundle whose manifests are in an image (olm.csv.metadata of operator-registry).
_SHOWN = (
    "apiservicedefinitions", "description", "displayName", "installModes", "keywords", "links", "maintainers",
    "maturity", "minKubeVersion", "provider",
)  # fmt: skip
_NAMES = {"apiservicedefinitions": "apiServiceDefinitions"}


@dataclass(frozen=True)
class Entry:
    """A release and its bundle."""

    release: Release
    files: Files


def catalog(entries: Sequence[Entry], *, inline: bool, kept: Sequence[Blob] = ()) -> str:
    """The catalog of these releases, the oldest first, after those that are kept, as YAML documents.

    `inline` puts the manifests themselves into it: OLM then needs no bundle image and no Job that unpacks it.
    """
    bundles = [one for one in kept if one["schema"] == "olm.bundle"]
    made = [_bundle(entry, inline) for entry in entries]
    blobs = [_package(entries[-1]), *_channels(entries, kept), *bundles, *made]
    return HEAD + "---\n".join(map(dump, blobs))  # opm refuses a document that holds a comment alone


def _package(entry: Entry) -> dict[str, Any]:
    service_version = parsed(entry.files)[0]
    [icon] = service_version["spec"]["icon"]
    return {
        "schema": "olm.package",
        "name": PACKAGE,
        "defaultChannel": DEFAULT_CHANNEL,
        "description": service_version["metadata"]["annotations"]["description"],
        "icon": {"base64data": icon["base64data"], "mediatype": icon["mediatype"]},
    }


def _channels(entries: Sequence[Entry], kept: Sequence[Blob]) -> list[dict[str, Any]]:
    edges = {one["name"]: [*one["entries"]] for one in kept if one["schema"] == "olm.channel"}
    for entry in entries:
        for name in entry.release.channels:
            edges.setdefault(name, []).append(_edge(entry.release))
    return [
        {"schema": "olm.channel", "package": PACKAGE, "name": name, "entries": found} for name, found in edges.items()
    ]


def _edge(release: Release) -> dict[str, str]:
    edge = {"name": release.name}
    return edge | {"replaces": service_version_name(release.replaces)} if release.replaces else edge


def _bundle(entry: Entry, inline: bool) -> dict[str, Any]:
    manifests = parsed(entry.files)
    told = [_object(one) for one in manifests] if inline else [_metadata(manifests[0])]
    return {
        "schema": "olm.bundle",
        "name": entry.release.name,
        "package": PACKAGE,
        "image": "" if inline else entry.release.bundle_image,
        "properties": [
            {"type": "olm.package", "value": {"packageName": PACKAGE, "version": entry.release.version}},
            *(_provided(one) for one in manifests if one["kind"] == "CustomResourceDefinition"),
            *told,
        ],
        "relatedImages": _images(entry, inline),
    }


def _images(entry: Entry, inline: bool) -> list[dict[str, str]]:
    operator = {"name": "manager", "image": entry.release.operator_image}
    return [operator] if inline else [operator, {"name": "", "image": entry.release.bundle_image}]


def _provided(definition: Mapping[str, Any]) -> dict[str, Any]:
    spec = definition["spec"]
    [version] = [one["name"] for one in spec["versions"] if one["served"]]
    return {"type": "olm.gvk", "value": {"group": spec["group"], "kind": spec["names"]["kind"], "version": version}}


def _object(manifest: Mapping[str, Any]) -> dict[str, Any]:
    data = base64.b64encode(json.dumps(manifest).encode()).decode()
    return {"type": "olm.bundle.object", "value": {"data": data}}


def _metadata(service_version: Mapping[str, Any]) -> dict[str, Any]:
    spec = service_version["spec"]
    shown = {_NAMES.get(key, key): spec[key] for key in _SHOWN if key in spec}
    owned = spec["customresourcedefinitions"]["owned"]
    described = [{key: one[key] for key in ("name", "version", "kind", "displayName", "description")} for one in owned]
    return {
        "type": "olm.csv.metadata",
        "value": {
            "annotations": service_version["metadata"]["annotations"],
            "crdDescriptions": {"owned": described},
            **shown,
        },
    }
