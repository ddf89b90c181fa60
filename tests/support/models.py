"""A server of chat completions on loopback, OpenAI's API as Ollama, vLLM and llama.cpp serve it, and all that can be
wrong with one: the name of the model that is asked for is the name of the fault.

It keeps every byte it is sent (`seen`), so that a test can say what never left the cluster. It stands for the wire and
for ill will; what a model makes of the evidence is not its business.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.web_server import serving_application

PATH = "/v1/chat/completions"
DECISION: dict[str, Any] = {
    "rootCause": "The container runs out of memory.",
    "action": "restart",
    "confidencePercent": 90,
    "evidence": ["e1"],
    "parameters": {},
}


def decision(**fields: Any) -> dict[str, Any]:
    """A good answer, but for these fields."""
    return {**DECISION, **fields}


def completion(content: Any, finish: str = "stop", usage: Any = None, **message: Any) -> dict[str, Any]:
    """The envelope of one answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    counted = {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000} if usage is None else usage
    return {"id": "c-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": counted}


def _said(content: str, **more: Any) -> Callable[[ModelServer, web.Request], Awaitable[web.StreamResponse]]:
    return _envelope(completion(content, **more))


def _envelope(body: Any) -> Callable[[ModelServer, web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: ModelServer, __: web.Request) -> web.StreamResponse:
        return web.json_response(body)

    return answer


def _status(status: int, text: str = "", **headers: str) -> Callable[..., Awaitable[web.StreamResponse]]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def answer(_: ModelServer, __: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text or json.dumps({"error": {"message": "no"}}), headers=named)

    return answer


async def _stranger(server: ModelServer, _: web.Request) -> web.StreamResponse:
    """Another host by its name."""
    raise web.HTTPTemporaryRedirect(f"{server.scheme}://localhost:{server.port}/stranger")


async def _without_format(server: ModelServer, request: web.Request) -> web.StreamResponse:
    if "response_format" in await request.json():
        return web.json_response({"error": {"message": "unknown field response_format"}}, status=400)
    return web.json_response(completion(json.dumps(server.answer)))


async def _hang(_: ModelServer, __: web.Request) -> web.StreamResponse:
    await asyncio.sleep(3600)
    return web.Response()


async def _hold(server: ModelServer, request: web.Request) -> web.StreamResponse:
    """A good answer, once the test lets it go."""
    await server.release.wait()
    return await _good(server, request)


async def _reset(_: ModelServer, request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def _drip(_: ModelServer, request: web.Request) -> web.StreamResponse:
    """A byte at a time, for ever: no read of it is ever late."""
    return await _poured(request, b" ", 0.1)


async def _endless(_: ModelServer, request: web.Request) -> web.StreamResponse:
    return await _poured(request, b" " * 2**20, 0)


async def _poured(request: web.Request, piece: bytes, pause: float) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "application/json"})
    await answer.prepare(request)
    with suppress(ConnectionResetError):
        while True:
            await answer.write(piece)
            await asyncio.sleep(pause)
    return answer


async def _echo(_: ModelServer, request: web.Request) -> web.StreamResponse:
    """A model that repeats all it was sent, the credential too."""
    told = f"{request.headers.get('Authorization')} {(await request.json())['messages'][1]['content']}"
    return web.json_response(completion(json.dumps(decision(rootCause=told[:900]))))


async def _good(server: ModelServer, _: web.Request) -> web.StreamResponse:
    return web.json_response(completion(json.dumps(server.answer), usage=server.usage))


