"""Objects in Kubernetes' protobuf form, as ``kubectl create`` and typed clients in Go send them. Pure.

A body is ``k8s\\0`` and a ``runtime.Unknown``, in which the object lies as bytes; every object that is stored has its
``ObjectMeta`` as field 1. The metadata that matter for ownership are read, and more are written by appending another
``ObjectMeta``: protobuf merges what comes twice, so lists and maps grow, and nothing else has to be understood.
The data of Secrets are read as well, since they must not be told. Numbers of fields: ``generated.proto`` of
k8s.io/apimachinery and k8s.io/api/core/v1; they never change.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
_RAW, _ENCODING = 2, 3
"""Fields of ``runtime.Unknown``."""

_METADATA = 1
_SECRET_DATA, _SECRET_TEXTS = 2, 4
"""Fields of an object, and of a Secret."""

_NAME, _ANNOTATIONS, _REFERENCES = 1, 12, 13
"""Fields of ``ObjectMeta``."""

_REFERENCE = {"kind": 1, "name": 3, "uid": 4, "apiVersion": 5}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Field = tuple[int, bytes]
"""The number of a field, and its value where that has a length; b"" where it is a number."""


def read(body: bytes) -> dict[str, Any] | None:
    """The object in a body, as far as ownership asks: ``metadata`` with name, annotations and owner references.

    None for what is no such body, which is the API server's to judge.
    """
    try:
        metadata = b"".join(value for number, value in _fields(_raw(body)) if number == _METADATA)
        return {"metadata": _metadata(_fields(metadata))}
    except ValueError:
        return None


def read_secret(body: bytes) -> dict[str, Any] | None:
    """The same of a Secret, with its ``data`` and ``stringData`` as they are in JSON."""
    secret = read(body)
    if secret is None:
        return None
    try:
        fields = _fields(_raw(body))
        pairs = [(number, dict(_fields(value))) for number, value in fields if number in (_SECRET_DATA, _SECRET_TEXTS)]
    except ValueError:
        return secret
    data = [base64.b64encode(pair.get(2, b"")).decode() for number, pair in pairs if number == _SECRET_DATA]
    texts = [pair.get(2, b"").decode(errors="replace") for number, pair in pairs if number == _SECRET_TEXTS]
    return {**secret, "data": dict(enumerate(data)), "stringData": dict(enumerate(texts))}


def add(body: bytes, metadata: Mapping[str, Any]) -> bytes:
    """The body with more ``annotations`` and ``ownerReferences``; one that ``read`` understands. Raises ValueError."""
    pairs = metadata.get("annotations", {}).items()
    more = b"".join(
        [_written(_ANNOTATIONS, _texts({1: key, 2: value}.items())) for key, value in pairs]
        + [
            _written(_REFERENCES, _texts((number, reference[name]) for name, number in _REFERENCE.items()))
            for reference in metadata.get("ownerReferences", ())
        ]
    )
    raw = _raw(body) + _written(_METADATA, more)
    envelope = _fields(body.removeprefix(_MAGIC))
    return _MAGIC + b"".join(_written(number, raw if number == _RAW else value) for number, value in envelope)


def _raw(body: bytes) -> bytes:
    """The object's own bytes. Raises ValueError where there are none, or it is not sure that they are all and plain."""
    envelope = _fields(body.removeprefix(_MAGIC))
    if _MAGIC + b"".join(_written(*field) for field in envelope) != body:
        raise ValueError("not what clients of Kubernetes write")
    raw = [value for number, value in envelope if number == _RAW]
    if len(raw) != 1 or any(value for number, value in envelope if number == _ENCODING):
        raise ValueError("no plain object")
    return raw[0]


def _metadata(fields: Iterable[Field]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"annotations": {}, "ownerReferences": []}
    for number, value in fields:
        if number == _NAME:
            metadata["name"] = value.decode()
        elif number == _ANNOTATIONS:
            pair = dict(_fields(value))
            metadata["annotations"][pair.get(1, b"").decode()] = pair.get(2, b"").decode()
        elif number == _REFERENCES:
            reference = dict(_fields(value))
            metadata["ownerReferences"].append(
                {name: reference.get(number, b"").decode() for name, number in _REFERENCE.items()}
            )
    return metadata


def _fields(message: bytes) -> list[Field]:
    """The fields of a message, in their order. Raises ValueError where it is none."""
    found = []
    place = 0
    while place < len(message):
        tag, place = _number(message, place)
        kind, length = tag & 7, 0
        if kind == _BYTES:
            length, place = _number(message, place)
        elif kind == _VARINT:
            _, place = _number(message, place)
        elif kind in (_FIXED64, _FIXED32):
            place += 8 if kind == _FIXED64 else 4
        else:
            raise ValueError("a field of an unknown kind")
        found.append((tag >> 3, message[place : place + length]))
        place += length
    if place > len(message):
        raise ValueError("the message is cut")
    return found


def _number(message: bytes, place: int) -> tuple[int, int]:
    """The variable-length number there, and the place behind it."""
    value = 0
    for shift, byte in enumerate(message[place : place + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, place + shift + 1
    raise ValueError("no number")


def _texts(pairs: Iterable[tuple[int, str]]) -> bytes:
    return b"".join(_written(number, text.encode()) for number, text in pairs)


def _written(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])
