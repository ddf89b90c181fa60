"""The stored format: gzip over JSON `{formatVersion, operatorVersion, objects}`, the same in a store and in a file.

What is read here may have been written by anybody. So it is taken apart within bounds, and no error repeats any of it.
"""

import json
import re
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from gzip import compress
from hashlib import sha256
from typing import Any

from ..values import mapping

FORMAT_VERSION = 1
OPERATOR_VERSION = "0.2.0"
API_GROUP, API_VERSION, KIND = "aiops.example.com", "aiops.example.com/v1", "AITask"
MAX_STORED = 900 * 1024
"""Bytes of a compressed archive. A Secret holds 1 MiB, its base64 and metadata included in what etcd takes."""
MAX_UNPACKED = 16 * 1024 * 1024
"""Bytes of JSON. A thousandth of it can be enough to make more than the operator has memory."""
MAX_DEPTH = 64
"""Levels of nesting in a task; a pod template has about twelve."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_GZIP = 16 + zlib.MAX_WBITS


class Unreadable(Exception):
    """An archive that cannot be used: `reason` is one word for a condition, the text is for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Archive:
    """A packed archive: its bytes and the number of objects in it."""

    data: bytes
    count: int

    @property
    def size(self) -> int:
        """Bytes, compressed."""
        return len(self.data)

    @property
    def sha256(self) -> str:
        return sha256(self.data).hexdigest()

    @property
    def text(self) -> str:
        """As base64, which is how Secrets and Ansible's variables carry bytes."""
        return b64encode(self.data).decode()


def pack(objects: Sequence[Mapping[str, Any]]) -> Archive:
    """The same objects give the same bytes. Raises Unreadable (TooLarge) for more JSON than `unpack` takes."""
    ordered = sorted(objects, key=lambda found: str(found["metadata"]["name"]))
    content = {"formatVersion": FORMAT_VERSION, "operatorVersion": OPERATOR_VERSION, "objects": ordered}
    text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    if len(text) > MAX_UNPACKED:
        raise Unreadable("TooLarge", f"{_mebibytes(len(text))} of tasks; {_mebibytes(MAX_UNPACKED)} is the limit")
    return Archive(compress(text, mtime=0), len(ordered))


def unpack(data: bytes) -> list[dict[str, Any]]:
    """The objects of an archive. Raises Unreadable for anything that `pack` cannot have made."""
    content = _parse(_decompress(data))
    version = content.get("formatVersion")
    if not isinstance(version, int) or isinstance(version, bool):
        raise Unreadable("CorruptArchive", "the archive has no formatVersion")
    if version != FORMAT_VERSION:
        known = f"this operator knows {FORMAT_VERSION}"
        raise Unreadable("UnknownFormat", f"the archive has formatVersion {str(version)[:20]}, {known}")
    objects = content.get("objects")
    if not isinstance(objects, list) or not all(map(_is_task, objects)):
        raise Unreadable("CorruptArchive", "the archive holds something that is no AITask")
    if len({found["metadata"]["name"] for found in objects}) != len(objects):
        raise Unreadable("CorruptArchive", "the archive holds two tasks of one name")
    return objects


def from_text(text: Any) -> bytes:
    """The bytes behind base64. Raises Unreadable."""
    try:
        return b64decode(str(text), validate=True)
    except (NotBase64, ValueError):
        raise Unreadable("CorruptArchive", "the archive is not base64") from None


def check_sum(data: bytes, expected: str) -> None:
    """Raises Unreadable unless the bytes are those that were written."""
    found = sha256(data).hexdigest()
    if found != expected.strip().lower():
        text = f"the checksum is {found[:12]}…, not {expected[:12]}…: the archive was changed"
        raise Unreadable("ChecksumMismatch", text)


def _decompress(data: bytes) -> bytes:
    machine = zlib.decompressobj(_GZIP)
    try:
        text = machine.decompress(data, MAX_UNPACKED + 1)
    except zlib.error:
        raise Unreadable("CorruptArchive", "the archive is not gzip, or is damaged") from None
    if len(text) > MAX_UNPACKED:
        raise Unreadable("TooLarge", f"the archive unpacks to more than {_mebibytes(MAX_UNPACKED)}")
    if not machine.eof or machine.unused_data:
        raise Unreadable("CorruptArchive", "the archive is cut off, or something is appended to it")
    return text


def _parse(text: bytes) -> Mapping[str, Any]:
    try:
        content = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Unreadable("CorruptArchive", "the archive holds no JSON") from None
    if not isinstance(content, Mapping):
        raise Unreadable("CorruptArchive", "the archive holds JSON, but no object")
    return content


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _is_task(found: Any) -> bool:
    """Whether it can be sent to the server: its name becomes part of a path. The rest is the server's to judge."""
    meta, api_version = mapping(mapping(found).get("metadata")), str(mapping(found).get("apiVersion"))
    name = meta.get("name")
    named = isinstance(name, str) and len(name) <= 253 and _NAME.fullmatch(name) is not None
    kind = mapping(found).get("kind") == KIND and api_version.partition("/")[0] == API_GROUP
    return named and kind and isinstance(found.get("spec"), Mapping) and _is_shallow(found, MAX_DEPTH)


def _is_shallow(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(entry, levels - 1) for entry in inner)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
