"""When a read may be answered from a store, and what is said then (contract 4.8; rows 59 to 61)."""

from __future__ import annotations

import asyncio
import json
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from ansible_operator.kube.client import Client
from ansible_operator.kube.informer import Informer
from ansible_operator.kube.informers import Informers
from ansible_operator.model.errors import ApiError
from ansible_operator.model.gvk import GVK, ObjectKey, Resource
from ansible_operator.model.owner import Owner
from ansible_operator.proxy.grants import Grant, Session
from ansible_operator.proxy.reads import Found, Reads
from ansible_operator.proxy.requestinfo import request_info, target_of
from tests.support.virtual_time import virtual_time

CONFIG_MAP = GVK("", "v1", "ConfigMap")
CONFIG_MAPS = Resource(CONFIG_MAP, "configmaps", True, frozenset())
NODES = Resource(GVK("", "v1", "Node"), "nodes", False, frozenset())
OWNER = Owner(GVK("example.com", "v1", "Web"), ObjectKey("a", "web"), "uid-1")
GRANT = Grant(OWNER, True, lambda child: None)
ONE, LIST = "/api/v1/namespaces/a/configmaps/x", "/api/v1/namespaces/a/configmaps"


def config_map(name: str, namespace: str = "a", version: int = 5, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version), "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "ü\u2028"}}


class World:
    """An informer whose store holds some objects, as of resource version 10, and one run that reads."""

    def __init__(self, resource: Resource = CONFIG_MAPS, namespace: str = "", selector: str = "") -> None:
        self.informer = Informer(cast(Client, None), resource, namespace, selector)
        self.informers = Informers(cast(Client, None), [namespace] if namespace else [])
        task = asyncio.get_running_loop().create_future()
        self.informers._running[(resource.gvk, namespace, selector)] = (self.informer, cast(Any, task))
        self.reads = Reads(self.informers)
        self.session = Session(GRANT)
        self.sync()

    def sync(self) -> None:
        """As after the first list."""
        self.informer._version = "10"
        self.informer._touch()
        self.informer.synced.set()

    def put(self, *objects: dict[str, Any]) -> None:
        for obj in objects:
            self.informer.store.put(deepcopy(obj))

    def find(self, path: str, session: Session | None = None, **headers: str) -> Found | None:
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        request = cast(web.BaseRequest, make_mocked_request("GET", path, headers=given))
        target = target_of(path)
        assert target is not None
        info = request_info(target.path)
        assert info is not None
        return self.reads.find(request, target, info, session or self.session)

    def names(self, path: str) -> list[str] | None:
        found = self.find(path)
        return (
            None if found is None else [f"{o['metadata']['namespace']}/{o['metadata']['name']}" for o in found.objects]
        )


# --- what is answered ------------------------------------------------------------------------------------------------


@virtual_time
async def test_one_object_is_told_as_it_is_stored_and_stays_as_it_was() -> None:
    world = World()
    world.put({**config_map("x"), "metadata": {**config_map("x")["metadata"], "managedFields": [{"manager": "m"}]}})
    before = deepcopy(world.informer.store.get(ObjectKey("a", "x")))
    found = world.find(ONE)
    assert found is not None
    assert json.loads(found.body) == config_map("x")
    assert found.resource == CONFIG_MAPS
    assert world.informer.store.get(ObjectKey("a", "x")) == before


@virtual_time
async def test_a_list_has_the_version_of_the_store_and_the_order_of_the_server() -> None:
    world = World()
    world.put(config_map("y"), config_map("x", "b"), config_map("x"), config_map("z", "a", 9))
    found = world.find("/api/v1/configmaps")
    assert found is not None
    listed = json.loads(found.body)
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert listed["metadata"] == {"resourceVersion": "10"}
    assert [obj["metadata"]["name"] for obj in listed["items"]] == ["x", "y", "z", "x"]
    assert listed["items"][0] == config_map("x")
    assert world.names(LIST) == ["a/x", "a/y", "a/z"]
    assert world.names("/api/v1/namespaces/nobody/configmaps") == []


@virtual_time
async def test_lists_that_are_long_or_chosen_from_many_go_upstream() -> None:
    world = World()
    world.put(*(config_map(f"c{number}", tier=str(number % 4)) for number in range(500)))
    world.put(config_map("elsewhere", "b"))
    assert len(world.names(LIST) or ()) == 500
    world.put(*(config_map(f"c{number}", tier=str(number % 4)) for number in range(500, 2000)))
    assert world.names(LIST) is None
    assert len(world.names(f"{LIST}?labelSelector=tier%3D1") or ()) == 500
    assert world.names(f"{LIST}?labelSelector=tier%21%3D1") is None
    world.put(config_map("one-more"))
    assert world.names(f"{LIST}?labelSelector=tier%3D1") is None
    assert world.names("/api/v1/namespaces/b/configmaps") == ["b/elsewhere"]


