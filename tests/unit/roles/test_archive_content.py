"""What is stored, and what is refused when it is read: anybody may have written it."""

from __future__ import annotations

import base64
import gzip
import json
import string
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from aitask_rules.archive import Unreadable, pack, unpack
from aitask_rules.archive.content import MAX_DEPTH, MAX_UNPACKED, OPERATOR_VERSION, check_sum, from_text
from aitask_rules.archive.objects import difference, lost, saved
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator import __version__
from tests.support.properties import json_values
from tests.unit.roles.archive_simulation import merged, task

JSON = st.recursive(
    st.booleans() | st.integers() | st.text(string.printable, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=4)
    ),
    max_leaves=12,
)
SPECS = st.dictionaries(st.text("abc", min_size=1, max_size=2), JSON, max_size=5)


def content(**changes: Any) -> dict[str, Any]:
    return {"formatVersion": 1, "operatorVersion": "0", "objects": [saved(task("a"))], **changes}


def packed(document: Any) -> bytes:
    return gzip.compress(json.dumps(document).encode())


def reason(data: bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        unpack(data)
    return caught.value.reason


@given(st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=4))
def test_what_is_packed_is_unpacked(specs: list[dict[str, Any]]) -> None:
    objects = [saved({"metadata": {"name": f"t-{number}"}, "spec": spec}) for number, spec in enumerate(specs)]
    assert unpack(pack(objects).data) == objects
    assert pack(objects[::-1]).data == pack(objects).data


@given(st.binary(max_size=200))
def test_any_bytes_are_unpacked_or_refused(data: bytes) -> None:
    with suppress(Unreadable):
        unpack(data)


@given(SPECS, SPECS)
def test_a_difference_makes_of_the_old_spec_the_new_one(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merged(old, difference(old, new)) == new
    assert difference(new, new) == {}
    assert lost(new, new) == []


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "CorruptArchive"),
        (b"no gzip", "CorruptArchive"),
        (packed(content())[:-9], "CorruptArchive"),
        (packed(content()) + b"x", "CorruptArchive"),
        (packed(content())[:20] + b"\x00\x00" + packed(content())[22:], "CorruptArchive"),
        (gzip.compress(b"no JSON"), "CorruptArchive"),
        (gzip.compress(b"[" * 100_000), "CorruptArchive"),
        (gzip.compress(b"\xff\xfe"), "CorruptArchive"),
        (gzip.compress(b'{"formatVersion": NaN}'), "CorruptArchive"),
        (packed([]), "CorruptArchive"),
        (packed(content(formatVersion=2)), "UnknownFormat"),
        (packed(content(formatVersion=True)), "CorruptArchive"),
        (packed(content(formatVersion="1")), "CorruptArchive"),
        (packed(content(objects={})), "CorruptArchive"),
        (packed(content(objects=[1])), "CorruptArchive"),
        (packed(content(objects=[saved(task("a")), saved(task("a"))])), "CorruptArchive"),
        (packed(content(objects=[saved(task("../../../secrets/x"))])), "CorruptArchive"),
        (packed(content(objects=[{**saved(task("a")), "kind": "Secret"}])), "CorruptArchive"),
        (packed(content(objects=[{**saved(task("a")), "apiVersion": "v1"}])), "CorruptArchive"),
        (packed(content(objects=[{**saved(task("a")), "spec": "x"}])), "CorruptArchive"),
    ],
)  # fmt: skip
def test_what_is_no_archive_is_refused(data: bytes, why: str) -> None:
    assert reason(data) == why


def test_a_spec_nested_without_end_is_refused() -> None:
    spec: Any = {}
    for _ in range(MAX_DEPTH):
        spec = {"a": spec}
    assert reason(packed(content(objects=[{**saved(task("a")), "spec": spec}]))) == "CorruptArchive"


def test_what_unpacks_to_more_than_the_limit_is_not_unpacked() -> None:
    """96 MiB of zeros are 96 KiB of gzip; no more than the limit is ever made of them."""
    bomb = gzip.compress(bytes(MAX_UNPACKED * 6), compresslevel=9)
    tracemalloc.start()
    try:
        assert reason(bomb) == "TooLarge"
        assert tracemalloc.get_traced_memory()[1] < MAX_UNPACKED * 3
    finally:
        tracemalloc.stop()


def test_no_error_repeats_what_it_read() -> None:
    for data in (b"hunter2", gzip.compress(b"hunter2"), packed({"formatVersion": "hunter2"}), packed(["hunter2"])):
        with pytest.raises(Unreadable) as caught:
            unpack(data)
        assert "hunter2" not in str(caught.value)


def test_a_changed_byte_is_noticed() -> None:
    archive = pack([saved(task("a"))])
    check_sum(archive.data, archive.sha256)
    with pytest.raises(Unreadable, match="was changed"):
        check_sum(archive.data[:-1] + b"\x01", archive.sha256)
    with pytest.raises(Unreadable, match="was changed"):
        check_sum(archive.data, "")


def test_what_is_not_base64_is_refused() -> None:
    assert from_text(base64.b64encode(b"x").decode()) == b"x"
    for text in ("*", "a", "ä"):
        with pytest.raises(Unreadable):
            from_text(text)


def test_a_task_is_saved_without_identity_status_and_what_apply_remembers() -> None:
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "a", "aiops.example.com/approve": "x"}
    found = task("a", notes)
    found["metadata"] |= {"ownerReferences": [{}], "finalizers": ["x"], "labels": {"app": "shop"}}
    assert saved(found) == {
        "apiVersion": "aiops.example.com/v1",
        "kind": "AITask",
        "metadata": {
            "name": "a",
            "namespace": "shop",
            "labels": {"app": "shop"},
            "annotations": {"team": "a", "aiops.example.com/approve": "x"},
        },
        "spec": found["spec"],
    }


def test_a_reference_to_a_secret_is_saved_as_the_reference_that_it_is() -> None:
    reference = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
    spec = {"template": {"spec": {"containers": [{"name": "web", "env": [reference]}]}}}
    (found,) = unpack(pack([saved(task("a", **spec))]).data)
    assert found["spec"]["template"] == spec["template"]


def test_the_version_that_is_written_is_that_of_the_release() -> None:
    assert __version__ == OPERATOR_VERSION
    assert json.loads(gzip.decompress(pack([]).data)) == {
        "formatVersion": 1, "operatorVersion": __version__, "objects": []
    }  # fmt: skip