_JSON = json.dumps(DECISION)
_TWICE = _JSON[:-1] + ', "action": "rollback"}'
FAULTS: dict[str, Callable[..., Awaitable[web.StreamResponse]]] = {
    "good": _good,
    "fenced": _said(f"```json\n{_JSON}\n```"),
    "no-response-format": _without_format,
    "no-usage": _envelope({k: v for k, v in completion(_JSON).items() if k != "usage"}),
    "absurd-usage": _said(_JSON, usage={"total_tokens": 10**15}),
    "negative-usage": _said(_JSON, usage={"total_tokens": -5}),
    "prose": _said("The container is out of memory. I would restart it."),
    "prose-around": _said(f"Here you are:\n{_JSON}\nGood luck!"),
    "two-objects": _said(f"{_JSON}\n{_JSON}"),
    "list": _said(f"[{_JSON}]"),
    "thoughts": _said(f"<think>out of memory?</think>{_JSON}"),
    "truncated": _said(_JSON[:60], finish="length"),
    "truncated-whole": _said(_JSON, finish="length"),
    "filtered": _said("", finish="content_filter"),
    "refusal": _said("", refusal="I cannot help with that."),
    "empty": _said(""),
    "tools": _said("", tool_calls=[{"function": {"name": "kubectl", "arguments": "delete"}}]),
    "no-choices": _envelope({**completion(""), "choices": []}),
    "two-choices": _envelope({**completion(_JSON), "choices": completion(_JSON)["choices"] * 2}),
    "not-openai": _envelope({"response": _JSON}),
    "not-json": _status(200, "<html>hello</html>", Content_Type="application/json"),
    "duplicate-key": _said(_TWICE),
    "duplicate-key-outside": _status(
        200, json.dumps(completion(_JSON))[:-1] + ', "choices": []}', Content_Type="application/json"
    ),
    "nan": _said(_JSON.replace("90", "NaN")),
    "infinity": _said(_JSON.replace("90", "1e999")),
    "huge-number": _said(_JSON.replace("90", "9" * 5000)),
    "fraction": _said(_JSON.replace("90", "90.5")),
    "over-hundred": _said(json.dumps(decision(confidencePercent=101))),
    "text-number": _said(json.dumps(decision(confidencePercent="90"))),
    "true-number": _said(json.dumps(decision(confidencePercent=True))),
    "nested": _said("[" * 20000),
    "nested-object": _said(json.dumps(decision(parameters={"direction": {"Up": {"now": 1}}}))),
    "extra-field": _said(json.dumps(decision(command="rm -rf /"))),
    "extra-parameter": _said(json.dumps(decision(parameters={"image": "evil:latest"}))),
    "other-target": _said(json.dumps(decision(parameters={"targetDeployment": "database"}))),
    "replicas": _said(json.dumps(decision(action="scale", parameters={"replicas": 1000}))),
    "missing-field": _said(json.dumps({k: v for k, v in DECISION.items() if k != "evidence"})),
    "unknown-action": _said(json.dumps(decision(action="delete"))),
    "lookalike-action": _said(json.dumps(decision(action="rest\u0430rt"))),
    "full-width-action": _said(json.dumps(decision(action="\uff52estart"))),
    "lookalike-key": _said(_JSON.replace('"action"', '"\u0430ction"')),
    "invisible-cause": _said(json.dumps(decision(rootCause="\u200b\u2060\u202e"))),
    "long-cause": _said(json.dumps(decision(rootCause="x" * 1001))),
    "huge-answer": _said(json.dumps(decision(rootCause="x" * 30000))),
    "not-allowed": _said(json.dumps(decision(action="rollback"))),
    "wrong-direction": _said(json.dumps(decision(action="scale", parameters={"direction": "Down"}))),
    "unknown-evidence": _said(json.dumps(decision(evidence=["e1", "e998"]))),
    "no-evidence": _said(json.dumps(decision(evidence=[]))),
    "full-width-evidence": _said(json.dumps(decision(evidence=["e\uff11"]))),
    "unknown-container": _said(json.dumps(decision(parameters={"container": "sidecar-of-mine"}))),
    "unsure": _said(json.dumps(decision(confidencePercent=10))),
    "echo": _echo,
    "unauthorized": _status(401),
    "forbidden": _status(403),
    "not-found": _status(404),
    "busy": _status(429, Retry_After="7"),
    "busy-unsaid": _status(429),
    "bad-request": _status(400),
    "server-error": _status(500),
    "unavailable": _status(503, Retry_After="7"),
    "teapot": _status(418),
    "redirect": _stranger,
    "wrong-type": _status(200, json.dumps(completion(_JSON)), Content_Type="text/html"),
    "stream": _status(
        200, f"data: {json.dumps(completion(_JSON))}\n\ndata: [DONE]\n\n", Content_Type="text/event-stream"
    ),
    "hang": _hang,
    "hold": _hold,
    "drip": _drip,
    "endless": _endless,
    "reset": _reset,
}
"""By the name of the model."""


@dataclass
class ModelServer:
    """The server, and what a test tells it."""

    port: int = 0
    scheme: str = "http"
    answer: dict[str, Any] = field(default_factory=decision)
    """Of the model `good`."""
    usage: Any = None
    """Of the model `good`; None is 1000 tokens."""
    token: str = ""
    """If set, nobody gets in without it."""
    seen: bytearray = field(default_factory=bytearray)
    """Every byte of every request, wherever it went."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """Of the questions, parsed."""
    headers: list[dict[str, str]] = field(default_factory=list)
    strayed: int = 0
    """Requests to where a redirect points."""
    at_once: int = 0
    most_at_once: int = 0
    """Questions that were in flight together."""
    on_request: Callable[[], None] = lambda: None
    release: asyncio.Event = field(default_factory=asyncio.Event)
    """Once it is set (`let_go`), the model `hold` answers."""
    loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    def let_go(self) -> None:
        """From another thread than the server's."""
        assert self.loop is not None, "nobody has asked yet"
        self.loop.call_soon_threadsafe(self.release.set)

    def base(self, name: str) -> str:
        """Another address of the same server: a turn and a breaker of its own."""
        return f"{self.scheme}://127.0.0.1:{self.port}/{name}/v1"

    async def question(self, request: web.Request) -> web.StreamResponse:
        self.loop = asyncio.get_running_loop()
        await self._keep(request)
        self.headers.append(dict(request.headers))
        self.bodies.append(await request.json())
        self.on_request()
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"error": {"message": "invalid key"}}, status=401)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await FAULTS[self.bodies[-1]["model"]](self, request)
        finally:
            self.at_once -= 1

    async def stranger(self, request: web.Request) -> web.StreamResponse:
        await self._keep(request)
        self.strayed += 1
        return web.json_response(completion(_JSON))

    async def _keep(self, request: web.Request) -> None:
        self.seen += f"{request.method} {request.path_qs}\r\n".encode()
        for name, value in request.raw_headers:
            self.seen += name + b": " + value + b"\r\n"
        self.seen += await request.read()

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post(PATH, self.question)
        app.router.add_post(f"/{{name}}{PATH}", self.question)
        app.router.add_route("*", "/stranger", self.stranger)
        return app


@contextmanager
def serving_models(context: ssl.SSLContext | None = None) -> Iterator[ModelServer]:
    """A server of models on a free port, in a thread of its own."""
    server = ModelServer(scheme="https" if context else "http")
    with serving_application(server.application(), context) as server.port:
        yield server