@virtual_time
async def test_cluster_scoped_objects_are_found_as_well() -> None:
    world = World(NODES)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "resourceVersion": "5"}}
    world.put(node)
    found = world.find("/api/v1/nodes/n")
    assert found is not None
    assert json.loads(found.body) == node


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("", ["a/x", "a/y", "a/z"]),
        ("tier=gold", ["a/x"]),
        ("tier==gold", ["a/x"]),
        (" tier = gold , of=web", ["a/x"]),
        ("tier!=gold", ["a/y", "a/z"]),
        ("tier=", []),
        ("tier=gold,tier=silver", []),
        ("example.com/tier=gold", []),
    ],
)
def test_labels_that_must_be_equal_or_not_are_looked_at_here(selector: str, names: list[str]) -> None:
    @virtual_time
    async def test() -> None:
        world = World()
        world.put(config_map("x", tier="gold", of="web"), config_map("y", tier="silver"), config_map("z"))
        assert world.names(f"{LIST}?labelSelector={selector.replace('=', '%3D')}") == names

    test()


# --- what goes upstream ----------------------------------------------------------------------------------------------

UPSTREAM = [
    "/api/v1/namespaces/a/configmaps/y",  # not in the store
    "/api/v1/configmaps/x",  # names no namespace
    f"{ONE}/status",
    "/api/v1/namespaces/a/pods/x/log",
    "/api/v1/namespaces/a/secrets",
    "/apis/other.com/v1/namespaces/a/configmaps",
    "/api/v2/namespaces/a/configmaps",
    "/api/v1/watch/namespaces/a/configmaps",
    *(
        f"{LIST}?{query}"
        for query in (
            *("watch=1", "watch=false", "limit=500", "limit=0", "continue=x", "dryRun=All", "pretty=true", "unknown"),
            *(
                "resourceVersion=5",
                "resourceVersion=0&resourceVersionMatch=NotOlderThan",
                "fieldSelector=metadata.name%3Dx",
            ),
            *("labelSelector=a%20in%20(b)", "labelSelector=a", "labelSelector=!a", "labelSelector=a%3Db,c"),
            *("labelSelector=-a%3Db", f"labelSelector=a%3D{'b' * 64}", "labelSelector=a%3Db&labelSelector=c%3Dd"),
            *("labelSelector=,", "labelSelector=a%3Db,", "labelSelector=a%3Db%20c"),
        )
    ),
    f"{ONE}?resourceVersion=0",
    f"{ONE}?pretty=true",
]


@pytest.mark.parametrize("path", UPSTREAM)
def test_what_a_store_cannot_tell_goes_upstream(path: str) -> None:
    @virtual_time
    async def test() -> None:
        world = World()
        world.put(config_map("x", a="b"))
        assert world.find(path) is None

    test()


@pytest.mark.parametrize("query", ["", "?resourceVersion=", "?resourceVersion=0", "?labelSelector="])
def test_what_it_can_tell_does_not(query: str) -> None:
    @virtual_time
    async def test() -> None:
        world = World()
        world.put(config_map("x"))
        assert world.names(LIST + query) == ["a/x"]

    test()


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "plain"),
    [
        *(
            (text, True)
            for text in ("application/json", "*/*", "application/*", "Application/JSON", "application/json, */*")
        ),
        *((text, False) for text in (TABLE, f"{TABLE},application/json", "application/vnd.kubernetes.protobuf")),
        *(
            (text, False)
            for text in ("application/cbor,application/json", "application/yaml", "application/json;q=0.5")
        ),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", False),
    ],
)
def test_only_plain_json_is_told_from_memory(accept: str, plain: bool) -> None:
    @virtual_time
    async def test() -> None:
        world = World()
        world.put(config_map("x"))
        assert (world.find(ONE, Accept=accept) is not None) is plain

    test()


@virtual_time
async def test_what_is_asked_in_another_name_goes_upstream() -> None:
    world = World()
    world.put(config_map("x"))
    assert world.find(ONE) is not None
    assert world.find(ONE, Impersonate_User="system:anonymous") is None
    assert world.find(ONE, impersonate_group="x") is None


