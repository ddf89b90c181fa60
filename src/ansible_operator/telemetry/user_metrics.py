"""Metrics that content reports: ``POST /metrics`` with the JSON that ``operator_sdk.util.osdk_metric`` sends.

Bounded: at most ``MAX_SERIES`` series (a name with its labels); one more is refused, since one made of an object's name
would never go away. ``labels`` are an addition to what the Go operator takes; all reports of a name have the same ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, disable_created_metrics
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ansible_operator.model.settings import Address
from ansible_operator.telemetry.endpoints import Endpoint
from ansible_operator.telemetry.metrics import BUCKETS

URL_VARIABLE = "ANSIBLE_OPERATOR_USER_METRICS_URL"
"""Environment variable by which ``osdk_metric`` finds the server."""

MAX_SERIES = 1000
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
Labels = tuple[str, ...]
"""Names of labels, sorted."""

_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - what a person may have asked for


class _NamedCounter(Collector):
    """A counter under exactly the name it was given, as Go's client has it; Python's would add ``_total``."""

    def __init__(self, name: str, description: str, labels: Labels, registry: CollectorRegistry) -> None:
        self._metric = Metric(name, description, "unknown")
        self._values: dict[tuple[tuple[str, str], ...], float] = {}
        registry.register(self)
        if not labels:
            self.inc(0)

    def labels(self, **labels: str) -> _NamedSeries:
        """The counter of these labels."""
        return _NamedSeries(self, labels)

    def inc(self, amount: float = 1, **labels: str) -> None:
        key = tuple(labels.items())
        self._values[key] = self._values.get(key, 0.0) + amount

    def describe(self) -> Iterator[Metric]:
        yield self._metric

    def collect(self) -> Iterator[Metric]:
        metric = Metric(self._metric.name, self._metric.documentation, "unknown")
        for labels, value in list(self._values.items()):
            metric.add_sample(metric.name, dict(labels), value)
        yield metric


class _NamedSeries:
    """One series of a counter; it is there, at 0, from the first."""

    def __init__(self, counter: _NamedCounter, labels: Mapping[str, str]) -> None:
        self._counter, self._labels = counter, labels
        counter.inc(0, **labels)

    def inc(self, amount: float = 1) -> None:
        self._counter.inc(amount, **self._labels)


def _counter(name: str, description: str, labels: Labels, registry: CollectorRegistry) -> Counter | _NamedCounter:
    if name.endswith("_total"):
        return Counter(name, description, labels, registry=registry)
    return _NamedCounter(name, description, labels, registry)


def _histogram(name: str, description: str, labels: Labels, registry: CollectorRegistry) -> Histogram:
    return Histogram(name, description, labels, registry=registry, buckets=BUCKETS)


_Series = Counter | _NamedCounter | Gauge | Histogram | Summary
_KINDS: dict[str, Callable[[str, str, Labels, CollectorRegistry], _Series]] = {
    "counter": _counter,
    "gauge": lambda name, description, labels, registry: Gauge(name, description, labels, registry=registry),
    "histogram": _histogram,
    "summary": lambda name, description, labels, registry: Summary(name, description, labels, registry=registry),
}


class UserMetrics:
    """Series by name; one name keeps one type and its labels. They appear beside the operator's own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # Go's client has none
        self._registry = registry
        self._families: dict[str, tuple[str, Labels, _Series]] = {}
        self._series: set[tuple[str, tuple[str, ...]]] = set()

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
        name, labels = str(document["name"]), _labels(document.get("labels"))
        _OPERATIONS[kind](self._of(name, str(document.get("description") or ""), kind, labels), operation)

    def _of(self, name: str, description: str, kind: str, labels: Mapping[str, str]) -> Any:
        """The series to work on; made, and counted, where it is new."""
        names, place = tuple(labels), (name, tuple(labels.values()))
        known, given, family = self._families.get(name, (kind, names, None))
        if known != kind:
            raise ValueError(f"{name} is not a {kind}; use another name, or the type it was first reported with")
        if given != names:
            raise ValueError(f"{name} has labels {', '.join(given) or '(none)'}; give it these, or use another name")
        if place not in self._series and len(self._series) >= MAX_SERIES:
            raise ValueError(f"there are {MAX_SERIES} series already; use few names, and none made of an object's")
        if family is None:
            family = _KINDS[kind](name, description or name, names, self._registry)
            self._families[name] = (kind, names, family)
        self._series.add(place)
        return family.labels(**labels) if labels else family


def _labels(given: Any) -> dict[str, str]:
    """By name."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError("labels is not a map; send names and their values, such as {result: failed}")
    for name in given:
        if not _LABEL.fullmatch(str(name)) or str(name).startswith("__"):
            raise ValueError(f"{name!r} is not the name of a label; use letters, digits and _, and no digit first")
    return {str(name): str(value) for name, value in sorted(given.items(), key=lambda item: str(item[0]))}


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
