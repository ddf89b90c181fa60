"""Each request of the operator is told once, with what came of it, as client-go counts its own."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import cast

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from ansible_operator.kube.client import Client
from ansible_operator.kube.connection import Connection
from ansible_operator.model.errors import ApiError, Forbidden

HOST = "127.0.0.1"
Told = list[tuple[str, str, str]]


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A server with /ok, /no, and a watch that breaks off."""

    async def breaks_off(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = 1000
        await response.prepare(request)
        await response.write(b'{"type": "BOOKMARK"}\n')
        assert request.transport is not None
        request.transport.abort()
        return response

    application = web.Application()
    application.router.add_route("*", "/ok", _ok)
    application.router.add_route("*", "/no", _no)
    application.router.add_get("/watch", breaks_off)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def _ok(_request: web.Request) -> web.Response:
    return web.json_response({})


async def _no(_request: web.Request) -> web.Response:
    return web.json_response({}, status=403)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made


def client(session: aiohttp.ClientSession, port: int, told: Told) -> Client:
    async def headers() -> dict[str, str]:
        return {}

    base = URL(f"http://{HOST}:{port}")
    connection = SimpleNamespace(session=session, base=base, host=str(base), headers=headers, server_name=None)
    return Client(cast(Connection, connection), observe=lambda *request: told.append(request))


async def test_an_answer_is_told_with_its_status(session: aiohttp.ClientSession, port: int) -> None:
    told: Told = []
    asked = client(session, port, told)
    await asked.request("GET", "/ok")
    await asked.request("PATCH", "/ok", body={})
    with pytest.raises(Forbidden):
        await asked.request("POST", "/no", body={})
    assert told == [
        (f"{HOST}:{port}", method, code) for method, code in (("GET", "200"), ("PATCH", "200"), ("POST", "403"))
    ]


async def test_no_answer_is_told_as_an_error(session: aiohttp.ClientSession) -> None:
    told: Told = []
    with socket.socket() as closed:  # bound and not listening: refused at once
        closed.bind((HOST, 0))
        asked = client(session, closed.getsockname()[1], told)
        with pytest.raises(ApiError):
            await asked.request("GET", "/ok")
        with pytest.raises(ApiError):
            async for _ in asked.watch("/watch", {}, 60):
                pass
    assert [code for _, _, code in told] == ["<error>", "<error>"]


async def test_a_watch_is_told_once_however_it_ends(session: aiohttp.ClientSession, port: int) -> None:
    told: Told = []
    asked = client(session, port, told)
    with pytest.raises(ApiError):
        async for _ in asked.watch("/watch", {}, 60):
            pass
    with pytest.raises(Forbidden):
        async for _ in asked.watch("/no", {}, 60):
            pass
    assert [(method, code) for _, method, code in told] == [("GET", "200"), ("GET", "403")]
