"""Metrics that content reports: ``POST /metrics`` with the JSON that ``operator_sdk.util.osdk_metric`` sends.

Bounded: at most ``MAX_SERIES`` names; one more is refused, since a name made of an object's would never go away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ansible_operator.model.settings import Address
from ansible_operator.telemetry.endpoints import Endpoint
from ansible_operator.telemetry.metrics import BUCKETS

URL_VARIABLE = "ANSIBLE_OPERATOR_USER_METRICS_URL"
"""Environment variable by which ``osdk_metric`` finds the server."""

MAX_SERIES = 1000
_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - what a person may have asked for


class _NamedCounter(Collector):
    """A counter under exactly the name it was given, as Go's client has it; Python's would add ``_total``."""

    def __init__(self, name: str, description: str, registry: CollectorRegistry) -> None:
        self._metric = Metric(name, description, "unknown")
        self._value = 0.0
        registry.register(self)

    def inc(self, amount: float = 1) -> None:
        self._value += amount

    def describe(self) -> Iterator[Metric]:
        yield self._metric

    def collect(self) -> Iterator[Metric]:
        metric = Metric(self._metric.name, self._metric.documentation, "unknown")
        metric.add_sample(metric.name, {}, self._value)
        yield metric


def _counter(name: str, description: str, registry: CollectorRegistry) -> Counter | _NamedCounter:
    if name.endswith("_total"):
        return Counter(name, description, registry=registry)
    return _NamedCounter(name, description, registry)


def _histogram(name: str, description: str, registry: CollectorRegistry) -> Histogram:
    return Histogram(name, description, registry=registry, buckets=BUCKETS)


_Series = Counter | _NamedCounter | Gauge | Histogram | Summary
_KINDS: dict[str, Callable[[str, str, CollectorRegistry], _Series]] = {
    "counter": _counter,
    "gauge": lambda name, description, registry: Gauge(name, description, registry=registry),
    "histogram": _histogram,
    "summary": lambda name, description, registry: Summary(name, description, registry=registry),
}


class UserMetrics:
    """Series by name; one name keeps one type. They appear beside the operator's own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._series: dict[str, tuple[str, _Series]] = {}

    def report(self, document: Any) -> None:
        """Count what a document reports; without anything to do it only makes the series known.

        Raises ValueError, naming the field and the cure.
        """
        if not isinstance(document, Mapping) or not document.get("name"):
            raise ValueError("name is missing; send {name, description, and one of counter, gauge, histogram, summary}")
        kinds = [kind for kind in _KINDS if document.get(kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"{len(kinds)} types are given; send exactly one of {', '.join(_KINDS)}")
        kind = kinds[0]
        operation = document[kind]
        if not isinstance(operation, Mapping):
            raise ValueError(f"{kind} is not a map; send what to do, such as {{increment: true}}")
        _OPERATIONS[kind](self._named(str(document["name"]), str(document.get("description") or ""), kind), operation)

    def _named(self, name: str, description: str, kind: str) -> Any:
        if name not in self._series:
            if len(self._series) >= MAX_SERIES:
                raise ValueError(f"there are {MAX_SERIES} series already; use few names, and none made of an object's")
            self._series[name] = (kind, _KINDS[kind](name, description or name, self._registry))
        known, series = self._series[name]
        if known != kind:
            raise ValueError(f"{name} is not a {kind}; use another name, or the type it was first reported with")
        return series


def _count(series: Counter | _NamedCounter, operation: Mapping[str, Any]) -> None:
    if operation.get("increment"):
        series.inc()
    elif operation.get("add") is not None:
        series.inc(_number(operation, "add", at_least_0=True))


def _gauge(series: Gauge, operation: Mapping[str, Any]) -> None:
    if operation.get("increment"):
        series.inc()
    elif operation.get("decrement"):
        series.dec()
    elif operation.get("add"):
        series.inc(_number(operation, "add"))
    elif operation.get("subtract"):
        series.dec(_number(operation, "subtract"))
    elif operation.get("set"):
        series.set(_number(operation, "set"))
    elif operation.get("set_to_current_time"):
        series.set_to_current_time()
    elif operation.get("set") is not None:
        series.set(_number(operation, "set"))


def _observe(series: Histogram | Summary, operation: Mapping[str, Any]) -> None:
    if operation.get("observe") is not None:
        series.observe(_number(operation, "observe"))


_OPERATIONS: dict[str, Callable[[Any, Mapping[str, Any]], None]] = {
    "counter": _count,
    "gauge": _gauge,
    "histogram": _observe,
    "summary": _observe,
}


def _number(operation: Mapping[str, Any], field: str, *, at_least_0: bool = False) -> float:
    value = operation.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or (at_least_0 and value < 0):
        raise ValueError(f"{field} is {value!r}; send a number{' of at least 0' if at_least_0 else ''}")
    return float(value)


def environment_of(address: Address) -> dict[str, str]:
    """What tells runs where the server is; nothing where it is off."""
    if address.port == 0:
        return {}
    host = "127.0.0.1" if address.host in _EVERYWHERE else address.host
    return {URL_VARIABLE: f"http://{f'[{host}]' if ':' in host else host}:{address.port}/metrics"}


def user_metrics(address: Address, registry: CollectorRegistry) -> Endpoint:
    """The server. It answers 200, 400 with the reason, or 405 for anything but POST."""
    metrics = UserMetrics(registry)

    async def handle(request: web.Request) -> web.Response:
        try:
            metrics.report(json.loads(await request.read()))
        except ValueError as error:
            return web.Response(status=400, text=f"{error}\n")
        return web.Response()

    application = web.Application()
    application.router.add_post("/metrics", handle)
    return Endpoint("user metrics", "--user-metrics-bind-address", address, application)
