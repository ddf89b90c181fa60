"""Requests handed on to the API server, and its answers handed back, as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO

import aiohttp
from aiohttp import web

from ansible_operator.kube.connection import Connection
from ansible_operator.proxy.headers import forwardable, upstream_url
from ansible_operator.proxy.requestinfo import Target
from ansible_operator.telemetry.logs import get_logger

log = get_logger("proxy")

SILENCE_SECONDS = 90.0
"""Without a byte for so long an ordinary answer is not waited for; the API server itself gives up after a minute."""

Body = bytes | aiohttp.StreamReader | None

_MAX_BODY = 64 * 1024 * 1024
"""Of what must be looked at: far above what etcd takes; the API server refuses it in its own words."""


async def read_body(request: web.BaseRequest) -> bytes:
    """The whole body; aiohttp's own limit is for public servers."""
    invite(request)
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > _MAX_BODY:
            raise web.HTTPRequestEntityTooLarge(max_size=_MAX_BODY, actual_size=len(body))
    return bytes(body)


def invite(request: web.BaseRequest) -> None:
    """Tell a client that waits for it to send its body (``Expect: 100-continue``)."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


@asynccontextmanager
async def answer_of(
    request: web.BaseRequest, target: Target, connection: Connection, body: Body, *, again: bool, lasting: bool
) -> AsyncIterator[aiohttp.ClientResponse]:
    """The API server's answer to a request with this body. Raises aiohttp.ClientError, OSError, TimeoutError.

    ``again``: credentials that were refused are read anew and the request is repeated, once. ``lasting``: the answer
    may be silent for as long as it likes, as that of a watch.
    """
    silence = None if lasting else SILENCE_SECONDS
    headers = forwardable(request.headers)
    length = request.headers.get("Content-Length")
    if isinstance(body, aiohttp.StreamReader) and length is not None:
        headers["Content-Length"] = length
    while True:
        headers.update(await connection.headers())
        async with connection.session.request(
            request.method,
            upstream_url(connection.base, target),
            headers=headers,
            data=BytesIO(body) if isinstance(body, bytes) else body,  # which is sent bit by bit
            allow_redirects=False,
            server_hostname=connection.server_name,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=silence),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        ) as answer:
            if answer.status != 401 or not again:
                yield answer
                return
        again = False
        await connection.renew()


async def hand_back(request: web.BaseRequest, answer: aiohttp.ClientResponse, first: bytes = b"") -> web.StreamResponse:
    """Hand the answer on, ``first`` being what was read of it already. One that breaks off upstream breaks off here."""
    response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=forwardable(answer.headers))
    if answer.content_length is not None:
        response.content_length = answer.content_length
    await response.prepare(request)
    try:
        if first:
            await response.write(first)
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        log.debug("answer broke off", path=request.path, error=str(error))
        if request.transport is not None:
            request.transport.abort()  # a cut must not look like an end
    return response
