"""The operator's Prometheus series, under the names that dashboards of the Go operator use (contract 4.9)."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from ansible_operator.model.gvk import GVK
from ansible_operator.model.watch import Watch
from ansible_operator.telemetry.controller_metrics import OUTCOMES, ControllerMetrics, ControllerSeries
from ansible_operator.telemetry.object_metrics import ObjectMetrics

__all__ = ["BUCKETS", "OUTCOMES", "PHASES", "RESULTS", "Metrics"]

RESULTS = ("succeeded", "failed")
PHASES = ("queue", "start", "play", "status")
"""A run waits for one of the operator's places (``--max-concurrent-runs``); Ansible starts, up to its first event; it
plays; the status is written."""

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Prometheus' own, as Go's client has them; Python's has three more."""

_LONG_BUCKETS = (*BUCKETS, 30, 60, 120, 300, 600)


class Metrics:
    """All series of one operator, in a registry of its own. What is known to come stands at 0 from the start.

    The number of series is that of the watches, but for the objects' own (see ``ObjectMetrics``).
    """

    def __init__(self, version: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # Go's client has none, and they double the page
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self.controllers = ControllerMetrics(self.registry)
        self.objects = ObjectMetrics(self.registry)
        build = self._gauge("ansible_operator_build_info", "Version of the operator", "commit", "version")
        build.labels(commit="", version=version).set(1)
        self.reconcile_result = self._gauge(
            "ansible_operator_reconcile_result", "Number of runs by kind and result", "GVK", "result"
        )
        self.reconciles = self._histogram(
            "ansible_operator_reconciles", "Seconds that runs took, by kind", BUCKETS, "GVK"
        )
        self.queue_wait = self._histogram(
            "ansible_operator_queue_wait_seconds", "Seconds that objects waited for a worker", BUCKETS, "controller"
        )
        self._phases = self._histogram(
            "ansible_operator_run_phase_seconds", "Seconds that the phases of runs took", _LONG_BUCKETS, "GVK", "phase"
        )
        self._requests = Counter(
            "rest_client_requests_total",
            "Requests of the operator itself to the API server",
            ("code", "method", "host"),
            registry=self.registry,
        )
        self._leader = self._gauge("leader_election_master_status", "1 where this replica leads, else 0", "name")

    def controller(self, gvk: GVK) -> ControllerSeries:
        """The series of the controller of a kind."""
        return self.controllers.of(gvk.controller_name)

    def prepare(self, watch: Watch) -> None:
        """Show the series of a watch before its first run, so that dashboards have no gaps."""
        kind = str(watch.gvk)
        for result in RESULTS:
            self.reconcile_result.labels(GVK=kind, result=result)
        for phase in PHASES:
            self._phases.labels(GVK=kind, phase=phase)
        self.reconciles.labels(GVK=kind)
        self.queue_wait.labels(controller=watch.gvk.controller_name)
        self.controller(watch.gvk)

    def run_ended(self, gvk: GVK, succeeded: bool, seconds: float) -> None:
        """A run took ``seconds`` and ended well or not."""
        self.reconcile_result.labels(GVK=str(gvk), result="succeeded" if succeeded else "failed").inc()
        self.reconciles.labels(GVK=str(gvk)).observe(seconds)

    def phase_ended(self, gvk: GVK, phase: str, seconds: float) -> None:
        """A phase of a run took ``seconds``; ``phase`` is one of PHASES."""
        self._phases.labels(GVK=str(gvk), phase=phase).observe(seconds)

    def requested(self, host: str, method: str, code: str) -> None:
        """The operator has asked the API server; ``code`` is the HTTP status, or ``<error>`` where no answer came."""
        self._requests.labels(code=code, method=method, host=host).inc()

    def leads(self, lease: str, leads: bool) -> None:
        """This replica takes part in an election, and leads or does not."""
        self._leader.labels(name=lease).set(leads)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)
