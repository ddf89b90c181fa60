"""Objects of one kind behind the methods of kube.client.Client that the runtime uses for them. Only in memory.

For what a real API server would say besides, there are the tests with a real one.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from ansible_operator.kube.client import MERGE_PATCH
from ansible_operator.model.errors import ApiError
from ansible_operator.model.gvk import GVK, ObjectKey, Resource

Object = dict[str, Any]

WEB = GVK("example.com", "v1", "Web")
WEBS = Resource(WEB, "webs", True, frozenset({"get", "list", "watch"}))
KEY = ObjectKey("a", "web")


class FakeCluster:
    """Merge patches with optimistic locking, a status subresource, finalizers, and trouble on demand.

    ``before_patch`` is called before each patch is looked at: there others write, or the server fails.
    """

    def __init__(self, *, status_subresource: bool = True) -> None:
        self.objects: dict[ObjectKey, Object] = {}
        self.patches: list[tuple[str, Object]] = []
        self.events: list[Object] = []
        self.reads = 0
        self.before_patch: list[Callable[[], None]] = []
        self._status_subresource = status_subresource
        self._version = 0

    # --- what others do ---

    def create(self, key: ObjectKey = KEY, uid: str = "uid-1", **parts: Any) -> Object:
        metadata = {"name": key.name, "namespace": key.namespace, "uid": uid, "generation": 1}
        metadata |= parts.pop("metadata", {})
        self.objects[key] = {"apiVersion": WEB.api_version, "kind": WEB.kind, "metadata": metadata, **parts}
        self._touch(key)
        return self.objects[key]

    def edit(self, key: ObjectKey = KEY, **parts: Any) -> None:
        self.objects[key] |= parts
        self._touch(key)

    def delete(self, key: ObjectKey = KEY) -> None:
        """Begin a deletion; without finalizers the object goes at once."""
        self.objects[key]["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
        self._touch(key)
        self._collect(key)

    def status(self, key: ObjectKey = KEY) -> Object:
        status: Object = self.objects[key].get("status") or {}
        return status

    # --- what the runtime asks for ---

    async def get(self, resource: Resource, key: ObjectKey) -> Object:
        assert resource == WEBS
        self.reads += 1
        if key not in self.objects:
            raise ApiError.of(404, "NotFound", f"{key} is not there")
        return deepcopy(self.objects[key])

    async def patch(
        self,
        resource: Resource,
        key: ObjectKey,
        body: Object,
        *,
        subresource: str = "",
        content_type: str = MERGE_PATCH,
    ) -> Object:
        assert content_type == MERGE_PATCH
        if resource.plural == "events":
            self.events.append(deepcopy(body))
            return deepcopy(body)
        assert resource == WEBS
        if self.before_patch:
            self.before_patch.pop(0)()
        if key not in self.objects or (subresource and not self._status_subresource):
            raise ApiError.of(404, "NotFound", f"{key} is not there")
        current = self.objects[key]
        metadata = body["metadata"]
        if metadata["uid"] != current["metadata"]["uid"]:
            raise ApiError.of(409, "Conflict", "another uid")
        if metadata["resourceVersion"] != current["metadata"]["resourceVersion"]:
            raise ApiError.of(409, "Conflict", "it has changed")
        self.patches.append((subresource, deepcopy(body)))
        if subresource:
            current["status"] = {**(current.get("status") or {}), **deepcopy(body["status"])}
        else:
            assert set(body) == {"metadata"}, "the runtime writes metadata and status, nothing else"
            current["metadata"] |= deepcopy(metadata)
        self._touch(key)
        after = deepcopy(current)
        self._collect(key)
        return after

    async def request(self, method: str, path: str, *, body: Object) -> Object:
        """Only Events are made this way."""
        assert (method, path.rpartition("/")[2]) == ("POST", "events")
        self.events.append(deepcopy(body))
        return deepcopy(body)

    def _touch(self, key: ObjectKey) -> None:
        self._version += 1
        self.objects[key]["metadata"]["resourceVersion"] = str(self._version)

    def _collect(self, key: ObjectKey) -> None:
        metadata = self.objects[key]["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            del self.objects[key]


def fail(status: int, retry_after: float | None = None) -> Callable[[], None]:
    """An entry of ``before_patch``: the server answers with this error."""

    def trouble() -> None:
        raise ApiError.of(status, "Trouble", "trouble", retry_after)

    return trouble
