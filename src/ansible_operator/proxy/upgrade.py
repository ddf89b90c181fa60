"""Upgrades (exec, attach, port-forward, watches by websocket): a raw tunnel, whatever is spoken in it.

aiohttp reads the request, wherever on a keep-alive connection it stands, and no byte behind it: the client has to wait
for the answer, and before that is sent the connection gets another protocol. Upstream nothing but the head of the
answer is read, so what comes at once behind it (output of a command) is not mistaken for HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web
from multidict import CIMultiDict

from ansible_operator.kube.connection import Connection
from ansible_operator.kube.dial import Streams
from ansible_operator.proxy.headers import forwardable, upgrade_head
from ansible_operator.proxy.requestinfo import Target

_CHUNK = 2**16
_CLOSE_SECONDS = 5.0
_SWITCHING = 101
_INTERIM = (100, 102, 103)
_END = b"\r\n\r\n"


@dataclass(frozen=True)
class _Head:
    """The head of an answer, as bytes and read."""

    raw: bytes
    status: int
    reason: str
    headers: CIMultiDict[str]


def wants_upgrade(request: web.BaseRequest) -> bool:
    """Whether a request asks for another protocol and may get it.

    One with a body may create objects, which must be looked at; HTTP/2 is what some clients offer with anything they
    ask for. Both are answered in HTTP/1.1, as a server always may.
    """
    protocol = request.headers.get("Upgrade", "").lower()
    tokens = ",".join(request.headers.getall("Connection", ())).lower().split(",")
    return protocol not in ("", "h2c") and "upgrade" in map(str.strip, tokens) and not request.can_read_body


async def tunnel(request: web.BaseRequest, target: Target, connection: Connection) -> web.StreamResponse:
    """Send the request upstream; where the protocol is switched, carry bytes both ways until one side closes.

    Otherwise the answer is handed on as any other. Cancelling closes both sides. Raises OSError, TimeoutError.
    """
    upstream = await connection.open()
    open_sides = [upstream[1]]
    try:
        upstream[1].write(upgrade_head(request, target, connection.base, await connection.headers()))
        head = await _answer(upstream[0])
        if head.status == 401:
            await connection.renew()
        if head.status != _SWITCHING:
            return await _hand_on(request, upstream[0], head)
        client = _take_over(request)
        open_sides.append(client[1])
        client[1].write(head.raw)
        await _carry(client, upstream)
        return web.Response()  # nobody gets it: the connection is closed
    except asyncio.CancelledError:
        for side in open_sides:  # the run is over, or the client gone: nothing more is owed to anybody
            side.transport.abort()
        raise
    finally:
        try:
            await asyncio.gather(*map(_close, open_sides))
        finally:
            if len(open_sides) > 1:
                # It was not aiohttp's connection any more, so it has to be told of the end. That cancels the task it
                # gave the request to, which is this one: whoever awaits after this is interrupted.
                request.protocol.connection_lost(None)


async def _answer(reader: asyncio.StreamReader) -> _Head:
    """Read the head of the answer. Raises ConnectionError where none comes, or none that is one."""
    while True:
        try:
            raw = await reader.readuntil(_END)
            lines = raw.removesuffix(_END).decode("latin-1").split("\r\n")
            version, status, *reason = lines[0].split(" ", 2)
            fields = (line.partition(":") for line in lines[1:])
            head = _Head(raw, int(status), " ".join(reason), CIMultiDict((n, v.strip()) for n, _, v in fields))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            raise ConnectionError(f"no answer to an upgrade: {error}") from error
        if not version.startswith("HTTP/1."):
            raise ConnectionError(f"no answer to an upgrade: {lines[0][:80]}")
        if head.status not in _INTERIM:
            return head


async def _hand_on(request: web.BaseRequest, reader: asyncio.StreamReader, head: _Head) -> web.StreamResponse:
    """The refusal, with its body: the connection to the client stays what it was."""
    response = web.StreamResponse(status=head.status, reason=head.reason, headers=forwardable(head.headers))
    await response.prepare(request)
    try:
        async for data in _body(reader, head, request.method):
            await response.write(data)
        await response.write_eof()
    except (asyncio.IncompleteReadError, ValueError, OSError):
        if request.transport is not None:
            request.transport.abort()  # an answer that was cut must not look whole
    return response


async def _body(reader: asyncio.StreamReader, head: _Head, method: str) -> AsyncIterator[bytes]:
    if method == "HEAD" or head.status in (204, 304):
        return
    if head.headers.get("Transfer-Encoding", "").lower() == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield (await reader.readexactly(size + 2))[:-2]
        return
    left = int(head.headers.get("Content-Length", -1))
    while left and (data := await reader.read(_CHUNK if left < 0 else min(left, _CHUNK))):
        left -= len(data) if left > 0 else 0
        yield data
    if left > 0:
        raise asyncio.IncompleteReadError(b"", left)


def _take_over(request: web.BaseRequest) -> Streams:
    """Take the client's connection out of aiohttp's hands. Raises ConnectionResetError where there is none any more."""
    if request.transport is None:
        raise ConnectionResetError("the client went away")
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_CHUNK, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    request.transport.set_protocol(protocol)
    protocol.connection_made(request.transport)
    return reader, asyncio.StreamWriter(request.transport, protocol, reader, loop)


async def _carry(one: Streams, other: Streams) -> None:
    """Bytes both ways, until either side closes. What was read from it by then is written before."""
    pumps = [asyncio.create_task(_pump(one[0], other[1])), asyncio.create_task(_pump(other[0], one[1]))]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.wait(pumps)
    for pump in pumps:
        if not pump.cancelled():
            pump.result()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()  # a slow reader makes the writer on the other side wait


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close after what was written has gone out; a peer that takes nothing is not waited for."""
    writer.close()
    try:
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(writer.wait_closed(), _CLOSE_SECONDS)
    finally:
        writer.transport.abort()
