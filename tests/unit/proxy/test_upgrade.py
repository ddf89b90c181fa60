"""Upgrades: whatever the protocol is, the connection becomes two-way, and nothing of it is read as HTTP."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import pytest

from ansible_operator.proxy.grants import Grant
from tests.support.upstream import OWNER, SECONDS, Front, Received, closed, front, ok, until

SPDY = ("Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io")
WEBSOCKET = ("Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
EXEC = "POST /api/v1/namespaces/a/pods/p/exec?command=sh"
EARLY = b"\x80\x03 output that comes at once\r\n\r\nHTTP/1.1 400 Bad Request\r\n\r\n"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def switching(request: Received) -> bytes:
    protocol = request.header("upgrade")
    return f"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nUPGRADE: {protocol}\r\n\r\n".encode()


async def echo(request: Received) -> bytes | None:
    """Switches where asked to, with something to say at once, and from then on says what it is told."""
    if request.header("upgrade") is None:
        return ok(b"plain")
    request.writer.write(switching(request) + EARLY)
    while data := await request.reader.read(65536):
        request.writer.write(data)
        await request.writer.drain()
    return None


async def ask(proxy: Front, streams: Streams, line: str, *headers: str) -> bytes:
    """Send a request and return the head of the answer."""
    streams[1].write(proxy.head(line, *headers))
    return await asyncio.wait_for(streams[0].readuntil(b"\r\n\r\n"), SECONDS)


async def says(streams: Streams, expected: bytes) -> None:
    assert await asyncio.wait_for(streams[0].readexactly(len(expected)), SECONDS) == expected


async def is_closed(reader: asyncio.StreamReader) -> bytes:
    """What still came before the end."""
    with suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(), SECONDS)
    return b""


# --- tunnels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [SPDY, WEBSOCKET], ids=["spdy", "websocket"])
@pytest.mark.parametrize("line", [EXEC, "GET /api/v1/namespaces/a/pods/p/portforward", "GET /api/v1/pods?watch=1"])
@pytest.mark.parametrize("anonymous", [False, True], ids=["tls", "plain"])
async def test_bytes_go_both_ways_as_they_are(
    headers: tuple[str, ...], line: str, anonymous: bool, tmp_path: Path
) -> None:
    async with front(echo, tmp_path, base="/base") as proxy:
        streams = await proxy.open(anonymous=anonymous)
        head = await ask(proxy, streams, line, *headers, "Content-Length: 0", "X-Bytes: a b")
        assert head.startswith(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nUPGRADE: ")
        await says(streams, EARLY)
        for data in (b"\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)) * 4000):
            streams[1].write(data)
            await says(streams, data)
        (request,) = proxy.upstream.received
        assert request.line == f"{line.replace(' /', ' /base/')} HTTP/1.1"
        assert request.header("authorization") == "Bearer of-the-operator"
        assert request.header("host") == proxy.connection.base.host_port_subcomponent
        assert [name for name, _ in request.headers].count("authorization") == 1
        assert request.header("x-bytes") == "a b"
        for name, _, value in (header.partition(": ") for header in headers):
            assert request.header(name.lower()) == value
        await closed(streams[1])
        await until(lambda: proxy.upstream.open_connections == 0, "the connection upstream is closed")


async def test_a_connection_that_was_used_before_can_be_switched_as_well(tmp_path: Path) -> None:
    async with front(echo, tmp_path) as proxy:
        streams = await proxy.open()
        for _ in range(2):
            await ask(proxy, streams, "GET /healthz")
            await says(streams, b"plain")
        await ask(proxy, streams, EXEC, *SPDY)
        await says(streams, EARLY)
        streams[1].write(b"hello")
        await says(streams, b"hello")
        await closed(streams[1])


async def test_what_the_api_server_says_last_arrives_before_the_end(tmp_path: Path) -> None:
    last = b"x" * 3_000_000

    async def speak(request: Received) -> None:
        request.writer.write(switching(request) + last)
        await request.writer.drain()
        request.writer.close()
        await request.writer.wait_closed()

    async with front(speak, tmp_path) as proxy:
        streams = await proxy.open()
        await ask(proxy, streams, EXEC, *SPDY)
        await asyncio.sleep(0.2)  # the other side is long gone when we begin to read
        assert await is_closed(streams[0]) == last
        await closed(streams[1])


async def test_what_the_client_says_last_arrives_as_well(tmp_path: Path) -> None:
    heard = bytearray()

    async def listen(request: Received) -> None:
        request.writer.write(switching(request))
        await asyncio.sleep(0.2)
        while data := await request.reader.read(65536):
            heard.extend(data)

    async with front(listen, tmp_path) as proxy:
        streams = await proxy.open()
        await ask(proxy, streams, EXEC, *WEBSOCKET)
        streams[1].write(b"x" * 1_000_000)
        await closed(streams[1])
        await until(lambda: len(heard) == 1_000_000, "everything has arrived")


async def test_a_client_that_takes_nothing_makes_the_api_server_wait(tmp_path: Path) -> None:
    sent = 0

    async def speak(request: Received) -> None:
        nonlocal sent
        request.writer.write(switching(request))
        while True:
            request.writer.write(b"x" * 65536)
            await request.writer.drain()
            sent += 65536

    async with front(speak, tmp_path) as proxy:
        streams = await proxy.open()
        await ask(proxy, streams, EXEC, *SPDY)
        before = -1
        while sent > before:
            before = sent
            await asyncio.sleep(0.2)
        assert sent < 32 * 2**20
        streams[1].transport.abort()
        await until(lambda: proxy.upstream.open_connections == 0, "the connection upstream is closed")


async def test_an_api_server_that_takes_nothing_makes_the_client_wait(tmp_path: Path) -> None:
    async def deaf(request: Received) -> None:
        request.writer.write(switching(request))
        await asyncio.Event().wait()

    async with front(deaf, tmp_path) as proxy:
        streams = await proxy.open()
        await ask(proxy, streams, EXEC, *SPDY)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 64 * 2**20:
                streams[1].write(b"x" * 65536)
                await asyncio.wait_for(streams[1].drain(), 1)
                sent += 65536
        proxy.proxy.grants.revoke(proxy.token)
        await is_closed(streams[0])
        streams[1].transport.abort()


# --- the end of a run ------------------------------------------------------------------------------------------------


async def test_a_tunnel_dies_with_its_token_and_leaves_others_alone(tmp_path: Path) -> None:
    async with front(echo, tmp_path) as proxy:
        other_token = proxy.proxy.grants.issue(Grant(OWNER, True, lambda child: None))
        ours, other = await proxy.open(), await proxy.open()
        await ask(proxy, ours, EXEC, *SPDY)
        own, proxy.token = proxy.token, other_token
        await ask(proxy, other, EXEC, *WEBSOCKET)
        proxy.proxy.grants.revoke(own)
        await is_closed(ours[0])
        await until(lambda: proxy.upstream.open_connections == 1, "its connection upstream is closed")
        other[1].write(b"still here")
        await says(other, EARLY + b"still here")
        await closed(ours[1])
        await closed(other[1])


async def test_stopping_the_proxy_closes_all_tunnels(tmp_path: Path) -> None:
    async with front(echo, tmp_path) as proxy:
        sides = [await proxy.open(), await proxy.open(anonymous=True)]
        for streams in sides:
            await ask(proxy, streams, EXEC, *SPDY)
        started = asyncio.get_running_loop().time()
        await proxy.proxy.stop()
        for streams in sides:
            assert await is_closed(streams[0]) == EARLY
            await closed(streams[1])
        await until(lambda: proxy.upstream.open_connections == 0, "the connections upstream are closed")
        assert asyncio.get_running_loop().time() - started < 3


async def test_aiohttp_forgets_the_connections_that_became_tunnels(tmp_path: Path) -> None:
    async with front(echo, tmp_path) as proxy:
        for end in ("client", "token", "client"):
            streams = await proxy.open()
            await ask(proxy, streams, EXEC, *SPDY)
            if end == "token":
                proxy.proxy.grants.revoke(proxy.token)
                proxy.token = proxy.proxy.grants.issue(Grant(OWNER, True, lambda child: None))
            await closed(streams[1])
        servers = [runner.server for runner in proxy.proxy._runners]
        await until(lambda: not any(server.connections for server in servers if server), "no connection is left")


async def test_without_a_token_there_is_no_tunnel(tmp_path: Path) -> None:
    async with front(echo, tmp_path) as proxy:
        proxy.token = "wrong"
        streams = await proxy.open()
        assert (await ask(proxy, streams, EXEC, *SPDY)).startswith(b"HTTP/1.1 401")
        assert proxy.upstream.received == []
        await closed(streams[1])


# --- refusals --------------------------------------------------------------------------------------------------------

REFUSALS = {
    "with a length": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\nX: y\r\n\r\n",
    "in chunks": b"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n",
    "to the end": b"HTTP/1.1 403 Forbidden\r\nX: y\r\n\r\n",
    "after another": b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"
    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\nX: y\r\n\r\n",
}


@pytest.mark.parametrize("how", REFUSALS)
@pytest.mark.parametrize("headers", [SPDY, WEBSOCKET], ids=["spdy", "websocket"])
async def test_a_refusal_is_handed_on_and_the_connection_stays_what_it_was(
    how: str, headers: tuple[str, ...], tmp_path: Path
) -> None:
    async def refuse(request: Received) -> bytes | None:
        if request.header("upgrade") is None:
            return ok(b"plain")
        body = b"4\r\nrefu\r\n3;x=y\r\nsed\r\n0\r\n\r\n" if how == "in chunks" else b"refused"
        request.writer.write(REFUSALS[how] + body)
        if how != "to the end":
            await request.reader.read()
        return None

    async with front(refuse, tmp_path) as proxy:
        streams = await proxy.open()
        head = await ask(proxy, streams, EXEC, *headers)
        assert head.startswith(b"HTTP/1.1 403 Forbidden\r\n")
        assert b"\r\nX: y\r\n" in head
        if b"chunked" in head:
            body = await asyncio.wait_for(streams[0].readuntil(b"0\r\n\r\n"), SECONDS)
            assert b"".join(re.findall(rb"\d\r\n([a-z]+)\r\n", body)) == b"refused"
        else:
            await says(streams, b"refused")
        await until(lambda: proxy.upstream.open_connections == 0, "the connection upstream is closed")
        assert (await ask(proxy, streams, "GET /healthz")).startswith(b"HTTP/1.1 200")
        await says(streams, b"plain")
        await closed(streams[1])


@pytest.mark.parametrize(
    "answer", [b"", b"no http\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 101\r\n" + b"x" * 200_000]
)
async def test_an_answer_that_is_none_is_told(answer: bytes, tmp_path: Path) -> None:
    async def odd(request: Received) -> None:
        request.writer.write(answer)
        await request.writer.drain()
        request.writer.close()
        await request.writer.wait_closed()

    async with front(odd, tmp_path) as proxy:
        streams = await proxy.open()
        assert (await ask(proxy, streams, EXEC, *SPDY)).startswith(b"HTTP/1.1 503")
        await closed(streams[1])


async def test_a_refusal_that_is_cut_never_looks_whole(tmp_path: Path) -> None:
    async def cut(request: Received) -> None:
        request.writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nrefused")
        await closed(request.writer)

    async with front(cut, tmp_path) as proxy:
        streams = await proxy.open()
        await ask(proxy, streams, EXEC, *SPDY)
        assert not (await is_closed(streams[0])).endswith(b"0\r\n\r\n")
        await closed(streams[1])


@pytest.mark.parametrize(
    ("line", "headers", "body"),
    [
        ("GET /healthz", ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"), b""),
        ("GET /healthz", ("Upgrade: websocket",), b""),
        ("PATCH /api/v1/namespaces/a/configmaps/c", SPDY, b"{}"),
        ("PATCH /api/v1/namespaces/a/configmaps/c", WEBSOCKET, b"{}"),
    ],
    ids=["HTTP/2", "no Connection", "a body", "a body, websocket"],
)
async def test_an_upgrade_that_is_none_is_an_ordinary_request(
    line: str, headers: tuple[str, ...], body: bytes, tmp_path: Path
) -> None:
    async with front(echo, tmp_path) as proxy:
        streams = await proxy.open()
        streams[1].write(proxy.head(line, *headers, f"Content-Length: {len(body)}") + body)
        assert (await asyncio.wait_for(streams[0].readline(), SECONDS)).startswith(b"HTTP/1.1 200")
        assert proxy.upstream.received[-1].header("upgrade") is None
        await closed(streams[1])


async def test_a_client_that_goes_before_the_answer_frees_the_connection_upstream(tmp_path: Path) -> None:
    async def silent(request: Received) -> None:
        await request.reader.read()

    async with front(silent, tmp_path) as proxy:
        _, writer = await proxy.open()
        writer.write(proxy.head(EXEC, *SPDY))
        await until(lambda: proxy.upstream.received, "the request has arrived")
        writer.transport.abort()
        await until(lambda: proxy.upstream.open_connections == 0, "the connection upstream is closed")
