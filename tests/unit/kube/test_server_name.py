"""A certificate may be for another name than the URL's host: ``tls-server-name`` in a kubeconfig."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from ansible_operator.kube.client import Client
from ansible_operator.kube.connection import connect
from ansible_operator.kube.discovery import Discovery
from ansible_operator.model.errors import ApiError
from ansible_operator.proxy.certificates import make_certificates
from ansible_operator.proxy.server import Proxy

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
ELSEWHERE = "127.0.0.2"
"""A name that is not in the server's certificate."""


@pytest.fixture
async def kubeconfig(tmp_path: Path) -> AsyncIterator[Path]:
    """For a TLS server that answers everything with ``{}``, by an address that its certificate does not name."""
    certificates = make_certificates(tmp_path)
    (tmp_path / "ca.crt").write_bytes(certificates.authority)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, ELSEWHERE, 0, ssl=certificates.context)
    address = f"https://{ELSEWHERE}:{server.sockets[0].getsockname()[1]}"
    cluster = {"server": address, "certificate-authority": str(tmp_path / "ca.crt")}
    yield write(tmp_path / "kubeconfig", cluster)
    server.close()


def write(file: Path, cluster: dict[str, str]) -> Path:
    parts = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "x", **parts}))
    return file


def rename(kubeconfig: Path, name: str) -> None:
    cluster = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]
    write(kubeconfig, {**cluster, "tls-server-name": name})


async def test_the_certificate_may_be_for_the_name_that_tls_server_name_says(kubeconfig: Path) -> None:
    rename(kubeconfig, "localhost")
    connection = await connect({"KUBECONFIG": str(kubeconfig)})
    try:
        assert await Client(connection).request("GET", "/version") == {}
        assert [event async for event in Client(connection).watch("/x", {}, 5)] == []
        _, writer = await connection.open()
        writer.transport.abort()
        proxy = Proxy(Client(connection), Discovery(Client(connection)), 0, kubeconfig.parent, anonymous_port=0)
        await proxy.start()
        async with aiohttp.ClientSession() as session, session.get(f"{proxy.anonymous_url}/version") as answer:
            assert await answer.read() == b"{}"
        await proxy.stop()
    finally:
        await connection.close()


async def test_and_else_for_the_host_that_is_asked(kubeconfig: Path) -> None:
    connection = await connect({"KUBECONFIG": str(kubeconfig)})
    try:
        with pytest.raises(ApiError, match="certificate"):
            await Client(connection).request("GET", "/version")
        with pytest.raises(ssl.SSLCertVerificationError):
            await connection.open()
    finally:
        await connection.close()