@virtual_time
async def test_informers_that_hold_only_a_part_are_not_asked() -> None:
    partial = World(selector="tier in (gold)")
    partial.put(config_map("x"))
    assert partial.find(ONE) is None
    one_namespace = World(namespace="a")
    one_namespace.put(config_map("x"))
    assert one_namespace.names(LIST) == ["a/x"]
    assert one_namespace.find("/api/v1/configmaps") is None
    assert one_namespace.find("/api/v1/namespaces/b/configmaps") is None


@virtual_time
async def test_kinds_on_the_blacklist_and_the_owners_own_kind_go_upstream() -> None:
    world = World()
    world.put(config_map("x"))
    assert world.find(ONE, Session(replace(GRANT, blacklist=frozenset({CONFIG_MAP})))) is None
    own = Owner(GVK("", "v2", "ConfigMap"), ObjectKey("a", "x"), "uid")
    assert world.find(ONE, Session(replace(GRANT, owner=own))) is None
    assert world.find(ONE, Session()) is None
    assert world.find(ONE, Session(GRANT)) is not None


@virtual_time
async def test_a_long_list_goes_upstream() -> None:
    world = World()
    world.put(*(config_map(f"c{number}", many="yes") for number in range(501)))
    assert world.find(LIST) is None
    assert world.find(f"{LIST}?labelSelector=many!%3Dyes") is not None


# --- a store that may be behind --------------------------------------------------------------------------------------


@virtual_time
async def test_a_store_without_its_first_list_is_not_asked() -> None:
    world = World()
    world.put(config_map("x"))
    world.informer._version = None
    assert world.find(ONE) is None


@virtual_time
async def test_a_store_whose_watch_is_silent_is_not_asked() -> None:
    world = World()
    world.put(config_map("x"))
    await asyncio.sleep(89)
    assert world.find(ONE) is not None
    await asyncio.sleep(2)
    assert world.find(ONE) is None
    world.informer._handle({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "11"}}})
    world.informer._touch()
    assert world.find(ONE) is not None


@virtual_time
async def test_a_store_whose_watch_broke_is_not_asked_until_the_server_is_heard_again() -> None:
    world = World()
    world.put(config_map("x"))
    await world.informer._pause(ApiError.of(0, "NoAnswer", "the connection broke"), 1)
    assert world.find(ONE) is None
    world.informer._touch()
    assert world.find(ONE) is not None
    await world.informer._pause(ApiError.of(404, "NotFound", "the kind is gone"), 1)
    world.informer._touch()
    assert world.find(ONE) is None, "it has to be listed anew"


# --- a run reads what it has written ---------------------------------------------------------------------------------


@virtual_time
async def test_a_run_that_has_written_to_a_kind_reads_it_upstream_from_then_on_and_others_for_a_while() -> None:
    world = World()
    world.put(config_map("x"))
    other = Session(GRANT)
    with world.reads.writing(world.session, ("", "configmaps")):
        await asyncio.sleep(1000)  # a slow write
        world.sync()
        assert world.find(ONE) is None
        assert world.find(ONE, other) is None
    await asyncio.sleep(9)
    assert world.find(ONE, other) is None
    await asyncio.sleep(2)
    assert world.find(ONE, other) is not None
    assert world.find(LIST, Session(GRANT)) is not None
    assert world.find(ONE) is None
    assert world.find(LIST) is None


@virtual_time
async def test_a_write_to_another_kind_changes_nothing_and_one_of_unknown_effect_everything() -> None:
    world = World()
    world.put(config_map("x"))
    with world.reads.writing(world.session, ("apps", "deployments")):
        assert world.find(ONE) is not None
    with world.reads.writing(Session(GRANT), None):
        assert world.find(ONE) is None
    await asyncio.sleep(11)
    assert world.find(ONE) is not None
    with world.reads.writing(world.session, None):
        pass
    await asyncio.sleep(11)
    assert world.find(ONE) is None


@virtual_time
async def test_a_write_that_fails_counts_as_one_and_two_at_once_end_with_the_last() -> None:
    world = World()
    world.put(config_map("x"))
    other = Session(GRANT)
    with world.reads.writing(Session(GRANT), ("", "configmaps")):
        with pytest.raises(OSError), world.reads.writing(Session(GRANT), ("", "configmaps")):
            raise OSError
        await asyncio.sleep(100)
        world.sync()
        assert world.find(ONE, other) is None
    await asyncio.sleep(9)
    assert world.find(ONE, other) is None
    await asyncio.sleep(2)
    assert world.find(ONE, other) is not None
