"""Images in OCI archives: their digest, what each layer takes, and what must not be in them."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from imagebuild.errors import ImageError

_CHUNK = 1 << 20
_OF_THE_STORE = ("org.opencontainers.image.base.name", "org.opencontainers.image.base.digest")
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True)
class Layer:
    """One layer: the instruction that made it, and its bytes unpacked and packed."""

    made_by: str
    size: int
    packed: int


@dataclass(frozen=True)
class Image:
    """An image: the digest of its manifest, its layers from the base up, and its configuration as OCI defines it."""

    digest: str
    layers: tuple[Layer, ...]
    config: dict[str, Any]

    @property
    def size(self) -> int:
        """Bytes, unpacked."""
        return sum(layer.size for layer in self.layers)


def read_image(path: Path) -> Image:
    """Raises ImageError where the file is no OCI archive of one image."""
    try:
        with tarfile.open(path) as archive:
            [entry] = json.load(_member(archive, "index.json"))["manifests"]
            manifest = json.load(_blob(archive, entry["digest"]))
            config = json.load(_blob(archive, manifest["config"]["digest"]))
            makers = [one.get("created_by", "") for one in config["history"] if not one.get("empty_layer")]
            layers = [_layer(archive, *one) for one in zip(manifest["layers"], makers, strict=True)]
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        raise ImageError(f"{path} is no OCI archive of one image ({error})") from error
    return Image(entry["digest"], tuple(layers), config)


def write_plain(source: Path, target: Path) -> None:
    """Copy an archive without what buildah notes of its store: by what name an image of an earlier step happened to be
    known there. Else the digest would depend on it."""
    with tarfile.open(source) as old, tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as new:
        index = json.load(_member(old, "index.json"))
        [entry] = index["manifests"]
        manifest = json.load(_blob(old, entry["digest"]))
        config = json.load(_blob(old, manifest["config"]["digest"]))
        for one in config["history"]:
            one.pop("comment", None)
        for name in _OF_THE_STORE:
            manifest.get("annotations", {}).pop(name, None)
        for layer in {layer["digest"]: layer for layer in manifest["layers"]}.values():
            _add(new, _path(layer["digest"]), layer["size"], _blob(old, layer["digest"]))
        manifest["config"] |= _add_json(new, config)
        entry |= _add_json(new, manifest)
        _add_json(new, index, "index.json")
        _add_json(new, json.load(_member(old, "oci-layout")), "oci-layout")


def _add_json(archive: tarfile.TarFile, content: Any, name: str = "") -> dict[str, Any]:
    """Add a document, by default as a blob; what refers to it must say digest and size."""
    text = json.dumps(content, separators=(",", ":")).encode()
    described = {"digest": f"sha256:{hashlib.sha256(text).hexdigest()}", "size": len(text)}
    _add(archive, name or _path(str(described["digest"])), len(text), io.BytesIO(text))
    return described


def _add(archive: tarfile.TarFile, name: str, size: int, content: IO[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    archive.addfile(member, content)


def _layer(archive: tarfile.TarFile, described: dict[str, Any], made_by: str) -> Layer:
    with _blob(archive, described["digest"]) as blob:
        packed = described["mediaType"].endswith("gzip")
        size = _unpacked(blob) if packed else described["size"]
    return Layer(_instruction(made_by), size, described["size"])


def _unpacked(blob: IO[bytes]) -> int:
    """Bytes that a gzip stream unpacks to."""
    size, stream = 0, zlib.decompressobj(_GZIP)
    while chunk := blob.read(_CHUNK):
        size += len(stream.decompress(chunk))
        while stream.unused_data:  # members one after another
            rest, stream = stream.unused_data, zlib.decompressobj(_GZIP)
            size += len(stream.decompress(rest))
    return size


def _instruction(created_by: str) -> str:
    """As the Dockerfile has it, in one line, without the shell and the arguments that builders put before it."""
    text = re.sub(r"^(\|\d+ )?(\S+=\S* )*/bin/sh -c (#\(nop\) +)?", "", created_by)
    return " ".join(text.split()) or "(no instruction)"


def _blob(archive: tarfile.TarFile, digest: str) -> IO[bytes]:
    return _member(archive, _path(digest))


def _path(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    found = archive.extractfile(name)
    if found is None:
        raise ImageError(f"{name} of the archive is no file")
    return found


def report(image: Image) -> str:
    """A table: megabytes (10^6 bytes) of each layer, unpacked and packed, and what made it."""
    lines = ["      MB  packed  layer"]
    lines += [f"{one.size / 1e6:8.1f}{one.packed / 1e6:8.1f}  {one.made_by:.100}" for one in image.layers]
    packed = sum(layer.packed for layer in image.layers)
    return "\n".join([*lines, f"{image.size / 1e6:8.1f}{packed / 1e6:8.1f}  in all", f"digest  {image.digest}"])
