"""Owners in bodies that are protobuf; what kubectl sends is in tests/apiserver/test_proxy_protobuf.py."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from ansible_operator.proxy.protobuf import add, read

REFERENCE = {"apiVersion": "v1", "kind": "Web", "name": "w" * 200, "uid": "1-2-3"}


def field(number: int, value: bytes | str | int) -> bytes:
    """A field as protoc writes it."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    return varint_of_many(value) if value > 127 else bytes([value])


def varint_of_many(value: int) -> bytes:
    return bytes([value & 127 | 128]) + varint(value >> 7)


def body_of(raw: bytes, *more: bytes) -> bytes:
    """An envelope: type, object, encoding and content type (both empty)."""
    return b"".join((b"k8s\0", field(1, field(1, "v1") + field(2, "ConfigMap")), field(2, raw), *more))


NAME = field(1, "c") + field(3, "a") + field(7, 300)
ENVELOPE_END = field(3, "") + field(4, "")
DATA = field(2, field(1, "k") + field(2, "v" * 1000)) + b"\x21" + b"x" * 8 + b"\x2d" + b"x" * 4
BARE = body_of(field(1, NAME) + DATA, ENVELOPE_END)


def test_the_metadata_are_read() -> None:
    reference = field(1, "Web") + field(3, "w") + field(4, "u") + field(5, "v1") + field(6, 1)
    metadata = NAME + field(12, field(1, "k") + field(2, "v")) + field(12, field(1, "empty")) + field(13, reference)
    assert read(body_of(field(1, metadata) + DATA, ENVELOPE_END)) == {
        "metadata": {
            "name": "c",
            "annotations": {"k": "v", "empty": ""},
            "ownerReferences": [{"kind": "Web", "name": "w", "uid": "u", "apiVersion": "v1"}],
        }
    }


def test_an_object_without_metadata_has_empty_ones() -> None:
    assert read(body_of(DATA)) == {"metadata": {"annotations": {}, "ownerReferences": []}}


def test_what_is_added_is_read_again_and_all_else_stays_byte_for_byte() -> None:
    owned = add(BARE, {"ownerReferences": [REFERENCE]})
    assert read(owned) == {"metadata": {"name": "c", "annotations": {}, "ownerReferences": [REFERENCE]}}
    assert field(1, NAME) + DATA in owned
    assert owned.endswith(ENVELOPE_END)
    annotated = read(add(owned, {"annotations": {"a": "b", "c": ""}}))
    assert annotated == {"metadata": {"name": "c", "annotations": {"a": "b", "c": ""}, "ownerReferences": [REFERENCE]}}


@given(st.binary(max_size=200), st.integers(0, len(BARE)), st.integers(0, 255))
@example(b"", 0, 0)
@example(b"k8s\0", 4, 255)
@example(body_of(DATA, field(2, DATA)), 0, 107)  # two objects
@example(body_of(DATA, field(3, "gzip")), 0, 107)
@example(body_of(DATA, field(5, 1)), 0, 107)  # a number in the envelope
@example(body_of(field(1, field(1, b"\xff"))), 0, 107)  # a name that is no text
def test_what_is_no_such_body_is_noticed_and_no_fault(data: bytes, place: int, byte: int) -> None:
    spoilt = bytearray(BARE)
    spoilt[place : place + 1] = bytes([byte])
    for body in (data, b"k8s\0" + data, bytes(spoilt), BARE[:place]):
        obj = read(body)
        assert obj is None or read(add(body, {"annotations": {"x": "y"}})) is not None


def test_bodies_that_are_something_else_are_none_of_ours() -> None:
    others = [b"", b"{}", b"k8s\0", BARE[:-1], BARE[4:], b"k8s\1" + BARE[4:]]
    others += [body_of(DATA, field(2, DATA)), body_of(DATA, field(3, "gzip")), body_of(DATA, field(5, 1))]
    others += [body_of(DATA[:-1]), body_of(field(1, field(1, b"\xff"))), body_of(b"\x0b"), body_of(b"\x80" * 11)]
    assert [read(body) for body in others] == [None] * len(others)
