"""The objects of one kind as an informer last saw them.

Kept as JSON, a quarter of what an object takes in dicts and lists; reading one costs some microseconds, and most are
never read. Whoever reads one gets an object of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ansible_operator.model.gvk import Object, ObjectKey


class Store:
    """Objects by key. Managed fields are dropped: nothing reads them, and they are half of many objects."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, bytes] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(list(self._objects))

    def get(self, key: ObjectKey) -> Object | None:
        """The object, or None."""
        return _read(self._objects.get(key))

    def put(self, obj: dict[str, Any]) -> Object | None:
        """Keep an object and return the one that stood there before."""
        obj["metadata"].pop("managedFields", None)
        key = ObjectKey.of(obj)
        old = self._objects.get(key)
        self._objects[key] = json.dumps(obj, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")
        return _read(old)

    def remove(self, key: ObjectKey) -> Object | None:
        """Drop an object and return it."""
        return _read(self._objects.pop(key, None))

    def keys_besides(self, keys: Iterable[ObjectKey], namespace: str) -> list[ObjectKey]:
        """Keys in a namespace (empty: all) that are not among ``keys``: what vanished while nobody watched."""
        present = set(keys)
        return [key for key in self._objects if key not in present and namespace in ("", key.namespace)]


def _read(kept: bytes | None) -> Object | None:
    if kept is None:
        return None
    obj: Object = json.loads(kept.decode(errors="surrogatepass"))
    return obj
