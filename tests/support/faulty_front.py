"""A TLS front before the API server that injects faults: errors, lost answers, watches that break or fall silent.

What happens to which request is for a plan to say: ``Seeded`` throws dice from a seed, ``Scripted`` follows a list,
``holding.Holding`` stops one write of a play. Everything that was injected is counted, by who asked and by kind.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import re
import ssl
import threading
import warnings
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from ansible_operator.proxy.certificates import make_certificates
from tests.support.waiting import PATIENCE

_HOST = "127.0.0.1"
_OURS = "ansible-operator/"
_HOP_BY_HOP = frozenset({"host", "connection", "keep-alive", "transfer-encoding", "content-length"})
_STATUS = {
    "401": (401, "Unauthorized"),
    "404": (404, "NotFound"),
    "409": (409, "Conflict"),
    "410": (410, "Expired"),
    "429": (429, "TooManyRequests"),
    "500": (500, "InternalError"),
    "503": (503, "ServiceUnavailable"),
}
ANSWERS = tuple(_STATUS)
CUTS = ("refused", "answer lost", "half an answer")
HELD = "held"
"""The request waits at the front, and goes on when it is let go; that of a client that dies meanwhile never does."""
ANSWER_HELD = "answer held"
"""The request goes on, its answer waits at the front."""
STREAMS = ("dropped", "half a line", "ERROR 410", "ERROR 500", "half-open")
"""What may happen to a watch that has begun. A half-open one stays open and says nothing more."""

_READ = ("401", "429", "500", "503", *CUTS)
_WRITE = (*_READ, "409")
_LIST = (*_READ, "410")
_WATCH = ("410", "429", "500", "refused", *STREAMS)
FAULTS: Mapping[str, tuple[str, ...]] = {
    "list": _LIST,
    "watch": _WATCH,
    "list of definitions": _LIST,
    "watch of definitions": _WATCH,
    "object read": _READ,
    "status write": _WRITE,
    "finalizer patch": _WRITE,
    "lease": _WRITE,
    "discovery": _READ,
    "play GET": _READ,
    "play POST": _WRITE,
    "play PATCH": _WRITE,
}
"""The faults that each kind of request can meet."""


@dataclass(frozen=True)
class Call:
    """A request as it reaches the front; ``where`` says who asked for what, ``token`` is its bearer's."""

    method: str
    path: str
    query: Mapping[str, str]
    where: str
    token: str
    moment: float

    @property
    def namespace(self) -> str:
        """The namespace in the path; empty where there is none."""
        found = re.search(r"/namespaces/([^/]+)/", self.path)
        return found[1] if found else ""


Plan = Callable[[Call], str | None]
"""The fault that a request meets; None lets it pass."""


class Seeded:
    """Faults by chance: ``rates`` are probabilities by ``where``, each of its faults being equally likely."""

    def __init__(self, seed: int, rates: Mapping[str, float]) -> None:
        self.seed = seed
        self._rates = rates
        self._random = random.Random(seed)

    def __call__(self, call: Call) -> str | None:
        if self._random.random() >= self._rates.get(call.where, 0.0):
            return None
        return self._random.choice(FAULTS[call.where])


class Scripted:
    """Faults one after the other, by ``where``; when a script is over, requests pass.

    A script may have a fault besides those of FAULTS: ``silent``, a request that is never answered.
    """

    def __init__(self, **scripts: list[str]) -> None:
        self._scripts = {where.replace("_", " "): deque(faults) for where, faults in scripts.items()}

    def __call__(self, call: Call) -> str | None:
        script = self._scripts.get(call.where)
        return script.popleft() if script else None


