"""Metrics that content reports: ``POST /metrics`` with the JSON that ``operator_sdk.util.osdk_metric`` sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary

from ansible_operator.model.settings import Address
from ansible_operator.telemetry.endpoints import Endpoint

_Series = Counter | Gauge | Histogram | Summary
_KINDS: dict[str, type[_Series]] = {"counter": Counter, "gauge": Gauge, "histogram": Histogram, "summary": Summary}


class UserMetrics:
    """Series by name; one name keeps one type. They appear beside the operator's own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._series: dict[str, _Series] = {}

    def report(self, document: Any) -> None:
        """Count what a document reports. Raises ValueError, naming the field and the cure."""
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
        series = self._series.get(name)
        if series is None:
            series = self._series[name] = _KINDS[kind](name, description or name, registry=self._registry)
        if not isinstance(series, _KINDS[kind]):
            raise ValueError(f"{name} is not a {kind}; use another name, or the type it was first reported with")
        return series


def _count(series: Counter, operation: Mapping[str, Any]) -> None:
    if operation.get("increment"):
        series.inc()
    elif "add" in operation:
        series.inc(_number(operation, "add", at_least_0=True))
    else:
        raise ValueError("counter: nothing to do; send increment: true, or add: a number of at least 0")


def _gauge(series: Gauge, operation: Mapping[str, Any]) -> None:
    if operation.get("increment"):
        series.inc()
    elif operation.get("decrement"):
        series.dec()
    elif operation.get("add"):
        series.inc(_number(operation, "add"))
    elif operation.get("subtract"):
        series.dec(_number(operation, "subtract"))
    elif operation.get("set_to_current_time"):
        series.set_to_current_time()
    elif operation.get("set") is not None:
        series.set(_number(operation, "set"))
    else:
        raise ValueError("gauge: nothing to do; send increment, decrement, add, subtract, set or set_to_current_time")


def _observe(series: Histogram | Summary, operation: Mapping[str, Any]) -> None:
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
