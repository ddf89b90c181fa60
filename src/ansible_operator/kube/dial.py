"""A raw connection to the API server, for what is HTTP at its beginning only (exec, attach, port-forward)."""

from __future__ import annotations

import asyncio
import base64
import ssl
from urllib.request import getproxies, proxy_bypass

from yarl import URL

_CONNECT_SECONDS = 10.0
_BUFFER = 2**16
"""Bytes that may wait in a connection before its peer is made to wait; also the longest head of an answer."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def dial(
    base: URL, context: ssl.SSLContext | None, *, trust_env: bool, server_name: str | None = None
) -> Streams:
    """Connect to the host of ``base``, with TLS where there is a context; its certificate may be for another name.

    Takes the proxy that the environment names (``HTTPS_PROXY``, ``NO_PROXY``) if ``trust_env``, as aiohttp's sessions
    do. Raises OSError, TimeoutError.
    """
    assert base.host is not None
    assert base.port is not None
    name = server_name or base.host
    async with asyncio.timeout(_CONNECT_SECONDS):
        if context is None:
            return await asyncio.open_connection(base.host, base.port, limit=_BUFFER)
        way = _proxy(base) if trust_env else None
        if way is None:
            return await asyncio.open_connection(base.host, base.port, limit=_BUFFER, ssl=context, server_hostname=name)
        return await _through(*way, base, context, name)


def _proxy(base: URL) -> tuple[URL, str] | None:
    """The proxy to take and the header that authenticates to it; None for the direct way."""
    proxy = URL(getproxies().get(base.scheme, ""))
    if not proxy.host or proxy_bypass(base.host or ""):
        return None
    login = base64.b64encode(f"{proxy.user or ''}:{proxy.password or ''}".encode()).decode()
    return proxy, f"Proxy-Authorization: Basic {login}\r\n" if proxy.user else ""


async def _through(proxy: URL, login: str, base: URL, context: ssl.SSLContext, name: str) -> Streams:
    reader, writer = await asyncio.open_connection(
        proxy.host, proxy.port, limit=_BUFFER, ssl=True if proxy.scheme == "https" else None
    )
    try:
        there = f"{base.host_subcomponent}:{base.port}"
        writer.write(f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n{login}\r\n".encode())
        status = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)[0]
        if status.split(b" ")[1:2] != [b"200"]:
            raise ConnectionError(f"the proxy {proxy.host} refused: {status.decode(errors='replace')}")
        await writer.start_tls(context, server_hostname=name)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        writer.transport.abort()
        raise ConnectionError(f"the proxy {proxy.host} gave no answer") from error
    except BaseException:
        writer.transport.abort()
        raise
    return reader, writer
