"""Requests to the API server: JSON in, JSON out, errors by meaning."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiohttp

from ansible_operator import __version__
from ansible_operator.kube.connection import Connection
from ansible_operator.model.errors import ApiError, Unauthorized
from ansible_operator.model.gvk import ObjectKey, Resource

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": f"ansible-operator/{__version__}",  # what stands before the slash becomes the field manager
}
Observe = Callable[[str, str, str], None]
"""Told of each request: the host, the method, and the HTTP status, or ``<error>`` where no answer came."""

_HEAD_SECONDS = 30.0
"""Longest time until a watch is answered; the API server does at once, before there is any event."""

_NETWORK_ERRORS = (aiohttp.ClientError, asyncio.TimeoutError, ConnectionError, OSError)


class Client:
    """Raw requests. Every method raises ApiError (its subclasses say what happened)."""

    def __init__(
        self, connection: Connection, timeout: float = 30.0, observe: Observe = lambda host, method, code: None
    ) -> None:
        self.connection = connection
        self._observe = observe
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=10)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """One request and its answer. Credentials that were refused are read again, once."""
        headers = {} if body is None else {"Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        return _parse((await self._send(method, path, params, data, headers))[1])

    async def fetch(self, path: str, accept: str) -> tuple[Mapping[str, str], bytes]:
        """One GET in the representation asked for: headers and bytes of the answer, as they came."""
        return await self._send("GET", path, None, None, {"Accept": accept})

    async def _send(
        self, method: str, path: str, params: Mapping[str, str] | None, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[Mapping[str, str], bytes]:
        try:
            return await self._once(method, path, params, data, headers)
        except Unauthorized:
            await self.connection.renew()
            return await self._once(method, path, params, data, headers)

    async def _once(
        self, method: str, path: str, params: Mapping[str, str] | None, data: bytes | None, more: Mapping[str, str]
    ) -> tuple[Mapping[str, str], bytes]:
        headers = {**await self.connection.headers(), **_HEADERS, **more}
        url = self.connection.base / path.lstrip("/")
        try:
            async with self.connection.session.request(
                method,
                url,
                params=params,
                data=data,
                headers=headers,
                timeout=self._timeout,
                server_hostname=self.connection.server_name,
            ) as response:
                content = await response.read()
        except _NETWORK_ERRORS as error:
            self._answered(method)
            raise _no_answer(self.connection.host, error) from error
        self._answered(method, response.status)
        if response.status >= 400:
            raise error_of(response.status, response.headers, content)
        return response.headers, content

    def _answered(self, method: str, status: int | None = None) -> None:
        """Tell of a request; without a status there was no answer."""
        base = self.connection.base
        self._observe(f"{base.host}:{base.port}", method, str(status) if status else "<error>")

    async def watch(
        self,
        path: str,
        params: Mapping[str, str],
        silence: float,
        accept: str = "application/json",
        opened: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[dict[str, Any]]:
        """The events of a watch, until the server ends it.

        ``silence`` is the number of seconds without a byte after which the connection counts as dead. ``opened`` is
        called when the server has agreed to the watch.
        """
        headers = {**await self.connection.headers(), **_HEADERS, "Accept": accept}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=silence)
        url = self.connection.base / path.lstrip("/")
        query = {**params, "watch": "true"}
        answered = False
        try:
            async with asyncio.timeout(min(_HEAD_SECONDS, silence)):
                response = await self.connection.session.get(
                    url, params=query, headers=headers, timeout=timeout, server_hostname=self.connection.server_name
                )
            async with response:
                answered = True
                self._answered("GET", response.status)
                if response.status >= 400:
                    raise error_of(response.status, response.headers, await response.read())
                opened()
                rest = b""
                async for chunk in response.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        yield _parse(line)
        except _NETWORK_ERRORS as error:
            if not answered:
                self._answered("GET")
            raise _no_answer(self.connection.host, error) from error

    async def get(self, resource: Resource, key: ObjectKey) -> dict[str, Any]:
        """One object, read from the server."""
        return await self.request("GET", resource.path(key.namespace, key.name))

    async def patch(
        self,
        resource: Resource,
        key: ObjectKey,
        body: Any,
        *,
        subresource: str = "",
        content_type: str = MERGE_PATCH,
    ) -> dict[str, Any]:
        """Patch one object, by default with a merge patch."""
        path = resource.path(key.namespace, key.name, subresource)
        return await self.request("PATCH", path, body=body, content_type=content_type)


def _parse(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except ValueError as error:
        raise ApiError.of(0, "InvalidAnswer", f"the API server's answer is not JSON: {error}") from error
    return value if isinstance(value, dict) else {"items": value}


def _no_answer(host: str, error: BaseException) -> ApiError:
    detail = str(error) or type(error).__name__
    return ApiError.of(0, "NoAnswer", f"no answer from the API server at {host}: {detail}")


def error_of(status: int, headers: Mapping[str, str], content: bytes) -> ApiError:
    """The error that an answer with ``status`` stands for."""
    try:
        body = json.loads(content)
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    message = body.get("message") or content[:256].decode(errors="replace") or f"HTTP {status}"
    retry_after = headers.get("Retry-After", "")
    seconds = float(retry_after) if retry_after.isdecimal() else None
    return ApiError.of(status, body.get("reason") or "", message, seconds)