@dataclass
class FaultyFront:
    """The front itself. ``plan`` may be changed at any time; ``calls`` are all requests, in the order they came.

    ``delay`` is how long a watch goes on before it meets its fault; ``retry_after`` what a 429 asks for. Seconds.
    """

    server: str
    ca_file: Path
    work_dir: Path
    plan: Plan = lambda call: None
    delay: Callable[[], float] = lambda: 0.0
    retry_after: int = 1
    port: int = 0
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: list[Call] = field(default_factory=list)
    held: list[Call] = field(default_factory=list)
    """What waits at the front, or has."""
    _life: _Life | None = None

    def __enter__(self) -> FaultyFront:
        certificates = make_certificates(self.work_dir)
        self._authority = certificates.authority
        self._life = _Life(self, certificates.context)
        self.port = self._life.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._life is not None
        self._life.stop()

    def kubeconfig(self, original: Path, path: Path) -> Path:
        """A copy of a kubeconfig that names the front as the server."""
        config = yaml.safe_load(original.read_text())
        authority = self.work_dir / "front-ca.crt"
        authority.write_bytes(self._authority)
        named = {"server": f"https://{_HOST}:{self.port}", "certificate-authority": str(authority)}
        config["clusters"][0]["cluster"] = named
        path.write_text(yaml.safe_dump(config))
        return path

    def let_go(self) -> None:
        """Let all that is held go on."""
        assert self._life is not None
        self._life.let_go()

    @property
    def injected(self) -> int:
        """How many faults there were."""
        return sum(self.faults.values())

    def count(self, where: str, fault: str | None = None) -> int:
        """How many faults of a kind there were."""
        return sum(count for (at, kind), count in self.faults.items() if at == where and fault in (None, kind))

    def asked(self, where: str) -> list[Call]:
        """The requests of that kind so far."""
        return [call for call in list(self.calls) if call.where == where]

    def table(self) -> str:
        """The faults by who asked and kind, for people."""
        by_where: dict[str, dict[str, int]] = defaultdict(dict)
        for (where, kind), count in sorted(self.faults.items()):
            by_where[where][kind] = count
        kinds = sorted({kind for _, kind in self.faults})
        lines = [" | ".join(["", "asked by", *kinds, "all", ""]), "|".join(["", *["---"] * (len(kinds) + 2), ""])]
        for where, counts in by_where.items():
            cells = [str(counts.get(kind, "")) for kind in kinds]
            lines.append(" | ".join(["", where, *cells, str(sum(counts.values())), ""]))
        sums = [str(sum(count for (_, at), count in self.faults.items() if at == kind)) for kind in kinds]
        return "\n".join([*lines, " | ".join(["", "all", *sums, str(self.injected), ""])])


