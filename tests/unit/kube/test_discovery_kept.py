"""Answers about what is served: kept for all, given up when that changes, and told apart by representation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import pytest

from ansible_operator.kube.access import Permissions
from ansible_operator.kube.client import Client
from ansible_operator.kube.definitions import DefinitionWatch, is_definition
from ansible_operator.kube.discovery import Discovery
from ansible_operator.kube.informers import Informers
from ansible_operator.kube.served import Served
from ansible_operator.model.errors import ApiError, Unavailable
from ansible_operator.model.gvk import GVK, Resource
from tests.support.virtual_time import virtual_time

JSON, AGGREGATED = "application/json", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
WEB = GVK("example.com", "v1", "Web")
WEBS = Resource(WEB, "webs", True, frozenset())


class Server:
    """Serves discovery, access reviews and watches of definitions; counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.body = b'{"groups": []}'
        self.kinds = [{"kind": "Web", "name": "webs", "namespaced": True, "verbs": ["get"]}]
        self.error: ApiError | None = None
        self.denied: set[tuple[str, str, str]] = set()
        self.reviews: list[dict[str, str]] = []
        self.events: asyncio.Queue[dict[str, Any] | ApiError] = asyncio.Queue()
        self.watches: list[tuple[str, Mapping[str, str]]] = []

    async def fetch(self, path: str, accept: str) -> tuple[dict[str, str], bytes]:
        self.asked.append((path, accept))
        await asyncio.sleep(0.5)
        if self.error is not None:
            raise self.error
        return {"Content-Type": accept, "ETag": '"1"', "Audit-Id": "x"}, self.body

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: Any = None
    ) -> dict[str, Any]:
        if method == "POST":
            attributes = body["spec"]["resourceAttributes"]
            self.reviews.append(attributes)
            denied = (attributes["resource"], attributes["namespace"], attributes["verb"]) in self.denied
            if self.error is not None:
                raise self.error
            return {"status": {"allowed": not denied}}
        self.asked.append((path, ""))
        if self.error is not None:
            raise self.error
        return {"resources": self.kinds, "metadata": {"resourceVersion": "10"}}

    async def watch(
        self, path: str, params: Mapping[str, str], silence: float, accept: str = "", opened: Any = None
    ) -> AsyncIterator[dict[str, Any]]:
        if "webs" in path:
            await asyncio.Event().wait()
        assert "PartialObjectMetadata" in accept
        self.watches.append((path, params))
        if "apiservices" in path:
            while True:
                await asyncio.sleep(60)
                yield bookmark("11")
        while True:
            event = await self.events.get()
            if isinstance(event, ApiError):
                raise event
            yield event


def bookmark(version: str) -> dict[str, Any]:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}}


def change(version: str) -> dict[str, Any]:
    return {"type": "MODIFIED", "object": {"metadata": {"resourceVersion": version}}}


def discovery_of(server: Server) -> Discovery:
    return Discovery(cast(Client, server))


# --- documents -------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_document_is_asked_for_once_and_told_byte_for_byte() -> None:
    server = Server()
    discovery = discovery_of(server)
    documents = await asyncio.gather(*(discovery.document("/apis", JSON) for _ in range(20)))
    assert {document.body for document in documents} == {server.body}
    assert documents[0].headers == {"Content-Type": JSON, "ETag": '"1"'}
    assert server.asked == [("/apis", JSON)]


@virtual_time
async def test_each_representation_is_a_document_of_its_own() -> None:
    server = Server()
    discovery = discovery_of(server)
    for _ in range(2):
        assert (await discovery.document("/apis", AGGREGATED)).headers["Content-Type"] == AGGREGATED
        assert (await discovery.document("/apis", JSON)).headers["Content-Type"] == JSON
    assert server.asked == [("/apis", AGGREGATED), ("/apis", JSON)]


@virtual_time
async def test_nobody_watching_a_document_is_kept_for_ten_seconds() -> None:
    server = Server()
    discovery = discovery_of(server)
    await discovery.document("/apis", JSON)
    await asyncio.sleep(9)
    await discovery.document("/apis", JSON)
    assert len(server.asked) == 1
    await asyncio.sleep(1)
    await discovery.document("/apis", JSON)
    assert len(server.asked) == 2


