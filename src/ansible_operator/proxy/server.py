"""The proxy's HTTP servers: check the token, answer from memory what can be, look at writes, forward the rest."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from ssl import SSLContext

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ansible_operator.kube.client import Client
from ansible_operator.kube.definitions import is_definition
from ansible_operator.kube.discovery import Discovery
from ansible_operator.model.errors import ApiError, StartError
from ansible_operator.proxy.certificates import make_certificates
from ansible_operator.proxy.discovered import Discovered
from ansible_operator.proxy.forward import Body, answer_of, hand_back, invite, read_body
from ansible_operator.proxy.grants import Grant, Grants, Session
from ansible_operator.proxy.ownership import Ownership, Write
from ansible_operator.proxy.reads import Reads
from ansible_operator.proxy.recovery import Recovery, may_be_looked_into, peek, unpacked
from ansible_operator.proxy.requestinfo import RequestInfo, Target, is_watch, request_info, target_of
from ansible_operator.proxy.upgrade import tunnel, wants_upgrade
from ansible_operator.telemetry.logs import get_logger

log = get_logger("proxy")

HOST = "127.0.0.1"
_SHUTDOWN_SECONDS = 1.0
_MAX_HEAD = 1024 * 1024
"""Bytes of a request line or a header, as at the API server: the commands of an exec stand in its URL."""

_MAX_HEADERS = 1000
_IDLE_SECONDS = 300.0
"""Longer than clients keep connections they don't use (client-go: 90 s); they close them, not we, under their hands."""