class _Life:
    """The event loop of a front, on a thread of its own."""

    def __init__(self, front: FaultyFront, context: ssl.SSLContext) -> None:
        self._front = front
        self._context = context
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="faulty front", daemon=True)
        self._gate = asyncio.Event()

    def start(self) -> int:
        self._thread.start()
        return asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(PATIENCE)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        # A connection that came in the last moment, its handshake not over, stays open for the collector to find: here,
        # and not in whichever test comes next, which would fail by it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

    def let_go(self) -> None:
        def open_gate() -> None:
            self._gate.set()
            self._gate = asyncio.Event()

        self._loop.call_soon_threadsafe(open_gate)

    async def _hold(self, call: Call) -> None:
        self._front.held.append(call)
        await self._gate.wait()

    async def _start(self) -> int:
        trust = ssl.create_default_context(cafile=str(self._front.ca_file))
        connector = aiohttp.TCPConnector(limit=0, ssl=trust)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False, read_bufsize=2**20)
        server = web.Server(self._handle, access_log=None, handler_cancellation=True, auto_decompress=False)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, _HOST, self._front.port, ssl_context=self._context).start()
        port: int = self._runner.addresses[0][1]
        return port

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()
        open_files: Any = vars(self._loop)["_selector"].get_map()
        while len(open_files) > 1:  # the one that stays is the loop's own
            for transport in list(vars(self._loop)["_transports"].values()):
                transport.abort()  # TLS would take its time to say goodbye, and one may have come just now
            await asyncio.sleep(0.01)
        for _ in range(5):
            await asyncio.sleep(0.01)  # files are closed at once, the transports of TLS above them some turns later

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        call = _call_of(request, self._loop.time())
        self._front.calls.append(call)
        fault = self._front.plan(call)
        if fault is not None:
            self._front.faults[call.where, fault] += 1
        if fault in _STATUS:
            return self._refusal(fault)
        if fault == "refused":
            return _cut(request)
        body = await request.read()
        if fault == "silent":
            await asyncio.Event().wait()  # until the client has had enough of it
        if fault == HELD:
            await self._hold(call)
        with suppress(aiohttp.ClientError, OSError):
            async with self._forwarded(request, body) as answer:
                if fault == ANSWER_HELD:
                    await answer.read()
                    await self._hold(call)
                if "watch" in request.query and answer.status == 200:
                    return await self._stream(request, answer, fault)
                return await self._whole(request, answer, fault)
        return _cut(request)

    def _forwarded(self, request: web.BaseRequest, body: bytes) -> Any:
        headers = [(name, text) for name, text in request.headers.items() if name.lower() not in _HOP_BY_HOP]
        url = URL(self._front.server + request.raw_path, encoded=True)
        skipped = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
        options: dict[str, Any] = {"timeout": aiohttp.ClientTimeout(total=None), "skip_auto_headers": skipped}
        return self._session.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False, **options
        )

    def _refusal(self, fault: str) -> web.Response:
        code, reason = _STATUS[fault]
        headers = {"Retry-After": str(self._front.retry_after)} if fault == "429" else {}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
        return web.json_response({**status, "reason": reason, "message": "injected"}, status=code, headers=headers)

    async def _whole(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, fault: str | None
    ) -> web.StreamResponse:
        content = await answer.read()
        if fault == "answer lost":
            return _cut(request)
        if fault != "half an answer":
            return web.Response(status=answer.status, headers=_headers(answer), body=content)
        response = web.StreamResponse(status=answer.status, headers=_headers(answer))
        response.content_length = len(content)
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        return _cut(request)

    async def _stream(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, fault: str | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=_headers(answer))
        await response.prepare(request)
        if fault is None:
            await _relay(answer, response)
            await response.write_eof()
            return response
        with suppress(TimeoutError):
            await asyncio.wait_for(_relay(answer, response, bookmarks=False), self._front.delay())
        if fault == "half-open":
            await asyncio.Event().wait()  # until the client has had enough of it
        if fault.startswith("ERROR "):
            code, reason = _STATUS[fault.removeprefix("ERROR ")]
            status = {"kind": "Status", "code": code, "reason": reason, "message": "injected"}
            await response.write(json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")
            await response.write_eof()
            return response
        if fault == "half a line":
            await response.write(b'{"type":"MODIFIED","object":{"metadata":{"na')
        return _cut(request)


async def _relay(answer: aiohttp.ClientResponse, response: web.StreamResponse, *, bookmarks: bool = True) -> None:
    async for line in answer.content:
        if bookmarks or b'"BOOKMARK"' not in line[:30]:
            await response.write(line)


def _headers(answer: aiohttp.ClientResponse) -> list[tuple[str, str]]:
    return [(name, text) for name, text in answer.headers.items() if name.lower() not in _HOP_BY_HOP]


def _cut(request: web.BaseRequest) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _call_of(request: web.BaseRequest, moment: float) -> Call:
    token = request.headers.get("Authorization", "").partition(" ")[2]
    return Call(request.method, request.path, request.query.copy(), _where(request), token, moment)


def _where(request: web.BaseRequest) -> str:
    """Who asked for what, as FAULTS names it; ``other`` is never met by a seeded plan."""
    path, method = request.path, request.method
    ours = request.headers.get("User-Agent", "").startswith(_OURS)
    if "/leases" in path:
        return "lease"
    of_definitions = " of definitions" if path.endswith(("/customresourcedefinitions", "/apiservices")) else ""
    if "watch" in request.query:
        return "watch" + of_definitions
    if re.fullmatch(r"/api(/[^/]+)?/?|/apis(/[^/]+){0,2}/?", path):
        return "discovery"
    if not ours:
        return f"play {method}"
    if method == "GET":
        return f"list{of_definitions}" if "limit" in request.query else "object read"
    if method == "PATCH":
        return "status write" if path.endswith("/status") else "finalizer patch"
    return "other"