@virtual_time
async def test_a_fresh_one_is_asked_for_anew_and_kept_for_all() -> None:
    server = Server()
    discovery = discovery_of(server)
    await discovery.document("/apis", JSON)
    server.body = b"new"
    assert (await discovery.document("/apis", JSON, fresh=True)).body == b"new"
    assert (await discovery.document("/apis", JSON)).body == b"new"
    assert len(server.asked) == 2


@virtual_time
async def test_a_partial_document_is_told_but_not_kept_and_neither_is_trouble() -> None:
    server = Server()
    discovery = discovery_of(server)
    server.body = b'{"items": [{"versions": [{"freshness": "Stale"}]}]}'
    for _ in range(2):
        assert (await discovery.document("/apis", AGGREGATED)).body == server.body
    server.error = ApiError.of(503, "", "down")
    for _ in range(2):
        with pytest.raises(Unavailable):
            await discovery.document("/apis", AGGREGATED)
    assert len(server.asked) == 4


@virtual_time
async def test_after_a_change_nothing_is_kept_until_the_server_has_settled() -> None:
    server = Server()
    discovery = discovery_of(server)
    await discovery.document("/apis", JSON)
    await discovery.by_kind(WEB)
    await asyncio.sleep(1)
    discovery.served.changed()
    before = len(server.asked)
    for second in range(1, 4):
        await discovery.document("/apis", JSON)
        for _ in range(10):
            await discovery.by_kind(WEB)
        assert len(server.asked) == before + 2 * second, "kinds are kept for a second, documents not at all"
        await asyncio.sleep(1)
    await asyncio.sleep(7)
    before = len(server.asked)
    for _ in range(3):
        await discovery.document("/apis", JSON)
        await discovery.by_kind(WEB)
    assert len(server.asked) == before + 2


@virtual_time
async def test_as_many_documents_as_clients_can_think_of_are_not_kept() -> None:
    server = Server()
    discovery = discovery_of(server)
    await asyncio.gather(*(discovery.document("/apis", f"x/{number}") for number in range(3000)))
    assert len(discovery._documents) <= 1000
    assert discovery._locks == {}


# --- kinds -----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_kind_is_known_for_a_while_and_for_longer_where_the_server_does_not_answer() -> None:
    server = Server()
    discovery = discovery_of(server)
    namespaced = (await discovery.by_kind(WEB)).namespaced
    server.kinds = [{**server.kinds[0], "namespaced": False}]
    assert (await discovery.by_kind(WEB)).namespaced == namespaced
    await asyncio.sleep(11)
    server.error = ApiError.of(503, "", "down")
    assert (await discovery.by_kind(WEB)).namespaced == namespaced
    server.error = None
    assert (await discovery.by_kind(WEB)).namespaced != namespaced


# --- changes ---------------------------------------------------------------------------------------------------------


def watch_of(server: Server, served: Served) -> DefinitionWatch:
    client = cast(Client, server)
    return DefinitionWatch(client, served, Permissions(client))


@virtual_time
async def test_while_definitions_are_watched_documents_are_kept_for_long_and_given_up_at_a_change() -> None:
    server = Server()
    discovery = discovery_of(server)
    watch = watch_of(server, discovery.served)
    running = asyncio.create_task(watch.run())
    await asyncio.sleep(11)
    assert watch.watching()
    await discovery.document("/apis", JSON)
    for minute in range(5):
        server.events.put_nowait(bookmark(str(20 + minute)))
        await asyncio.sleep(60)
    await discovery.document("/apis", JSON)
    assert server.asked.count(("/apis", JSON)) == 1
    server.events.put_nowait(change("30"))
    await asyncio.sleep(0.1)
    await discovery.document("/apis", JSON)
    assert server.asked.count(("/apis", JSON)) == 2
    running.cancel()


@virtual_time
async def test_a_watch_that_is_silent_or_broken_counts_as_none_and_begins_anew() -> None:
    server = Server()
    served = Served()
    watch = watch_of(server, served)
    running = asyncio.create_task(watch.run())
    await asyncio.sleep(89)
    assert watch.watching()
    await asyncio.sleep(2)
    assert not watch.watching()
    server.events.put_nowait(bookmark("12"))
    await asyncio.sleep(1)
    assert watch.watching()
    settled = served.now()
    server.events.put_nowait(ApiError.of(0, "", "broken"))
    await asyncio.sleep(0.1)
    assert not watch.watching()
    await asyncio.sleep(2)
    assert watch.watching()
    assert not served.holds(settled), "what may have changed meanwhile is given up"
    assert [params["resourceVersion"] for path, params in server.watches if "custom" in path] == ["10", "10"]
    running.cancel()


