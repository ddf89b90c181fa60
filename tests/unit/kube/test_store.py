"""The objects that an informer keeps: as they were, and small."""

from __future__ import annotations

import sys
import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.kube.store import Store
from ansible_operator.model.gvk import ObjectKey

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=10,
)


def obj(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "Web", "metadata": {"name": name, "namespace": "a"}, **fields}


@given(JSON)
def test_an_object_is_read_as_it_was_put_whatever_is_in_it(value: Any) -> None:
    store = Store()
    assert store.put(obj("x", spec=value)) is None
    assert store.get(ObjectKey("a", "x")) == obj("x", spec=value)
    assert store.put(obj("x", spec="new")) == obj("x", spec=value)
    assert store.remove(ObjectKey("a", "x")) == obj("x", spec="new")
    assert store.remove(ObjectKey("a", "x")) is None
    assert store.get(ObjectKey("a", "x")) is None


def test_what_a_reader_changes_is_its_own() -> None:
    store = Store()
    store.put(obj("x"))
    read: Any = store.get(ObjectKey("a", "x"))
    read["metadata"]["name"] = "y"
    assert store.get(ObjectKey("a", "x")) == obj("x")


def test_an_object_takes_little_more_than_its_json() -> None:
    spec = {f"field{number}": {"of": "some length", "number": number} for number in range(30)}
    store = Store()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(500):
        managed = {"managedFields": [{"fieldsV1": {"f:spec": {f"f:{n}": {} for n in range(100)}}}]}
        new = obj(f"name-{number}", spec={key: dict(value) for key, value in spec.items()})
        new["metadata"] |= managed
        store.put(new)
    del new
    each = (tracemalloc.get_traced_memory()[0] - before) / 500
    tracemalloc.stop()
    assert each < sys.getsizeof(str(spec)) + 700
