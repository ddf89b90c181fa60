"""The raw connection for tunnels: direct, or through the proxy that the environment names."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from yarl import URL

from ansible_operator.kube.dial import dial
from ansible_operator.proxy.certificates import make_certificates

HOST = "127.0.0.1"
SECONDS = 90.0


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[tuple[URL, ssl.SSLContext]]:
    """A TLS server that says what it is told, and the context that trusts it."""
    certificates = make_certificates(tmp_path)

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(5))
        await writer.drain()
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(echo, HOST, 0, ssl=certificates.context)
    context = ssl.create_default_context(cadata=certificates.authority.decode())
    yield URL(f"https://{HOST}:{listening.sockets[0].getsockname()[1]}/base"), context
    listening.close()


class ForwardProxy:
    """Answers CONNECT with what it was made with, and carries the bytes if that is good."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.asked: list[bytes] = []

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._serve, HOST, 0)
        return f"http://user:word@{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self.answer)
        if b" 200 " in self.answer:
            host, _, port = self.asked[0].split(b" ")[1].decode().partition(":")
            upstream_reader, upstream = await asyncio.open_connection(host, int(port))
            await asyncio.wait(
                [asyncio.create_task(_copy(reader, upstream)), asyncio.create_task(_copy(upstream_reader, writer))]
            )
            upstream.close()
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


async def echoes(base: URL, context: ssl.SSLContext, *, trust_env: bool) -> None:
    reader, writer = await dial(base, context, trust_env=trust_env)
    writer.write(b"hello")
    assert await asyncio.wait_for(reader.readexactly(5), SECONDS) == b"hello"
    assert writer.get_extra_info("ssl_object") is not None
    writer.close()
    await writer.wait_closed()


async def test_the_way_is_direct_where_the_environment_names_none(server: tuple[URL, ssl.SSLContext]) -> None:
    await echoes(*server, trust_env=True)


async def test_it_leads_through_the_proxy_that_it_names(
    server: tuple[URL, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = ForwardProxy(b"HTTP/1.1 200 Connection established\r\n\r\n")
    monkeypatch.setenv("HTTPS_PROXY", await proxy.start())
    await echoes(*server, trust_env=True)
    there = f"{HOST}:{server[0].port}"
    login = "Proxy-Authorization: Basic dXNlcjp3b3Jk"
    assert proxy.asked == [f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n{login}\r\n\r\n".encode()]
    proxy.asked.clear()
    await echoes(*server, trust_env=False)
    monkeypatch.setenv("NO_PROXY", HOST)
    await echoes(*server, trust_env=True)
    assert proxy.asked == []
    proxy.stop()


@pytest.mark.parametrize("answer", [b"HTTP/1.1 403 Forbidden\r\n\r\n", b"", b"x" * 200_000, b"200\r\n\r\n"])
async def test_a_proxy_that_refuses_is_named(
    answer: bytes, server: tuple[URL, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = ForwardProxy(answer)
    monkeypatch.setenv("https_proxy", await proxy.start())
    with pytest.raises(ConnectionError, match=f"the proxy {HOST}"):
        await dial(*server, trust_env=True)
    proxy.stop()


async def test_a_certificate_of_somebody_else_is_refused(server: tuple[URL, ssl.SSLContext]) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await dial(server[0], ssl.create_default_context(), trust_env=False)
