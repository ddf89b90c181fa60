"""The small servers: probes, metrics, and metrics that content reports. Each listens on a free port of loopback."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from ansible_operator.model.errors import StartError
from ansible_operator.model.settings import Address
from ansible_operator.telemetry import endpoints
from ansible_operator.telemetry.endpoints import Endpoint
from ansible_operator.telemetry.metrics import Metrics
from ansible_operator.telemetry.user_metrics import UserMetrics, user_metrics
from localcluster.ports import free_port

HOST = "127.0.0.1"


@pytest.fixture
def port() -> int:
    return free_port()


Get = Callable[..., Awaitable[tuple[int, str]]]


@asynccontextmanager
async def served(endpoint: Endpoint, port: int) -> AsyncIterator[Get]:
    await endpoint.start()
    async with aiohttp.ClientSession(f"http://{HOST}:{port}") as session:

        async def request(path: str, method: str = "GET", **options: Any) -> tuple[int, str]:
            async with session.request(method, path, **options) as response:
                return response.status, await response.text()

        try:
            yield request
        finally:
            await endpoint.stop()


# --- probes ----------------------------------------------------------------------------------------------------------


async def test_probes_are_ok_while_every_check_is(port: int) -> None:
    endpoint = endpoints.probes(Address(HOST, port), {"ping": lambda: None}, {"informers": lambda: None})
    async with served(endpoint, port) as get:
        for path in ("/healthz", "/readyz", "/healthz/ping", "/readyz/informers"):
            assert await get(path) == (200, "ok")


async def test_a_check_that_fails_makes_its_probe_500_and_says_why(port: int) -> None:
    reasons: list[str | None] = ["waiting for the first list of webs"]
    ready = {"informers": lambda: reasons[0], "other": lambda: None}
    endpoint = endpoints.probes(Address(HOST, port), {"ping": lambda: None}, ready)
    async with served(endpoint, port) as get:
        assert await get("/readyz") == (
            500,
            "[-]informers failed: waiting for the first list of webs\nreadyz check failed\n",
        )
        assert (await get("/readyz/informers"))[0] == 500
        assert await get("/readyz/other") == (200, "ok")
        assert await get("/healthz") == (200, "ok")
        reasons[0] = None
        assert await get("/readyz") == (200, "ok")


# --- metrics ---------------------------------------------------------------------------------------------------------


async def test_metrics_come_as_prometheus_text(port: int) -> None:
    async with served(endpoints.metrics(Address(HOST, port), Metrics("1.2.3")), port) as get:
        status, text = await get("/metrics")
        assert status == 200
        assert 'ansible_operator_build_info{commit="",version="1.2.3"} 1.0\n' in text
        assert "process_cpu_seconds_total" in text
        _, modern = await get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
        assert modern.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ({}, 401),
        ({"Authorization": "Basic eDp5"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer bad"}, 403),
        ({"Authorization": "Bearer unknown"}, 500),
        ({"Authorization": "bearer good"}, 200),
    ],
    ids=str,
)
async def test_metrics_may_be_guarded(port: int, authorization: dict[str, str], status: int) -> None:
    async def access(token: str) -> int:
        if token == "unknown":
            raise StartError("cannot ask")
        return 200 if token == "good" else 403

    async with served(endpoints.metrics(Address(HOST, port), Metrics("1"), access=access), port) as get:
        found, text = await get("/metrics", headers=authorization)
        assert found == status
        assert ("build_info" in text) == (status == 200)


# --- starting and stopping -------------------------------------------------------------------------------------------

SERVERS = {
    "--health-probe-bind-address": lambda address: endpoints.probes(address, {}, {}),
    "--metrics-bind-address": lambda address: endpoints.metrics(address, Metrics("1")),
    "--user-metrics-bind-address": lambda address: user_metrics(address, CollectorRegistry()),
}


@pytest.mark.parametrize("flag", SERVERS)
async def test_a_port_in_use_is_an_error_that_names_the_flag(flag: str) -> None:
    with socket.create_server((HOST, 0)) as other:
        endpoint = SERVERS[flag](Address(HOST, other.getsockname()[1]))
        with pytest.raises(StartError, match=f"cannot listen on {HOST}:.*in use.*{flag}, or 0 to switch it off"):
            await endpoint.start()
        await endpoint.stop()


@pytest.mark.parametrize("flag", SERVERS)
async def test_a_host_that_is_not_ours_is_one_too(flag: str) -> None:
    endpoint = SERVERS[flag](Address("192.0.2.1", 1))
    with pytest.raises(StartError, match=flag):
        await endpoint.start()
    await endpoint.stop()


@pytest.mark.parametrize("flag", SERVERS)
async def test_port_0_switches_a_server_off(flag: str) -> None:
    endpoint = SERVERS[flag](Address("", 0))
    await endpoint.start()
    await endpoint.stop()


async def test_a_port_is_free_again_after_the_stop(port: int) -> None:
    for _ in range(2):
        async with served(endpoints.probes(Address(HOST, port), {}, {}), port) as get:
            assert (await get("/healthz"))[0] == 200


async def test_without_a_host_it_listens_everywhere(port: int) -> None:
    async with served(endpoints.probes(Address("", port), {}, {}), port) as get:
        assert (await get("/healthz"))[0] == 200


# --- metrics of content ----------------------------------------------------------------------------------------------


def report(*documents: dict[str, Any]) -> CollectorRegistry:
    registry = CollectorRegistry()
    metrics = UserMetrics(registry)
    for document in documents:
        metrics.report(document)
    return registry


def gauge(**operation: Any) -> dict[str, Any]:
    return {"name": "g", "description": "a gauge", "gauge": operation}


@pytest.mark.parametrize(
    ("operations", "value"),
    [
        ([{"set": 5}], 5),
        ([{"set": 5}, {"set": 0}], 0),
        ([{"increment": True}, {"increment": True}, {"decrement": True}], 1),
        ([{"add": 2.5}, {"subtract": 1}], 1.5),
        ([{"increment": False, "set": 3}], 3),
        ([{"set": 3, "set_to_current_time": True}], 3),
        ([{"increment": True}, {"increment": True, "decrement": True, "add": 5, "set": 9}], 2),
    ],
    ids=str,
)
def test_a_gauge(operations: list[dict[str, Any]], value: float) -> None:
    assert report(*(gauge(**operation) for operation in operations)).get_sample_value("g") == value


def test_a_gauge_of_the_time() -> None:
    assert (report(gauge(set_to_current_time=True)).get_sample_value("g") or 0) > 1.7e9


def test_a_counter_only_grows() -> None:
    registry = report(
        *({"name": "c", "counter": {"increment": True}} for _ in range(2)), {"name": "c", "counter": {"add": 3}}
    )
    assert registry.get_sample_value("c") == 5


@pytest.mark.parametrize("kind", ["histogram", "summary"])
def test_observations(kind: str) -> None:
    registry = report(*({"name": "o", kind: {"observe": value}} for value in (1, 2.5)))
    assert (registry.get_sample_value("o_count"), registry.get_sample_value("o_sum")) == (2, 3.5)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ([], "name is missing"),
        ({}, "name is missing"),
        ({"name": "x"}, "0 types are given"),
        ({"name": "x", "gauge": {"set": 1}, "counter": {"add": 1}}, "2 types are given"),
        ({"name": "x", "gauge": 5}, "gauge is not a map"),
        ({"name": "x", "gauge": {"set": "5"}}, "set is '5'"),
        ({"name": "x", "gauge": {"set": True}}, "set is True"),
        ({"name": "x", "counter": {"add": -1}}, "add is -1; send a number of at least 0"),
    ],
    ids=str,
)
def test_what_cannot_be_counted_is_refused_with_the_reason(document: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        report(document)


def test_a_name_keeps_its_type() -> None:
    with pytest.raises(ValueError, match="g is not a counter"):
        report(gauge(set=1), {"name": "g", "counter": {"increment": True}})


async def test_content_reports_by_http(port: int) -> None:
    registry = CollectorRegistry()
    async with served(user_metrics(Address(HOST, port), registry), port) as request:
        assert await request("/metrics", "POST", json=gauge(set=7)) == (200, "")
        assert registry.get_sample_value("g") == 7
        status, text = await request("/metrics", "POST", data=b"no json")
        assert (status, text[-1]) == (400, "\n")
        assert (await request("/metrics", "POST", data=b"\xff"))[0] == 400
        assert (await request("/metrics"))[0] == 405
        assert (await request("/other", "POST"))[0] == 404
