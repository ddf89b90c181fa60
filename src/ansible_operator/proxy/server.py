"""The proxy's HTTP server: check the token, look at writes, forward, stream the answer back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from ansible_operator.kube.client import Client
from ansible_operator.kube.discovery import Discovery
from ansible_operator.model.errors import StartError
from ansible_operator.model.owner import is_owned
from ansible_operator.proxy.certificates import Certificates, make_certificates
from ansible_operator.proxy.grants import Grant, Grants
from ansible_operator.proxy.ownership import Ownership, Write, child_of
from ansible_operator.proxy.requestinfo import RequestInfo, request_info
from ansible_operator.telemetry.logs import get_logger

log = get_logger("proxy")

HOST = "127.0.0.1"
_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding"}
    | {"upgrade", "host", "authorization", "content-length"}
)
_MAX_BODY = 64 * 1024 * 1024
"""Far above what etcd takes; the API server refuses what is too large for it, in its own words."""

_MAX_PEEK = 8 * 1024 * 1024


class Proxy:
    """Runs the server. ``grants`` hands out and revokes the tokens that open it."""

    def __init__(self, client: Client, discovery: Discovery, port: int, work_dir: Path) -> None:
        self.grants = Grants()
        self.authority_file = work_dir / "proxy-ca.crt"
        self._work_dir = work_dir
        self._client = client
        self._ownership = Ownership(client, discovery)
        self._port = port
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        """Where runs find the proxy."""
        return f"https://{HOST}:{self._port}"

    async def start(self) -> None:
        """Listen. Raises StartError where the port is taken. Port 0 takes a free one."""
        certificates = make_certificates(self._work_dir)
        self._write_authority(certificates)
        server = web.Server(self._handle, access_log=None)
        self._runner = web.ServerRunner(server, handler_cancellation=True)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, HOST, self._port, ssl_context=certificates.context).start()
        except OSError as error:
            raise StartError(
                f"proxy: cannot listen on {HOST}:{self._port}: {error.strerror or error}; "
                "choose another with --proxy-port"
            ) from error
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close the server and every connection."""
        if self._runner is not None:
            await self._runner.cleanup()

    def _write_authority(self, certificates: Certificates) -> None:
        self.authority_file.write_bytes(certificates.authority)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        grant = self.grants.of_header(request.headers.get("Authorization", ""))
        if grant is None:
            return _status(401, "Unauthorized", "the token of this run is missing or no longer valid")
        info = request_info(request.path)
        body = await self._body(request, grant, info)
        try:
            return await self._forward(request, grant, info, body)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            log.warning("API server did not answer", path=request.path, error=str(error))
            return _status(503, "ServiceUnavailable", f"the API server did not answer: {error}")

    async def _body(self, request: web.BaseRequest, grant: Grant, info: RequestInfo | None) -> bytes | None:
        if not request.can_read_body:
            return None
        body = await _read(request)
        encoded = "Content-Encoding" in request.headers
        # A body that does not say what it is (kubectl create --raw) is JSON to the API server.
        content_type = request.content_type if "Content-Type" in request.headers else "application/json"
        if encoded or info is None or not self._ownership.may_create(request.method, info, content_type):
            return body
        dry_run = bool(request.query.get("dryRun"))
        return await self._ownership.prepare(grant, Write(request.method, info, content_type, dry_run, body))

    async def _forward(
        self, request: web.BaseRequest, grant: Grant, info: RequestInfo | None, body: bytes | None
    ) -> web.StreamResponse:
        connection = self._client.connection
        headers = _forwardable(request.headers)
        headers.update(await connection.headers())
        async with connection.session.request(
            request.method,
            _upstream(connection.base, request.raw_path),
            headers=headers,
            data=body,
            allow_redirects=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        ) as answer:
            first = await self._peek(request, grant, info, answer)
            return await _stream(request, answer, first)

    async def _peek(
        self, request: web.BaseRequest, grant: Grant, info: RequestInfo | None, answer: aiohttp.ClientResponse
    ) -> bytes | None:
        """Read an answer whole if it may show children of the owner that are not watched yet, and report them.

        That is how dependents are found again after a restart: the play reads them, and changes nothing.
        """
        if (
            not grant.inject
            or request.method != "GET"
            or info is None
            or info.subresource
            or "watch" in request.query
            or answer.status != 200
            or answer.content_type != "application/json"
            or "Content-Encoding" in answer.headers
            or (answer.content_length or 0) > _MAX_PEEK
        ):
            return None
        body = await answer.read()
        await self._report_children(grant, info, body)
        return body

    async def _report_children(self, grant: Grant, info: RequestInfo, body: bytes) -> None:
        if grant.owner.uid.encode() not in body and grant.owner.type_annotation.encode() not in body:
            return
        try:
            answer = json.loads(body)
        except ValueError:
            return
        items = answer.get("items") if not info.name else [answer]
        owned = [item for item in items or () if isinstance(item, dict) and is_owned(item, grant.owner)]
        resource = await self._ownership.resource(info) if owned else None
        if resource is not None:
            for item in owned:
                grant.on_child(child_of(grant.owner, resource, item["metadata"].get("namespace", "")))


async def _stream(request: web.BaseRequest, answer: aiohttp.ClientResponse, first: bytes | None) -> web.StreamResponse:
    """Hand the answer on as it comes. One that breaks off upstream breaks off here: a cut never looks whole."""
    response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=_forwardable(answer.headers))
    if answer.content_length is not None:
        response.content_length = answer.content_length
    await response.prepare(request)
    try:
        if first is not None:
            await response.write(first)
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        log.debug("answer broke off", path=request.path, error=str(error))
        if request.transport is not None:
            request.transport.abort()
    return response


async def _read(request: web.BaseRequest) -> bytes:
    """The whole body; aiohttp's own limit is for public servers."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > _MAX_BODY:
            raise web.HTTPRequestEntityTooLarge(max_size=_MAX_BODY, actual_size=len(body))
    return bytes(body)


def _forwardable(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """The headers that belong to the message and not to one connection, and no credentials."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _HOP_BY_HOP)


def _upstream(base: URL, raw_path: str) -> URL:
    """The same path and query at the API server, byte for byte."""
    return URL(f"{base.origin()}{base.raw_path.rstrip('/')}{raw_path}", encoded=True)


def _status(code: int, reason: str, message: str) -> web.Response:
    """An answer as the API server itself would give it, so that every client can read it."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return web.json_response({**body, "message": message, "reason": reason, "code": code}, status=code)
