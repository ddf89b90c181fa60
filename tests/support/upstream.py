"""An API server that says what the test says, and the proxy in front of it; bytes on both sides, nothing in between."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubernetes.aio.client import Configuration

from ansible_operator.kube.client import Client
from ansible_operator.kube.connection import Connection
from ansible_operator.kube.discovery import Discovery
from ansible_operator.model.gvk import GVK, ObjectKey
from ansible_operator.model.owner import Owner
from ansible_operator.proxy.grants import Child, Grant
from ansible_operator.proxy.server import HOST, Proxy

OWNER = Owner(GVK("example.com", "v1", "Web"), ObjectKey("a", "web"), "11111111-2222-3333-4444-555555555555")
SECONDS = 60.0
"""Longest wait for anything."""


@dataclass
class Received:
    """A request as it reached the API server. ``reader`` and ``writer`` are the connection it came on."""

    head: bytes
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def line(self) -> str:
        return self.head.split(b"\r\n")[0].decode()

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Names in lower case, in the order they came."""
        fields = (line.decode().partition(": ") for line in self.head.split(b"\r\n")[1:] if line)
        return [(name.lower(), value) for name, _, value in fields]

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)


Answer = Callable[[Received], Awaitable[bytes | None]]


def ok(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """An answer with a length."""
    return "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]).encode() + body


class Upstream:
    """Serves plain HTTP. ``answer`` gets each request; what it returns is sent, None ends the connection."""

    def __init__(self, answer: Answer) -> None:
        self.received: list[Received] = []
        self.open_connections = 0
        self._answer = answer
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._serve, HOST, 0, limit=2**21)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.open_connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                request = Received(head[:-4], await _body(head, reader), reader, writer)
                self.received.append(request)
                said = await self._answer(request)
                if said is None:
                    return
                writer.write(said)
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass
        finally:
            self.open_connections -= 1
            writer.transport.abort()


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    lower = head.lower()
    if b"\r\nx-unread: " in lower:  # the test reads it itself
        return b""
    if b"\r\ntransfer-encoding: chunked" in lower:
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return body
    if b"\r\ncontent-length: " in lower:
        return await reader.readexactly(int(lower.split(b"\r\ncontent-length: ")[1].split(b"\r\n")[0]))
    return b""


@dataclass
class Front:
    """The proxy, and how a client talks to it."""

    proxy: Proxy
    upstream: Upstream
    connection: Connection
    token: str
    children: list[Child] = field(default_factory=list)

    async def open(self, *, anonymous: bool = False) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection of one's own."""
        url = self.proxy.anonymous_url if anonymous else self.proxy.url
        assert url is not None
        context = None if anonymous else ssl.create_default_context(cafile=str(self.proxy.authority_file))
        return await asyncio.open_connection(HOST, int(url.rpartition(":")[2]), ssl=context, limit=2**21)

    def head(self, line: str, *headers: str) -> bytes:
        """The head of a request with the run's token."""
        fields = [f"Host: {HOST}", f"Authorization: Bearer {self.token}", *headers]
        return "\r\n".join([f"{line} HTTP/1.1", *fields, "", ""]).encode()

    async def send(self, line: str, *headers: str, body: bytes = b"", anonymous: bool = False) -> tuple[bytes, bytes]:
        """One request on a connection of its own; head and body of the answer."""
        reader, writer = await self.open(anonymous=anonymous)
        length = [f"Content-Length: {len(body)}"] if body else []
        writer.write(self.head(line, *headers, *length, "Connection: close") + body)
        answer = await asyncio.wait_for(reader.read(), SECONDS)
        await closed(writer)
        head, _, rest = answer.partition(b"\r\n\r\n")
        return head, rest


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection and wait until it is."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def front(answer: Answer, work_dir: Path, **options: Any) -> AsyncIterator[Front]:
    """An API server with this answer, and the proxy in front of it, with one run's token and a port for everybody."""
    upstream = Upstream(answer)
    port = await upstream.start()
    configuration = Configuration(host=f"http://{options.pop('host', HOST)}:{port}{options.pop('base', '')}")
    configuration.api_key["BearerToken"] = "Bearer of-the-operator"
    connection = Connection(configuration, None)
    client = Client(connection)
    proxy = Proxy(client, options.pop("discovery", None) or Discovery(client), 0, work_dir, anonymous_port=0, **options)
    await proxy.start()
    children: list[Child] = []
    token = proxy.grants.issue(Grant(OWNER, True, children.append))
    try:
        yield Front(proxy, upstream, connection, token, children)
    finally:
        await proxy.stop()
        await connection.close()
        await upstream.stop()


async def until(condition: Callable[[], Any], what: str) -> None:
    """Wait until it is true."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + SECONDS
    while not condition():
        assert loop.time() < deadline, f"not within {SECONDS:g} s: {what}"
        await asyncio.sleep(0.01)
