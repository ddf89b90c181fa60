"""--metrics-secure means TLS; and a page of any size does not hold the event loop up."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import aiohttp
import pytest

from ansible_operator.model.settings import Address
from ansible_operator.proxy.certificates import make_certificates
from ansible_operator.telemetry import endpoints
from ansible_operator.telemetry.metrics import Metrics
from localcluster.ports import free_port
from tests.support.waiting import PATIENCE

HOST = "127.0.0.1"


@pytest.fixture
def port() -> int:
    return free_port()


async def test_metrics_are_served_over_tls_and_not_in_the_clear(port: int, tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    trust = ssl.create_default_context(cadata=certificates.authority.decode())
    endpoint = endpoints.metrics(Address(HOST, port), Metrics("1"), certificates.context)
    await endpoint.start()
    try:
        async with aiohttp.ClientSession() as session:
            async with session.get(f"https://{HOST}:{port}/metrics", ssl=trust) as response:
                assert (response.status, "build_info" in await response.text()) == (200, True)
            with pytest.raises(aiohttp.ClientError):
                await session.get(f"http://{HOST}:{port}/metrics")
    finally:
        await endpoint.stop()


async def test_the_loop_goes_on_while_a_page_is_made(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def slowly(_registry: object) -> bytes:
        """Ends only when the loop has done something meanwhile."""
        asyncio.run_coroutine_threadsafe(done.wait(), loop).result(PATIENCE)
        return b"page"

    monkeypatch.setattr(endpoints.exposition, "choose_encoder", lambda _accept: (slowly, "text/plain"))
    endpoint = endpoints.metrics(Address(HOST, port), Metrics("1"))
    await endpoint.start()
    try:
        async with aiohttp.ClientSession() as session:
            asking = asyncio.create_task(session.get(f"http://{HOST}:{port}/metrics"))
            loop.call_later(0.2, done.set)
            async with await asyncio.wait_for(asking, PATIENCE) as response:
                assert await response.text() == "page"
    finally:
        await endpoint.stop()
