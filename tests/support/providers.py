"""A Prometheus and a receiver of webhooks on loopback, and what goes wrong with such servers.

It speaks the real HTTP API (`GET` and `POST /api/v1/query`, JSON answers and errors, their status codes) for queries
that the test gave a result; one that it was not given does not parse. It stands for the wire; what a real Prometheus
answers is for `make test-prometheus`.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.web_server import serving_application

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Provider:
    """The server, and what a test tells it."""

    port: int = 0
    scheme: str = "http"
    results: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Query to resultType and result."""
    token: str = ""
    """If set, nobody gets in without it."""
    queries: list[str] = field(default_factory=list)
    notices: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """Answers to the next notices; 200 when there are none left."""
    headers: list[dict[str, str]] = field(default_factory=list)
    strayed: int = 0
    """Requests to where a redirect points."""
    on_request: Callable[[], None] = lambda: None
    exposition: str = ""
    """What `/metrics` shows to who scrapes it."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def scalar(self, query: str, value: str) -> None:
        self.results[query] = ("scalar", [time.time(), value])

    def vector(self, query: str, *values: str) -> None:
        series = [{"metric": {"job": str(n)}, "value": [time.time(), value]} for n, value in enumerate(values)]
        self.results[query] = ("vector", series)

    async def query(self, request: web.Request) -> web.StreamResponse:
        asked = dict(request.query) | dict(await request.post())
        self._seen(request)
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401, text="Unauthorized\n")
        text = str(asked.get("query", ""))
        self.queries.append(text)
        if text in self.results:
            kind, result = self.results[text]
            return web.json_response({"status": "success", "data": {"resultType": kind, "result": result}})
        if text.startswith("twice"):
            return _error(422, "execution", "found duplicate series for the match group {} on the right hand-side")
        return _error(400, "bad_data", f'invalid parameter "query": 1:1: parse error: unexpected {text[:20]!r}')

    async def notice(self, request: web.Request) -> web.StreamResponse:
        self._seen(request)
        self.notices.append(await request.json())
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200, text="thanks")

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text=self.exposition)

    async def redirect(self, request: web.Request) -> web.StreamResponse:
        self._seen(request)
        raise web.HTTPTemporaryRedirect("/stranger")

    async def stranger(self, request: web.Request) -> web.StreamResponse:
        self.strayed += 1
        return web.json_response({"status": "success", "data": {"resultType": "scalar", "result": [1, "99"]}})

    async def drip(self, request: web.Request) -> web.StreamResponse:
        """An answer that never ends, a byte at a time: no read of it is ever late."""
        answer = web.StreamResponse()
        await answer.prepare(request)
        with suppress(ConnectionResetError):
            while True:
                await answer.write(b" ")
                await asyncio.sleep(0.1)
        return answer

    async def huge(self, request: web.Request) -> web.StreamResponse:
        """As many series as a careless query finds: 200 MB."""
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        await answer.write(b'{"status":"success","data":{"resultType":"vector","result":[')
        series = json.dumps({"metric": {"instance": "10.0.0.1:9100"}, "value": [1.5, "1"]}).encode() + b","
        with suppress(ConnectionResetError):
            for _ in range(200):
                await answer.write(series * (2**20 // len(series)))
        return answer

    async def echo(self, request: web.Request) -> web.StreamResponse:
        """A server that tells what it was sent."""
        return web.Response(status=400, text=f'{{"status":"error","error":"{request.headers.get("Authorization")}"}}')

    def _seen(self, request: web.Request) -> None:
        self.headers.append(dict(request.headers))
        self.on_request()

    def application(self) -> web.Application:
        app = web.Application()
        faults = {"redirect": self.redirect, "drip": self.drip, "huge": self.huge, "echo": self.echo}
        app.router.add_route("*", "/api/v1/query", self.query)
        app.router.add_post("/hook", self.notice)
        app.router.add_get("/metrics", self.metrics)
        app.router.add_route("*", "/stranger", self.stranger)
        for name, handler in faults.items():
            app.router.add_route("*", f"/{name}/api/v1/query", handler)
            app.router.add_route("*", f"/{name}", handler)
        return app


def _error(status: int, kind: str, text: str) -> web.Response:
    return web.json_response({"status": "error", "errorType": kind, "error": text}, status=status)


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Provider]:
    """A provider on a free port, in a thread of its own."""
    provider = Provider(scheme="https" if context else "http")
    with serving_application(provider.application(), context) as provider.port:
        yield provider
