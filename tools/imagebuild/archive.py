"""Reads an image that was written to an OCI archive: its digest, and what each layer takes."""

from __future__ import annotations

import json
import re
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from imagebuild.errors import ImageError

_CHUNK = 1 << 20
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
    return _member(archive, "blobs/" + digest.replace(":", "/"))


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