@virtual_time
async def test_as_long_as_rbac_forbids_to_watch_either_kind_nothing_is_watched() -> None:
    server = Server()
    server.denied = {("apiservices", "", "watch")}
    served = Served()
    watch = watch_of(server, served)
    running = asyncio.create_task(watch.run())
    await asyncio.sleep(3600)
    assert not watch.watching()
    assert server.watches == []
    server.denied = set()
    await asyncio.sleep(400)
    assert len(server.watches) == 2
    running.cancel()


@pytest.mark.parametrize(
    ("group", "plural", "yes"),
    [
        ("apiextensions.k8s.io", "customresourcedefinitions", True),
        ("apiregistration.k8s.io", "apiservices", True),
        ("example.com", "customresourcedefinitions", False),
    ],
)
def test_which_objects_decide_what_is_served(group: str, plural: str, yes: bool) -> None:
    assert is_definition(group, plural) is yes


# --- what may be watched ---------------------------------------------------------------------------------------------


@virtual_time
async def test_what_may_be_watched_is_asked_once_for_each_kind_and_namespace() -> None:
    server = Server()
    server.denied = {("webs", "b", "list"), ("webs", "c", "watch")}
    permissions = Permissions(cast(Client, server))
    for _ in range(3):
        verdicts = await asyncio.gather(*(permissions.may_watch(WEBS, namespace) for namespace in ("", "a", "b", "c")))
        assert verdicts == [True, True, False, False]
        await asyncio.sleep(60)
    assert len(server.reviews) == 8
    assert server.reviews[0] == {"group": "example.com", "resource": "webs", "namespace": "", "verb": "list"}


@virtual_time
async def test_where_the_server_does_not_say_it_is_tried_and_asked_again_the_next_time() -> None:
    server = Server()
    permissions = Permissions(cast(Client, server))
    server.error = ApiError.of(403, "", "no reviews for you")
    assert await permissions.may_watch(WEBS, "")
    server.error = None
    server.denied = {("webs", "", "list")}
    assert not await permissions.may_watch(WEBS, "")


@virtual_time
async def test_no_informer_starts_that_rbac_forbids_and_it_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server()
    server.denied = {("webs", "a", "list")}
    informers = Informers(cast(Client, server), ["a", "b"])
    for _ in range(3):
        informers.ensure(WEBS, lambda change: None, required=False)
        await asyncio.sleep(1)
    lists = [path for path, _ in server.asked]
    assert lists == ["/apis/example.com/v1/namespaces/b/webs"]
    assert [informer.namespace for informer in informers.unsynced()] == []
    assert (informers.behind(), informers.stuck()) == (None, None)
    said = capsys.readouterr()
    assert (said.out + said.err).count("not watched") == 1
    await informers.stop()


@virtual_time
async def test_a_right_that_is_granted_later_is_noticed_within_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server()
    server.denied = {("webs", "", "list")}
    informers = Informers(cast(Client, server), [])
    (informer,) = informers.ensure(WEBS, lambda change: None, required=False)
    await asyncio.sleep(3600)
    assert server.asked == []
    assert len(server.reviews) < 2 * 13, "two questions every five minutes"
    server.denied = set()
    await asyncio.sleep(331)
    assert informer.synced.is_set()
    await asyncio.sleep(3600)
    assert len(server.reviews) < 2 * 15, "what is allowed is not asked for again"
    said = capsys.readouterr()
    assert (said.out + said.err).count("not watched") == 1
    await informers.stop()


@virtual_time
async def test_what_is_required_is_watched_without_asking() -> None:
    server = Server()
    server.denied = {("webs", "", "list")}
    informers = Informers(cast(Client, server), [])
    informers.ensure(WEBS, lambda change: None)
    await asyncio.sleep(1)
    assert server.reviews == []
    assert [path for path, _ in server.asked] == ["/apis/example.com/v1/webs"]
    await informers.stop()
