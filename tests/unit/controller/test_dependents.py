"""Which children are watched, and whom their changes call (contract 4.3, 4.8)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ansible_operator.controller.controller import Queue
from ansible_operator.controller.dependents import Dependents
from ansible_operator.kube.informer import Change, Handler
from ansible_operator.kube.informers import Informers
from ansible_operator.model.gvk import GVK, ObjectKey, Resource
from ansible_operator.model.owner import Owner
from ansible_operator.model.watch import Content, Watch
from ansible_operator.proxy.grants import Child
from tests.support.virtual_time import virtual_time

THING = GVK("test.example.com", "v1", "Thing")
THINGS = Resource(THING, "things", True, frozenset())
PODS = Resource(GVK("", "v1", "Pod"), "pods", True, frozenset())
ROLES = Resource(GVK("rbac.authorization.k8s.io", "v1", "ClusterRole"), "clusterroles", False, frozenset())
WATCH = Watch(THING, Content(role=Path("/roles/thing")))
OWNER = Owner(THING, ObjectKey("a", "one"), "uid-1")
NEAR, FAR = Child(PODS, "a", by_annotation=False), Child(ROLES, "", by_annotation=True)


class Asked:
    """Informers that only remember what they are asked for; ``namespaces`` are those that are watched."""

    def __init__(self, *namespaces: str) -> None:
        self.kinds: list[str] = []
        self.handlers: list[Handler] = []
        self._real = Informers(cast(Any, None), namespaces)

    def watches(self, namespace: str) -> bool:
        return self._real.watches(namespace)

    def ensure(self, resource: Resource, handler: Handler, label_selector: str = "", *, required: bool = True) -> None:
        assert not required
        self.kinds.append(resource.gvk.kind)
        self.handlers.append(handler)


def watched(child: Child, *namespaces: str, **options: Any) -> list[str]:
    informers = Asked(*namespaces)
    dependents = Dependents(replace(WATCH, **options), THINGS, cast(Informers, informers), Queue())
    for _ in range(2):
        dependents.on_child(child)
    return informers.kinds


@virtual_time
async def test_a_childs_kind_is_watched_once() -> None:
    assert watched(NEAR) == ["Pod"]
    assert watched(NEAR, "a", "b") == ["Pod"]


@pytest.mark.parametrize(
    "options", [{"watch_dependent_resources": False}, {"blacklist": frozenset({PODS.gvk})}], ids=["off", "blacklist"]
)
@virtual_time
async def test_but_not_where_the_watch_does_not_want_it(options: dict[str, Any]) -> None:
    assert watched(NEAR, **options) == []


@virtual_time
async def test_nor_for_a_child_outside_the_watched_namespaces() -> None:
    assert watched(NEAR, "b") == []
    assert watched(FAR, "b", watch_cluster_scoped_resources=True) == []


@virtual_time
async def test_a_cluster_scoped_child_of_a_namespaced_owner_only_where_that_is_asked_for() -> None:
    assert watched(FAR) == []
    assert watched(FAR, watch_cluster_scoped_resources=True) == ["ClusterRole"]
    assert watched(Child(ROLES, "", by_annotation=False)) == ["ClusterRole"]


@virtual_time
async def test_a_change_calls_the_owners_of_the_old_and_of_the_new_object() -> None:
    informers, queue = Asked(), Queue()
    Dependents(WATCH, THINGS, cast(Informers, informers), queue).on_child(NEAR)
    pod: dict[str, Any] = {"metadata": {"name": "p", "namespace": "a", "ownerReferences": [OWNER.reference()]}}
    other = {**OWNER.reference(), "name": "two"}
    taken: dict[str, Any] = {"metadata": {**pod["metadata"], "ownerReferences": [other]}}
    changes: list[tuple[Change, set[str]]] = [
        (Change("added", None, pod), set()),
        (Change("updated", pod, {**pod, "status": {"phase": "Running"}}), set()),
        (Change("updated", pod, taken), {"one", "two"}),
        (Change("deleted", pod, None), {"one"}),
    ]
    for change, called in changes:
        informers.handlers[0](change)
        keys = [(await queue.get())[0] for _ in range(len(queue))]
        assert {key.name for key in keys} == called
        for key in keys:
            queue.done(key)
