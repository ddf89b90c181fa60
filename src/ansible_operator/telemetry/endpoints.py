"""The HTTP servers that show probes (``/healthz``, ``/readyz``) and metrics (``/metrics``)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web
from prometheus_client import exposition

from ansible_operator.model.errors import OperatorError, StartError
from ansible_operator.model.settings import Address
from ansible_operator.telemetry.metrics import Metrics

Access = Callable[[str], Awaitable[int]]
"""Whether the bearer of a token may read: an HTTP status, 200 for yes."""

Check = Callable[[], str | None]
"""A probe: None when all is well, else what is wrong."""


class Endpoint:
    """One small HTTP server."""

    def __init__(
        self,
        name: str,
        flag: str,
        address: Address,
        application: web.Application,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._context = context
        self._name = name
        self._flag = flag
        self._address = address
        self._runner = web.AppRunner(application, access_log=None)

    async def start(self) -> None:
        """Listen. Raises StartError, naming the flag, where the port is taken."""
        if self._address.port == 0:
            return
        await self._runner.setup()
        try:
            host, port = self._address.host or None, self._address.port
            await web.TCPSite(self._runner, host, port, ssl_context=self._context).start()
        except OSError as error:
            raise StartError(
                f"{self._name}: cannot listen on {self._address}: {error.strerror or error}; "
                f"choose another with {self._flag}, or 0 to switch it off"
            ) from error

    async def stop(self) -> None:
        """Close the server."""
        await self._runner.cleanup()


def probes(address: Address, live: Mapping[str, Check], ready: Mapping[str, Check]) -> Endpoint:
    """``/healthz`` and ``/readyz``, each also per check (``/readyz/<name>``); 500 and the reason when one fails."""
    application = web.Application()
    for path, checks in (("healthz", live), ("readyz", ready)):
        application.router.add_get(f"/{path}", _handler(path, checks))
        for name, check in checks.items():
            application.router.add_get(f"/{path}/{name}", _handler(path, {name: check}))
    return Endpoint("health probes", "--health-probe-bind-address", address, application)


def _handler(path: str, checks: Mapping[str, Check]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(_request: web.Request) -> web.Response:
        complaints = [f"[-]{name} failed: {text}" for name, check in checks.items() if (text := check())]
        if complaints:
            return web.Response(status=500, text="\n".join([*complaints, f"{path} check failed", ""]))
        return web.Response(text="ok")

    return handle


def metrics(
    address: Address, source: Metrics, context: ssl.SSLContext | None = None, access: Access | None = None
) -> Endpoint:
    """``/metrics`` in the format the scraper asks for; with a ``context`` over TLS, with ``access`` guarded."""

    async def handle(request: web.Request) -> web.Response:
        status = await _admitted(request, access)
        if status != 200:
            return web.Response(status=status)
        encode, content_type = exposition.choose_encoder(request.headers.get("Accept", ""))
        body = await asyncio.to_thread(encode, source.registry)  # a third of a second where there are 10,000 objects
        return web.Response(body=body, headers={"Content-Type": content_type})

    application = web.Application()
    application.router.add_get("/metrics", handle)
    return Endpoint("metrics", "--metrics-bind-address", address, application, context)


async def _admitted(request: web.Request, access: Access | None) -> int:
    if access is None:
        return 200
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        return 401
    try:
        return await access(token.strip())
    except OperatorError:
        return 500  # whoever cannot be checked is not let in
