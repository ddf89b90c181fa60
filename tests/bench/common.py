"""What measurements share: a kind, many objects of it, readings of a process, and who asked the API server for what."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import urllib3

from localcluster import Cluster
from tests.support.api import Api
from tests.support.kinds import CRD, Kind, definition
from tests.support.waiting import until

_AT_ONCE = 16


def api_of(cluster: Cluster) -> Api:
    """A client with all rights."""
    return Api(cluster.server, cluster.ca_file, _token(cluster))


def _token(cluster: Cluster) -> str:
    return (cluster.directory / "admin.token").read_text()


def serve(api: Api, kind: Kind) -> None:
    """Install a kind; a fresh one answers 404 and 429 for a while."""
    api.create(CRD, definition(kind))
    until(lambda: api.serves(kind), f"{kind.kind} is served", 60)


class Requests:
    """Changes and watches that cost next to nothing: their connections stay open."""

    def __init__(self, cluster: Cluster) -> None:
        self._server = cluster.server
        self._headers = {"Authorization": f"Bearer {_token(cluster)}", "Content-Type": "application/merge-patch+json"}
        self._pool = urllib3.PoolManager(ca_certs=str(cluster.ca_file))

    def patch(self, path: str, change: dict[str, Any]) -> None:
        """A merge patch."""
        answer = self._pool.request("PATCH", self._server + path, body=json.dumps(change), headers=self._headers)
        assert answer.status == 200, answer.data

    def watch(self, path: str, version: str, deadline: float) -> Iterator[dict[str, Any]]:
        """Every state of the objects of a collection after ``version``, until ``deadline`` (monotonic seconds)."""
        while (left := deadline - time.monotonic()) > 1:
            query = f"?watch=true&resourceVersion={version}&timeoutSeconds={int(left)}"
            answer = self._pool.request(
                "GET", self._server + path + query, headers=self._headers, preload_content=False
            )
            try:
                for line in answer:
                    event = json.loads(line)
                    assert event["type"] != "ERROR", event
                    version = event["object"]["metadata"]["resourceVersion"]
                    yield event["object"]
            finally:
                answer.close()


def create_many(cluster: Cluster, kind: Kind, objects: Iterable[dict[str, Any]]) -> None:
    """Make objects in the namespace default, with their status where they have one."""
    asyncio.run(_create_many(cluster, kind, iter(objects)))


async def _create_many(cluster: Cluster, kind: Kind, objects: Iterable[dict[str, Any]]) -> None:
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    connector = aiohttp.TCPConnector(limit=_AT_ONCE, ssl=context)
    headers = {"Authorization": f"Bearer {_token(cluster)}", "Content-Type": "application/json"}

    async def send(session: aiohttp.ClientSession, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        async with session.request(method, cluster.server + path, data=json.dumps(body)) as answer:
            assert answer.status < 300, await answer.text()
            made: dict[str, Any] = await answer.json()
            return made

    async def work(session: aiohttp.ClientSession) -> None:
        for obj in objects:
            made = await send(session, "POST", kind.path("default"), obj)
            if "status" in obj:
                path = kind.path("default", obj["metadata"]["name"], "status")
                await send(session, "PUT", path, {**made, "status": obj["status"]})

    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        await asyncio.gather(*(work(session) for _ in range(_AT_ONCE)))


@dataclass(frozen=True)
class Request:
    """One answered request, from the audit log."""

    agent: str
    verb: str
    path: str
    resource: str

    @property
    def own(self) -> bool:
        """Whether the operator itself asked, and not a run through its proxy."""
        return self.agent.startswith("ansible-operator/")

    @property
    def discovery(self) -> bool:
        """Whether it asked what is served."""
        return not self.resource and self.path.startswith(("/api", "/version", "/openapi"))


class Audit:
    """The requests that were answered since it was made or last read."""

    def __init__(self, cluster: Cluster) -> None:
        self._file = cluster.audit_log
        self._place = self._file.stat().st_size

    def read(self) -> list[Request]:
        """Those of operators and runs; components of the cluster have names of their own."""
        with self._file.open("rb") as file:
            file.seek(self._place)
            lines = file.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        self._place += sum(map(len, whole))
        return [request for line in whole if (request := _request(json.loads(line))) is not None]


def _request(event: dict[str, Any]) -> Request | None:
    agent = event.get("userAgent", "")
    if agent.startswith(("kube-", "kwok", "Python-urllib", "etcd")) or agent == "":
        return None
    reference = event.get("objectRef") or {}
    resource = "/".join(filter(None, (reference.get("resource", ""), reference.get("subresource", ""))))
    return Request(agent, event["verb"], event["requestURI"].partition("?")[0], resource)


def by_kind(requests: Iterable[Request]) -> Counter[str]:
    """How many of each sort, such as ``get benches/status``."""
    return Counter(f"{request.verb} {request.resource or request.path}" for request in requests)
