"""What the proxy has no reason to touch goes through it as it is, both ways (contract 4.8, 4.10)."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from pathlib import Path

import pytest

from ansible_operator.proxy.grants import Grant
from tests.support.upstream import OWNER, SECONDS, Received, closed, front, ok, until

CHILD = {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "a", "ownerReferences": [OWNER.reference()]}}
KINDS = {
    "resources": [
        {"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": ["get", "list", "watch", "create"]}
    ]
}


async def kinds_or_empty(request: Received) -> bytes:
    """Discovery, and an empty object for all else."""
    return ok(json.dumps(KINDS if request.line.startswith("GET /api/v1 ") else {}).encode())


# --- targets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "/api/v1/namespaces/a/configmaps/../secrets",
        "/api/v1/namespaces/a/configmaps/%2e%2E/secrets",
        "/api//v1///namespaces/a/configmaps",
        "//evil.example.com/api/v1/pods",
        "/api/v1/namespaces/a%2Fconfigmaps%2fb",
        "/api/v1/namespaces/a/pods/%252e%252e",
        "/api/v1/namespaces/a/services/https:b:80/proxy/x//y/..?z=%2F&z=+&&",
        "/api/v1/pods?labelSelector=a%3Db,c%21%3Dd&labelSelector=",
        "/@evil.example.com:80/x",
        "/;a=b/c,d!$&'()*+",
        "/" + "x" * 100_000,
    ],
    ids=lambda target: target[:60],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_target_reaches_the_api_server_byte_for_byte(target: str, method: str, tmp_path: Path) -> None:
    async with front(kinds_or_empty, tmp_path, base="/base/") as proxy:
        head, _ = await proxy.send(f"{method} {target}", body=b"{}" if method == "POST" else b"")
        assert head.startswith(b"HTTP/1.1 200")
        last = proxy.upstream.received[-1]
        assert last.line == f"{method} /base{target} HTTP/1.1"
        assert proxy.children == []


@pytest.mark.parametrize("target", ["http://evil.example.com/api/v1/pods", "munity://evil.example.com/api/v1/pods"])
async def test_a_target_with_a_host_in_it_does_not_choose_where_the_credentials_go(target: str, tmp_path: Path) -> None:
    async with front(kinds_or_empty, tmp_path) as proxy:
        await proxy.send(f"GET {target}")
        (request,) = proxy.upstream.received
        assert request.line == "GET /api/v1/pods HTTP/1.1"


@pytest.mark.parametrize("line", ["OPTIONS *", "GET evil.example.com/x", "GET @evil.example.com/x", "NO HTTP AT ALL"])
async def test_what_is_no_request_gets_an_answer_and_no_traceback(
    line: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with front(kinds_or_empty, tmp_path) as proxy:
        head, _ = await proxy.send(line)
        assert b" 400 " in head.split(b"\r\n")[0]
        assert proxy.upstream.received == []
        assert (await proxy.send("GET /healthz"))[0].startswith(b"HTTP/1.1 200")
    assert [record for record in caplog.records if record.levelno > logging.DEBUG and "aiohttp" in record.name] == []
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


# --- heads -----------------------------------------------------------------------------------------------------------


async def test_headers_pass_but_for_credentials_and_those_of_the_connection(tmp_path: Path) -> None:
    async with front(kinds_or_empty, tmp_path) as proxy:
        given = ["X-Twice: 1", "X-Twice: 2", "Accept: application/cbor, */*;q=0.1", "User-Agent: mine", "TE: trailers"]
        await proxy.send("GET /healthz", *given, "Cookie: a=b", "Authorization: Basic x", "Proxy-Authorization: y")
        (request,) = proxy.upstream.received
        host = proxy.connection.base.host_port_subcomponent
        assert sorted(request.headers) == [
            ("accept", "application/cbor, */*;q=0.1"),
            ("authorization", "Bearer of-the-operator"),
            ("cookie", "a=b"),
            ("host", host),
            ("user-agent", "mine"),
            ("x-twice", "1"),
            ("x-twice", "2"),
        ]


async def test_cookies_are_the_clients_and_not_the_proxys(tmp_path: Path) -> None:
    async def with_cookie(request: Received) -> bytes:
        return ok(b"", "Set-Cookie: affinity=1; Path=/")

    async with front(with_cookie, tmp_path, host="localhost") as proxy:  # aiohttp keeps no cookies of bare addresses
        head, _ = await proxy.send("GET /healthz")
        assert b"Set-Cookie: affinity=1" in head
        await proxy.send("GET /healthz")
        assert [request.header("cookie") for request in proxy.upstream.received] == [None, None]


@pytest.mark.parametrize("injected", ["X: a\rX-Remote-User: b", "X: a\nX-Remote-User: b", "X: a\0b"], ids=repr)
async def test_no_header_gets_in_by_another(injected: str, tmp_path: Path) -> None:
    async with front(kinds_or_empty, tmp_path) as proxy:
        head, _ = await proxy.send("GET /healthz", injected)
        assert b" 400 " in head.split(b"\r\n")[0]
        assert proxy.upstream.received == []


# --- bodies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "content_type"),
    [
        ("POST /api/v1/namespaces/a/configmaps", "application/vnd.kubernetes.protobuf"),
        ("POST /api/v1/namespaces/a/configmaps", "application/cbor"),
        ("PATCH /api/v1/namespaces/a/configmaps/b", "application/apply-patch+cbor"),
        ("POST /api/v1/namespaces/a/configmaps", "text/plain; what=ever"),
        ("PUT /api/v1/namespaces/a/services/s/proxy/upload", "application/json"),
        ("DELETE /api/v1/namespaces/a/configmaps", "application/json"),
        ("POST /api/v1/namespaces/a/configmaps", "application/json"),
    ],
)
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
async def test_bodies_that_are_not_understood_pass_untouched(
    line: str, content_type: str, chunked: bool, tmp_path: Path
) -> None:
    body = bytes(range(256)) * 300
    async with front(kinds_or_empty, tmp_path) as proxy:
        reader, writer = await proxy.open()
        framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
        writer.write(proxy.head(line, f"Content-Type: {content_type}", framing, "Connection: close"))
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if chunked else body)
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        await closed(writer)
        last = proxy.upstream.received[-1]
        assert last.body == body
        assert last.header("content-type") == content_type


async def test_a_large_object_gets_its_owner(tmp_path: Path) -> None:
    large = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"x": "y" * 3_000_000}}
    async with front(kinds_or_empty, tmp_path) as proxy:
        line = "POST /api/v1/namespaces/a/configmaps"
        await proxy.send(line, "Content-Type: application/json", body=json.dumps(large).encode())
        last = proxy.upstream.received[-1]
        metadata = {"name": "c", "ownerReferences": [OWNER.reference()]}
        assert json.loads(last.body) == {**large, "metadata": metadata}
        assert last.header("content-length") == str(len(last.body))


async def test_a_compressed_body_stays_compressed(tmp_path: Path) -> None:
    body = gzip.compress(json.dumps(CHILD).encode())
    async with front(kinds_or_empty, tmp_path) as proxy:
        line = "POST /api/v1/namespaces/a/configmaps"
        await proxy.send(line, "Content-Type: application/json", "Content-Encoding: gzip", body=body)
        last = proxy.upstream.received[-1]
        assert (last.body, last.header("content-encoding")) == (body, "gzip")


async def test_a_body_that_need_not_be_looked_at_is_handed_on_while_it_comes(tmp_path: Path) -> None:
    seen = bytearray()

    async def follow(request: Received) -> bytes:
        while not seen.endswith(b"0\r\n\r\n"):
            seen.extend(await request.reader.read(1000))
        return ok()

    async with front(follow, tmp_path) as proxy:
        reader, writer = await proxy.open()
        line = "POST /api/v1/namespaces/a/services/s/proxy/x"
        writer.write(proxy.head(line, "Transfer-Encoding: chunked", "X-Unread: yes", "Connection: close"))
        for part in (b"one", b"two"):
            writer.write(b"3\r\n%b\r\n" % part)
            await until(lambda part=part: part in seen, "a part is there before the next is sent")
        writer.write(b"0\r\n\r\n")
        assert (await asyncio.wait_for(reader.read(), SECONDS)).startswith(b"HTTP/1.1 200")
        await closed(writer)


@pytest.mark.parametrize("line", ["POST /api/v1/namespaces/a/configmaps", "DELETE /api/v1/namespaces/a/configmaps/b"])
async def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(line: str, tmp_path: Path) -> None:
    async with front(kinds_or_empty, tmp_path) as proxy:
        reader, writer = await proxy.open()
        given = ["Content-Type: application/json", "Expect: 100-continue", "Content-Length: 2", "Connection: close"]
        writer.write(proxy.head(line, *given))
        assert await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS) == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"{}")
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        await closed(writer)
        assert proxy.upstream.received[-1].header("expect") is None


async def test_and_without_a_token_it_is_not(tmp_path: Path) -> None:
    async with front(kinds_or_empty, tmp_path) as proxy:
        reader, writer = await proxy.open()
        writer.write(b"POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert (await asyncio.wait_for(reader.readline(), SECONDS)).startswith(b"HTTP/1.1 401")
        await closed(writer)


# --- answers ---------------------------------------------------------------------------------------------------------


async def test_a_write_whose_owner_cannot_be_decided_just_now_is_answered_as_the_api_server_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def busy(request: Received) -> bytes:
        if request.line.startswith("GET /api/v1 "):
            return ok(b"{}", "Retry-After: 7", status="429 Too Many Requests")
        return ok(b"{}")

    async with front(busy, tmp_path) as proxy:
        head, _ = await proxy.send("POST /api/v1/namespaces/a/configmaps", body=b'{"metadata": {"name": "c"}}')
        assert head.startswith(b"HTTP/1.1 429") and b"Retry-After: 7" in head
        assert [request.line.split()[0] for request in proxy.upstream.received] == ["GET"], "nothing was written"
    assert caplog.records == [], "and no traceback"


@pytest.mark.parametrize("status", ["429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable"])
@pytest.mark.parametrize("line", ["GET /api/v1/namespaces/a/configmaps", "POST /api/v1/namespaces/a/configmaps"])
async def test_trouble_upstream_is_told_as_it_is_and_not_tried_again(status: str, line: str, tmp_path: Path) -> None:
    async def trouble(request: Received) -> bytes:
        if request.line.startswith("GET /api/v1 "):
            return await kinds_or_empty(request)
        return ok(b'{"kind":  "Status"}', "Retry-After: 7", "Content-Type: application/json", status=status)

    async with front(trouble, tmp_path) as proxy:
        head, body = await proxy.send(line, body=b"{}" if line.startswith("POST") else b"")
        assert head.split(b"\r\n")[0] == f"HTTP/1.1 {status}".encode()
        assert b"\r\nRetry-After: 7" in head
        assert body == b'{"kind":  "Status"}'
        assert [request.line for request in proxy.upstream.received].count(f"{line} HTTP/1.1") == 1


@pytest.mark.parametrize(
    "content_type", ["application/vnd.kubernetes.protobuf", "application/cbor", "application/json"]
)
async def test_answers_pass_untouched(content_type: str, tmp_path: Path) -> None:
    raw = bytes(range(256)) * 1000

    async def binary(request: Received) -> bytes:
        return ok(raw, f"Content-Type: {content_type}", 'Warning: 299 - "x"', "X-Long: " + "y" * 20_000)

    async with front(binary, tmp_path) as proxy:
        head, body = await proxy.send("GET /api/v1/namespaces/a/configmaps")
        assert body == raw
        assert f"Content-Type: {content_type}".encode() in head
        assert b'Warning: 299 - "x"' in head
        assert b"y" * 20_000 in head


async def test_a_compressed_answer_stays_compressed(tmp_path: Path) -> None:
    raw = gzip.compress(b"{}")

    async def compressed(request: Received) -> bytes:
        return ok(raw, "Content-Type: application/json", "Content-Encoding: gzip")

    async with front(compressed, tmp_path) as proxy:
        assert (await proxy.send("GET /api/v1/pods", "Accept-Encoding: gzip"))[1] == raw
        assert proxy.upstream.received[-1].header("accept-encoding") == "gzip"


async def test_head_has_the_length_but_no_body_and_options_pass(tmp_path: Path) -> None:
    async def as_asked(request: Received) -> bytes:
        body = ok(b"12345", "Content-Type: text/plain")
        return body.removesuffix(b"12345") if request.line.startswith("HEAD") else body

    async with front(as_asked, tmp_path) as proxy:
        head, body = await proxy.send("HEAD /api/v1/namespaces/a/configmaps/b")
        assert b"Content-Length: 5" in head
        assert body == b""
        assert (await proxy.send("OPTIONS /api/v1/namespaces"))[1] == b"12345"


async def test_an_answer_that_is_cut_never_looks_whole(tmp_path: Path) -> None:
    async def cut(request: Received) -> None:
        request.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n")
        await request.writer.drain()

    async with front(cut, tmp_path) as proxy:
        reader, writer = await proxy.open()
        writer.write(proxy.head("GET /api/v1/namespaces/a/pods/p/log"))
        answer = b""
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            while True:
                answer += await asyncio.wait_for(reader.readexactly(1), SECONDS)
        assert b"12345" in answer
        assert not answer.endswith(b"0\r\n\r\n")
        await closed(writer)


async def test_an_api_server_that_is_not_there_is_told_as_the_api_server_would(tmp_path: Path) -> None:
    async with front(kinds_or_empty, tmp_path) as proxy:
        await proxy.upstream.stop()
        head, body = await proxy.send("GET /healthz")
        assert head.startswith(b"HTTP/1.1 503")
        assert json.loads(body)["kind"] == "Status"


async def test_refused_credentials_are_read_again_and_the_request_is_repeated_once(tmp_path: Path) -> None:
    async def refuse(request: Received) -> bytes:
        return ok(b"refused", status="401 Unauthorized")

    async with front(refuse, tmp_path) as proxy:
        assert (await proxy.send("GET /healthz"))[0].startswith(b"HTTP/1.1 401")
        assert len(proxy.upstream.received) == 2
        # What a Service behind the API server says is its own word.
        assert (await proxy.send("GET /api/v1/namespaces/a/services/s/proxy"))[1] == b"refused"
        assert len(proxy.upstream.received) == 3


# --- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "/api/v1/namespaces/a/configmaps?watch=1",
        "/api/v1/namespaces/a/configmaps?watch",
        "/api/v1/watch/namespaces/a/configmaps",
        "/api/v1/namespaces/a/pods/p/log?follow=true",
    ],
)
async def test_a_stream_comes_as_it_comes_and_ends_upstream_when_the_client_goes(target: str, tmp_path: Path) -> None:
    async def stream(request: Received) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        request.writer.write(head + b"7\r\nEvent 1\r\n")
        await request.writer.drain()
        await request.reader.read()  # until the other side closes

    async with front(stream, tmp_path) as proxy:
        reader, writer = await proxy.open()
        writer.write(proxy.head(f"GET {target}"))
        await asyncio.wait_for(reader.readuntil(b"Event 1"), SECONDS)
        assert proxy.upstream.open_connections == 1
        writer.transport.abort()
        await until(lambda: proxy.upstream.open_connections == 0, "the connection upstream is closed")


async def test_a_stream_ends_with_its_token(tmp_path: Path) -> None:
    async def stream(request: Received) -> None:
        request.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nEvent 1\r\n")
        await request.reader.read()

    async with front(stream, tmp_path) as proxy:
        reader, writer = await proxy.open()
        writer.write(proxy.head("GET /api/v1/configmaps?watch=1"))
        await asyncio.wait_for(reader.readuntil(b"Event 1"), SECONDS)
        proxy.proxy.grants.revoke(proxy.token)
        await until(lambda: proxy.upstream.open_connections == 0, "the connection upstream is closed")
        assert not (await asyncio.wait_for(reader.read(), SECONDS)).endswith(b"0\r\n\r\n")
        await closed(writer)


async def test_a_client_that_takes_nothing_holds_up_nobody_and_is_not_buffered_for(tmp_path: Path) -> None:
    sent = 0

    async def endless(request: Received) -> bytes | None:
        nonlocal sent
        if "/log" not in request.line:
            return ok(b"{}")
        request.writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            request.writer.write(b"x" * 65536)
            await request.writer.drain()
            sent += 65536

    async with front(endless, tmp_path) as proxy:
        reader, writer = await proxy.open()
        writer.write(proxy.head("GET /api/v1/namespaces/a/pods/p/log"))
        await reader.readline()
        before = -1
        while sent > before:  # until nothing more is taken
            before = sent
            assert (await asyncio.wait_for(proxy.send("GET /healthz"), SECONDS))[1] == b"{}"
            await asyncio.sleep(0.2)
        assert sent < 64 * 2**20
        writer.transport.abort()


# --- children --------------------------------------------------------------------------------------------------------


async def test_children_are_found_in_what_a_run_reads_and_the_answer_is_not_changed_by_it(tmp_path: Path) -> None:
    listed = json.dumps({"items": [CHILD, {"metadata": {}}]}, indent=3).encode()

    async def answer(request: Received) -> bytes:
        if request.line.startswith("GET /api/v1 "):
            return await kinds_or_empty(request)
        return ok(listed, "Content-Type: application/json")

    async with front(answer, tmp_path) as proxy:
        assert (await proxy.send("GET /api/v1/namespaces/a/configmaps"))[1] == listed
        assert [(child.resource.plural, child.namespace) for child in proxy.children] == [("configmaps", "a")]
        await proxy.send("GET /api/v1/namespaces/a/configmaps", anonymous=True)
        assert len(proxy.children) == 1


async def test_without_owner_references_no_children_are_found(tmp_path: Path) -> None:
    async def answer(request: Received) -> bytes:
        if request.line.startswith("GET /api/v1 "):
            return await kinds_or_empty(request)
        return ok(json.dumps({"items": [CHILD]}).encode(), "Content-Type: application/json")

    async with front(answer, tmp_path) as proxy:
        proxy.token = proxy.proxy.grants.issue(Grant(OWNER, inject=False, on_child=proxy.children.append))
        await proxy.send("GET /api/v1/namespaces/a/configmaps")
        body = json.dumps({"metadata": {"name": "c"}}).encode()
        await proxy.send("POST /api/v1/namespaces/a/configmaps", "Content-Type: application/json", body=body)
        assert proxy.children == []
        assert proxy.upstream.received[-1].body == body


async def test_children_are_found_in_the_table_that_kubectl_get_asks_for(tmp_path: Path) -> None:
    rows = [{"cells": ["c"], "object": {"kind": "PartialObjectMetadata", "metadata": CHILD["metadata"]}}, {}, 5]
    table = json.dumps({"kind": "Table", "rows": rows}).encode()

    async def answer(request: Received) -> bytes:
        if request.line.startswith("GET /api/v1 "):
            return await kinds_or_empty(request)
        return ok(table, "Content-Type: application/json")

    async with front(answer, tmp_path) as proxy:
        for path in ("configmaps", "configmaps/c"):
            assert (await proxy.send(f"GET /api/v1/namespaces/a/{path}"))[1] == table
        assert [child.resource.plural for child in proxy.children] == ["configmaps", "configmaps"]


async def test_that_something_has_no_owner_since_its_body_is_not_understood_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def created(request: Received) -> bytes:
        kinds = request.line.startswith("GET /api/v1 ")
        return await kinds_or_empty(request) if kinds else ok(b"x", status="201 Created")

    async with front(created, tmp_path) as proxy:
        for path in ("configmaps", "configmaps", "configmaps/c/status"):
            await proxy.send(f"POST /api/v1/namespaces/a/{path}", "Content-Type: application/cbor", body=b"\xd9")
        await proxy.send("POST /api/v1/namespaces/a/configmaps", "Content-Type: application/json", body=b"{}")
    said = capsys.readouterr()
    assert (said.out + said.err).count("created without an owner") == 1


@pytest.mark.parametrize(
    "body",
    [
        "[1, {!r}]",
        '{{"kind": "Table", "rows": 5, "x": {!r}}}',
        '{{"items": 5, "x": {!r}}}',
        '{{"items": [5, {!r}]}}',
        "no json {!r}",
    ],
)
async def test_an_answer_with_our_uid_in_it_that_is_no_list_is_handed_on(body: str, tmp_path: Path) -> None:
    raw = body.format(OWNER.uid).replace("'", '"').encode()

    async def odd(request: Received) -> bytes:
        return ok(raw, "Content-Type: application/json")

    async with front(odd, tmp_path) as proxy:
        assert (await proxy.send("GET /api/v1/namespaces/a/configmaps"))[1] == raw
        assert (await proxy.send("GET /api/v1/namespaces/a/configmaps/c"))[1] == raw
