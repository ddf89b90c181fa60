"""The operator's Prometheus series, under the names that dashboards of the Go operator use (contract 4.9)."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector

from ansible_operator.model.gvk import GVK
from ansible_operator.model.watch import Watch

RESULTS = ("succeeded", "failed")
OUTCOMES = ("success", "error", "requeue", "requeue_after")


class Metrics:
    """All series of one operator, in a registry of its own. Counters stand at 0 from the start."""

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._build_info = self._gauge("ansible_operator_build_info", "Version of the operator", "commit", "version")
        self._build_info.labels(commit="", version=version).set(1)
        self.reconcile_result = self._gauge(
            "ansible_operator_reconcile_result", "Number of runs by kind and result", "GVK", "result"
        )
        self.reconciles = self._histogram("ansible_operator_reconciles", "Seconds that runs took, by kind", "GVK")
        self.queue_wait = self._histogram(
            "ansible_operator_queue_wait_seconds", "Seconds that objects waited for a worker", "controller"
        )
        self.reconcile_total = self._counter(
            "controller_runtime_reconcile", "Reconciliations by controller and result", "controller", "result"
        )
        self.reconcile_errors = self._counter(
            "controller_runtime_reconcile_errors", "Failed reconciliations by controller", "controller"
        )
        self.active_workers = self._gauge(
            "controller_runtime_active_workers", "Workers that are busy, by controller", "controller"
        )
        self.max_concurrent = self._gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers by controller", "controller"
        )
        self.queue_depth = self._gauge("workqueue_depth", "Objects that wait, by controller", "name", "controller")

    def prepare(self, watch: Watch) -> None:
        """Show the series of a watch before its first run, so that dashboards have no gaps."""
        controller = watch.gvk.controller_name
        for result in RESULTS:
            self.reconcile_result.labels(GVK=str(watch.gvk), result=result)
        for outcome in OUTCOMES:
            self.reconcile_total.labels(controller=controller, result=outcome)
        self.reconcile_errors.labels(controller=controller)
        self.reconciles.labels(GVK=str(watch.gvk))
        self.active_workers.labels(controller=controller)

    def run_ended(self, gvk: GVK, succeeded: bool, seconds: float) -> None:
        """A run took ``seconds`` and ended well or not."""
        self.reconcile_result.labels(GVK=str(gvk), result="succeeded" if succeeded else "failed").inc()
        self.reconciles.labels(GVK=str(gvk)).observe(seconds)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(name, text, labels, registry=self.registry)
