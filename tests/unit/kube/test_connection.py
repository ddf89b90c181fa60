"""Credentials are read again in time, by a clock that nobody sets, and whatever state their file is in."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from kubernetes.aio.client import Configuration

from ansible_operator.kube import client as client_module
from ansible_operator.kube import connection as module
from ansible_operator.kube.client import Client
from ansible_operator.kube.connection import Connection, connect
from ansible_operator.model.errors import ApiError, StartError, Unauthorized
from ansible_operator.proxy.certificates import make_certificates

HOST = "127.0.0.1"
IN_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the kubelet puts what a ServiceAccount is known by."""
    (tmp_path / "ca.crt").write_bytes(make_certificates(tmp_path).authority)
    (tmp_path / "token").write_text("first\n")
    monkeypatch.setattr(module, "_SERVICE_ACCOUNT", tmp_path)
    return tmp_path


class Clock:
    """A monotonic clock that a test moves on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def in_pod() -> tuple[Connection, Clock]:
    connection, clock = await connect(IN_POD), Clock()
    connection._clock, connection._renewed = clock, clock()
    return connection, clock


async def test_a_token_is_read_again_after_a_minute_whatever_the_clock_on_the_wall_says(mounted: Path) -> None:
    connection, clock = await in_pod()
    assert connection.host == "https://10.0.0.1"
    (mounted / "token").write_text("second\n")
    clock.now += 59
    assert await connection.headers() == {"Authorization": "bearer first"}
    clock.now += 2
    assert await connection.headers() == {"Authorization": "bearer second"}


@pytest.mark.parametrize("state", ["empty", "gone"])
async def test_a_token_that_cannot_be_read_just_now_leaves_the_old_one(mounted: Path, state: str) -> None:
    connection, clock = await in_pod()
    token = mounted / "token"
    token.write_text("") if state == "empty" else token.unlink()
    clock.now += 61
    assert await connection.headers() == {"Authorization": "bearer first"}
    token.write_text("second")
    await connection.renew()
    assert await connection.headers() == {"Authorization": "bearer second"}


async def test_a_pod_without_a_token_it_can_use_does_not_start(mounted: Path) -> None:
    (mounted / "token").write_text("")
    with pytest.raises(StartError, match="ServiceAccount cannot be used"):
        await connect(IN_POD)
    (mounted / "token").write_text("token")
    with pytest.raises(StartError, match="ServiceAccount cannot be used"):
        await connect({})


# --- refusals --------------------------------------------------------------------------------------------------------


class Guarded:
    """A server that lets in who has the right token; ``/silent`` never answers."""

    def __init__(self) -> None:
        self.token = "bearer first"
        self.asked: list[str] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request.headers["Authorization"])
        if request.path == "/silent":
            await asyncio.Event().wait()
        return web.json_response({}, status=200 if self.asked[-1] == self.token else 401)


@pytest.fixture
async def guarded() -> AsyncIterator[tuple[Guarded, Client, list[str]]]:
    """The server, a client of it, and the tokens that it finds when it reads its credentials again."""
    server, found = Guarded(), ["bearer second"]
    runner = web.ServerRunner(web.Server(server.handle), shutdown_timeout=0.1)
    await runner.setup()
    with socket.create_server((HOST, 0)) as listener:
        await web.SockSite(runner, listener).start()
        loaded = Configuration(host=f"http://{HOST}:{listener.getsockname()[1]}")
        loaded.api_key["BearerToken"] = "bearer first"

        async def load() -> Configuration:
            loaded.api_key["BearerToken"] = found[0]
            return loaded

        connection = Connection(loaded, load)
        yield server, Client(connection), found
        await connection.close()
        await runner.cleanup()


async def test_credentials_that_are_refused_are_read_again_and_the_request_is_repeated_once(
    guarded: tuple[Guarded, Client, list[str]],
) -> None:
    server, client, found = guarded
    assert await client.request("GET", "/ok") == {}
    server.token = "bearer second"
    assert await client.request("GET", "/ok") == {}
    assert server.asked == ["bearer first", "bearer first", "bearer second"]
    server.token = "bearer third"
    with pytest.raises(Unauthorized):
        await client.request("GET", "/ok")
    found[0] = "bearer third"
    assert await client.request("GET", "/ok") == {}


async def test_a_watch_that_is_not_answered_at_all_is_given_up(
    guarded: tuple[Guarded, Client, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_HEAD_SECONDS", 0.2)
    _, client, _ = guarded
    with pytest.raises(ApiError, match="no answer"):
        async for _ in client.watch("/silent", {}, 600):
            pass


async def test_a_peer_that_is_gone_without_a_word_is_noticed(guarded: tuple[Guarded, Client, list[str]]) -> None:
    _, client, _ = guarded
    connector = client.connection.session.connector
    assert connector is not None
    await client.request("GET", "/ok")
    [[(protocol, _)]] = connector._conns.values()  # type: ignore[attr-defined]
    sock = protocol.transport.get_extra_info("socket")
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    idle, interval, count = (
        sock.getsockopt(socket.IPPROTO_TCP, option)
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert idle + count * interval <= 60, "within a minute"