_WITHOUT_EFFECT = ("authentication.k8s.io", "authorization.k8s.io")
_READS = ("GET", "HEAD", "OPTIONS")
_Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Proxy:
    """Runs the servers. ``grants`` hands out and revokes the tokens that open the one with TLS."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        port: int,
        work_dir: Path,
        *,
        reads: Reads | None = None,
        anonymous_port: int | None = None,
    ) -> None:
        """``reads`` answers from memory, without it all reads go upstream.

        ``anonymous_port``: also serve plain HTTP there, without tokens and owners.
        """
        self.grants = Grants()
        self._work_dir = work_dir
        self._client = client
        self._discovery = discovery
        self._discovered = Discovered(discovery)
        self._ownership = Ownership(client, discovery)
        self._recovery = Recovery(self._ownership)
        self._reads = reads
        self._port = port
        self._anonymous_port = anonymous_port
        self._anybody = Session()
        self._runners: list[web.ServerRunner] = []
        self._started = False

    @property
    def url(self) -> str:
        """Where runs find the proxy."""
        return f"https://{HOST}:{self._port}"

    @property
    def anonymous_url(self) -> str | None:
        """Where whoever comes finds it, if that is allowed."""
        return None if self._anonymous_port is None else f"http://{HOST}:{self._anonymous_port}"

    @property
    def authority_file(self) -> Path:
        """The authority to verify the proxy with. Operators that share a work directory have ports of their own."""
        return self._work_dir / f"proxy-ca-{self._port}.crt"

    async def start(self) -> None:
        """Listen. Raises StartError where a port is taken. Port 0 takes a free one."""
        certificates = make_certificates(self._work_dir)
        if self._anonymous_port is not None:  # the port that users know comes first
            self._anonymous_port = await self._listen(self._handle_anonymous, self._anonymous_port, None)
            log.warning("the proxy lets in whoever comes", url=self.anonymous_url)
        self._port = await self._listen(self._handle, self._port, certificates.context)
        self.authority_file.write_bytes(certificates.authority)
        self._started = True

    async def _listen(self, handler: _Handler, port: int, context: SSLContext | None) -> int:
        server = web.Server(
            handler,
            access_log=None,
            logger=_ServerLog(logging.getLogger("ansible_operator.proxy.http"), {}),
            handler_cancellation=True,  # a client that goes away takes its request, a watch for instance, with it
            auto_decompress=False,
            max_line_size=_MAX_HEAD,
            max_field_size=_MAX_HEAD,
            max_headers=_MAX_HEADERS,
            keepalive_timeout=_IDLE_SECONDS,
        )
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        self._runners.append(runner)
        try:
            await web.TCPSite(runner, HOST, port, ssl_context=context).start()
        except OSError as error:
            raise StartError(
                f"proxy: cannot listen on {HOST}:{port}: {error.strerror or error}; choose another with --proxy-port"
            ) from error
        bound: int = runner.addresses[0][1]
        return bound

    async def stop(self) -> None:
        """Close the servers and every connection, and remove the authority's file."""
        self.grants.close()
        self._anybody.close()
        for runner in self._runners:
            await runner.cleanup()
        if self._started:
            with suppress(OSError):
                self.authority_file.unlink(missing_ok=True)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        session = self.grants.of_header(request.headers.get("Authorization", ""))
        if session is None:
            return _status(401, "Unauthorized", "the token of this run is missing or no longer valid")
        return await self._serve(request, session)

    async def _handle_anonymous(self, request: web.BaseRequest) -> web.StreamResponse:
        return await self._serve(request, self._anybody)

    async def _serve(self, request: web.BaseRequest, session: Session) -> web.StreamResponse:
        target = target_of(request.raw_path)
        if target is None:
            return _status(400, "BadRequest", "the request names no path")
        info = request_info(target.path)
        with session.request():
            try:
                if wants_upgrade(request):
                    return await tunnel(request, target, self._client.connection)
                known = await self._from_memory(request, target, info, session)
                return known if known is not None else await self._forward(request, target, info, session)
            except (TimeoutError, aiohttp.ClientError, OSError) as error:
                log.warning("API server did not answer", path=target.path, error=str(error))
                return _status(503, "ServiceUnavailable", f"the API server did not answer: {error}")
            except ApiError as error:  # to a question of ours, without whose answer the request cannot go on
                log.warning("API server did not say what a request needs", path=target.path, error=str(error))
                return _status(error.status or 503, error.reason, error.message, error.retry_after)

    async def _from_memory(
        self, request: web.BaseRequest, target: Target, info: RequestInfo | None, session: Session
    ) -> web.StreamResponse | None:
        if request.method != "GET" or session.grant is None:
            return None
        if info is None:
            document = await self._discovered.find(request, target, session)
            if document is None:
                return None
            return web.Response(body=document.body, headers=document.headers)
        found = self._reads.find(request, target, info, session) if self._reads is not None else None
        if found is None:
            return None
        self._recovery.from_objects(session.grant, found.resource, found.objects)
        return web.Response(body=found.body, headers={"Content-Type": "application/json", "X-Cache": "HIT"})

    async def _forward(
        self, request: web.BaseRequest, target: Target, info: RequestInfo | None, session: Session
    ) -> web.StreamResponse:
        with await self._noticed(request, info, session):
            body = await self._body(request, target, info, session)
            again = not isinstance(body, aiohttp.StreamReader) and (info is None or not info.subresource)
            lasting = info is not None and (bool(info.subresource) or is_watch(info, target.query))
            async with answer_of(
                request, target, self._client.connection, body, again=again, lasting=lasting
            ) as answer:
                grant = session.grant
                if grant is None or info is None:
                    return await hand_back(request, answer)
                if answer.status == 201 and isinstance(body, aiohttp.StreamReader) and grant.inject:
                    await self._ownership.created_unseen(info, request.content_type)
                if not _shows_something(request, target, info, grant) or not may_be_looked_into(answer):
                    return await hand_back(request, answer)
                first, whole = await peek(answer)
                if whole:
                    await self._recovery.from_answer(grant, info, unpacked(answer, first))
                return await hand_back(request, answer, first)

    async def _noticed(
        self, request: web.BaseRequest, info: RequestInfo | None, session: Session
    ) -> AbstractContextManager[None]:
        """While it lasts, what the request may change is not told from memory."""
        if request.method in _READS or (info is not None and info.group in _WITHOUT_EFFECT):
            return nullcontext()
        if info is not None and is_definition(info.group, info.plural):
            self._discovery.served.changed()
        if self._reads is None:
            return nullcontext()
        stored = info is not None and await self._ownership.resource(info) is not None
        return self._reads.writing(session, (info.group, info.plural) if info is not None and stored else None)

    async def _body(self, request: web.BaseRequest, target: Target, info: RequestInfo | None, session: Session) -> Body:
        """What to send upstream: the body as it comes, or, where it may create an object, with an owner in it."""
        if not request.can_read_body:
            return None
        # A body that does not say what it is (kubectl create --raw) is JSON to the API server.
        content_type = request.content_type if "Content-Type" in request.headers else "application/json"
        grant = session.grant
        if (
            grant is None
            or info is None
            or "Content-Encoding" in request.headers
            or not self._ownership.may_create(request.method, info, content_type)
        ):
            invite(request)
            return request.content
        dry_run = any(target.query.get("dryRun", ()))
        write = Write(request.method, info, content_type, dry_run, await read_body(request))
        return await self._ownership.prepare(grant, write)


class _ServerLog(logging.LoggerAdapter[logging.Logger]):
    """aiohttp's log. What a client sent that is no HTTP is its own fault, and no reason for a traceback."""

    def exception(self, msg: object, *args: object, exc_info: object = True, **kwargs: object) -> None:
        level = logging.DEBUG if isinstance(exc_info, HttpProcessingError) else logging.ERROR
        self.logger.log(level, msg, *args, exc_info=exc_info)  # type: ignore[arg-type]


def _shows_something(request: web.BaseRequest, target: Target, info: RequestInfo, grant: Grant) -> bool:
    """Whether the answer may show children, or Secrets: writes are answered with the object."""
    if info.subresource or is_watch(info, target.query):
        return False
    return info.of_secrets or (grant.inject and request.method == "GET")


def _status(code: int, reason: str, message: str, retry_after: float | None = None) -> web.Response:
    """An answer as the API server itself would give it, so that every client can read it."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:.0f}"}
    return web.json_response({**body, "message": message, "reason": reason, "code": code}, status=code, headers=headers)
