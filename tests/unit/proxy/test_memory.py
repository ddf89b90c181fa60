"""Answers from memory, seen from outside: what a run is told, and how often the API server is asked for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.kube.client import Client
from ansible_operator.kube.informers import Informers
from ansible_operator.model.gvk import GVK, Resource
from ansible_operator.proxy.grants import Grant
from ansible_operator.proxy.reads import Reads
from tests.support.upstream import OWNER, Front, Received, front, ok, until

CONFIG_MAPS = Resource(GVK("", "v1", "ConfigMap"), "configmaps", True, frozenset())
VERBS = ["create", "delete", "get", "list", "watch"]
KINDS = {
    "/api/v1": [{"name": name, "kind": kind, "namespaced": True, "verbs": VERBS} for name, kind in
                (("configmaps", "ConfigMap"), ("pods", "Pod"))],
    "/apis/project.openshift.io/v1": [
        {"name": "projectrequests", "kind": "ProjectRequest", "namespaced": False, "verbs": ["create"]}
    ],
    "/apis/apiextensions.k8s.io/v1": [
        {"name": "customresourcedefinitions", "kind": "CustomResourceDefinition", "namespaced": False, "verbs": VERBS}
    ],
}  # fmt: skip
CHILD = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "a", "resourceVersion": "5", "ownerReferences": [OWNER.reference()]},
}
ONE, LIST = "/api/v1/namespaces/a/configmaps/c", "/api/v1/namespaces/a/configmaps"
UPSTREAM = b'{"kind": "ConfigMap",  "metadata": {"name": "c", "of": "upstream"}}'


async def answer(request: Received) -> bytes | None:
    """A list and a silent watch for the informer; discovery; what stands at UPSTREAM for all else."""
    path = request.line.split(" ")[1]
    if "watch=true" in path:
        request.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await request.reader.read()
        return None
    if path.startswith("/api/v1/configmaps?limit"):
        return ok(
            json.dumps({"kind": "ConfigMapList", "metadata": {"resourceVersion": "10"}, "items": [CHILD]}).encode()
        )
    if path.partition("?")[0] in KINDS:
        body = {"accept": request.header("accept"), "resources": KINDS[path.partition("?")[0]]}
        return ok(json.dumps(body).encode(), "Content-Type: application/json", 'ETag: "1"')
    return ok(UPSTREAM, "Content-Type: application/json")


@asynccontextmanager
async def world(work_dir: Path) -> AsyncIterator[Front]:
    """The proxy with an informer of ConfigMaps that has read its list."""
    async with front(answer, work_dir) as proxy:
        client = Client(proxy.connection)
        informers = Informers(client, [])
        informers.ensure(CONFIG_MAPS, lambda change: None)
        await informers.wait_for_sync(10)
        proxy.proxy._reads = Reads(informers)
        proxy.upstream.received.clear()
        try:
            yield proxy
        finally:
            await informers.stop()


def asked(proxy: Front, path: str) -> int:
    return sum(request.line.split(" ")[1].partition("?")[0] == path for request in proxy.upstream.received)


async def get(proxy: Front, path: str, *headers: str) -> tuple[bytes, Any]:
    head, body = await proxy.send(f"GET {path}", "Accept: application/json", *headers)
    return head, json.loads(body)


async def test_an_object_is_told_from_memory_and_its_kind_reported(tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        head, body = await get(proxy, ONE)
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert b"X-Cache: HIT" in head
        assert b"Content-Type: application/json" in head
        assert body == CHILD
        _, listed = await get(proxy, LIST)
        assert listed["items"] == [CHILD]
        assert listed["metadata"] == {"resourceVersion": "10"}
        assert proxy.upstream.received == []
        assert {(child.resource.plural, child.namespace) for child in proxy.children} == {("configmaps", "a")}


@pytest.mark.parametrize("line", [f"HEAD {ONE}", f"OPTIONS {ONE}", f"GET {ONE}?pretty=1", f"DELETE {ONE}"])
async def test_everything_but_a_plain_get_goes_upstream(line: str, tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        head, _ = await proxy.send(line, "Accept: application/json")
        assert b"X-Cache" not in head
        assert asked(proxy, ONE) == 1


async def test_reading_a_kind_that_nobody_watches_starts_no_informer(tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        pods = "/api/v1/namespaces/a/pods"
        for _ in range(2):
            next_run(proxy)
            head, _ = await proxy.send(f"GET {pods}", "Accept: application/json")
            assert b"X-Cache" not in head
        paths = [request.line.split(" ")[1] for request in proxy.upstream.received]
        assert paths == [pods, pods]


async def test_whoever_has_no_run_is_told_nothing_from_memory(tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        proxy.proxy._discovery.served.watched = lambda: True
        for path in (ONE, "/api/v1"):
            for _ in range(2):
                await proxy.send(f"GET {path}", anonymous=True)
            assert asked(proxy, path) == 2


@pytest.mark.parametrize(
    ("line", "upstream"),
    [
        (f"POST {LIST}", True),
        (f"PUT {ONE}", True),
        (f"PATCH {ONE}", True),
        (f"DELETE {ONE}", True),
        (f"DELETE {LIST}", True),
        (f"PATCH {ONE}/status", True),
        ("POST /api/v1/namespaces/b/configmaps", True),
        ("POST /apis/project.openshift.io/v1/projectrequests", True),
        ("POST /apis/unknown.com/v1/things", True),
        ("POST /api/v1//namespaces/a/configmaps", True),
        ("POST /api/v1/namespaces/a/pods", False),
        ("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", False),
        ("POST /apis/authentication.k8s.io/v1/tokenreviews", False),
        (f"HEAD {ONE}", False),
    ],
)
async def test_a_run_reads_its_own_writes(line: str, upstream: bool, tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        other = proxy.proxy.grants.issue(Grant(OWNER, True, lambda child: None))
        await proxy.send(line, "Content-Type: application/json", body=b"" if line.startswith("HEAD") else b"{}")
        before = asked(proxy, ONE)
        own = await get(proxy, ONE)
        proxy.token = other
        others = await get(proxy, ONE)
        assert (b"X-Cache" not in own[0], b"X-Cache" not in others[0]) == (upstream, upstream)
        assert asked(proxy, ONE) - before == (2 if upstream else 0)


async def test_a_read_that_begins_while_a_write_is_under_way_goes_upstream(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def slowly(request: Received) -> bytes | None:
        if request.line.startswith("PUT"):
            await go.wait()
        return await answer(request)

    async with world(tmp_path) as proxy:
        proxy.upstream._answer = slowly
        write = asyncio.create_task(proxy.send(f"PUT {ONE}", "Content-Type: application/json", body=b"{}"))
        await until(lambda: any(r.line.startswith("PUT") for r in proxy.upstream.received), "the write has begun")
        assert b"X-Cache" not in (await get(proxy, ONE))[0]
        go.set()
        await write


# --- discovery -------------------------------------------------------------------------------------------------------


def next_run(proxy: Front) -> None:
    proxy.token = proxy.proxy.grants.issue(Grant(OWNER, True, lambda child: None))


async def test_what_is_served_is_asked_for_once_for_all_runs(tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        answers = []
        for _ in range(5):
            next_run(proxy)
            answers.append(await get(proxy, "/api/v1?timeout=32s"))
        heads, bodies = zip(*answers, strict=True)
        assert asked(proxy, "/api/v1") == 1
        assert all(body == bodies[0] for body in bodies)
        assert all(b'ETag: "1"' in head and b"Content-Type: application/json" in head for head in heads)


async def test_the_version_is_asked_for_once_for_all_runs_and_anew_by_one_that_waits_for_another(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as proxy:
        proxy.proxy._discovery.served.watched = lambda: True
        for _ in range(3):
            next_run(proxy)
            await get(proxy, "/version")
        assert asked(proxy, "/version") == 1
        await get(proxy, "/version")
        assert asked(proxy, "/version") == 2


async def test_representations_are_told_apart(tmp_path: Path) -> None:
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    async with world(tmp_path) as proxy:
        for accept in (aggregated, "application/json", aggregated):
            next_run(proxy)
            _, body = await proxy.send("GET /api/v1", f"Accept: {accept}")
            assert json.loads(body)["accept"] == accept
        assert asked(proxy, "/api/v1") == 2


async def test_a_run_that_asks_again_is_told_what_is_new(tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        for expected in (1, 2, 3):
            await get(proxy, "/api/v1")
            assert asked(proxy, "/api/v1") == expected
        next_run(proxy)
        await get(proxy, "/api/v1")
        assert asked(proxy, "/api/v1") == 3


async def test_and_need_not_ask_again_where_changes_are_told(tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        proxy.proxy._discovery.served.watched = lambda: True
        for _ in range(3):
            await get(proxy, "/api/v1")
        assert asked(proxy, "/api/v1") == 1


async def test_a_run_that_makes_a_definition_finds_its_kind(tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        proxy.proxy._discovery.served.watched = lambda: True
        await get(proxy, "/api/v1")
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await proxy.send(f"POST {definitions}", "Content-Type: application/json", body=b"{}")
        for expected in (2, 3):
            await get(proxy, "/api/v1")
            assert asked(proxy, "/api/v1") == expected


@pytest.mark.parametrize(
    "path",
    ["/api/v1?x=y", "/api/v1/", "/openapi/v2", "/version/", "/apis/a/v1/b", "/apis//v1", "/apis/%61/v1", "/APIS"],
)
async def test_what_only_looks_like_it_goes_upstream(path: str, tmp_path: Path) -> None:
    async with world(tmp_path) as proxy:
        for _ in range(2):
            next_run(proxy)
            await get(proxy, path)
        assert len(proxy.upstream.received) == 2


async def test_trouble_is_told_in_the_api_servers_own_words_and_not_remembered(tmp_path: Path) -> None:
    async def trouble(request: Received) -> bytes:
        return ok(b'{"kind":  "Status"}', "Retry-After: 1", status="429 Too Many Requests")

    async with world(tmp_path) as proxy:
        proxy.upstream._answer = trouble
        head, body = await proxy.send("GET /apis")
        assert head.startswith(b"HTTP/1.1 429")
        assert b"Retry-After: 1" in head
        assert body == b'{"kind":  "Status"}'
        proxy.upstream._answer = answer
        assert (await proxy.send("GET /apis"))[0].startswith(b"HTTP/1.1 200")
