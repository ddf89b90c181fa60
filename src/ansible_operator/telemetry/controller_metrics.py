"""The series of one controller and its work queue, with the names, labels and buckets of controller-runtime."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

OUTCOMES = ("success", "error", "requeue", "requeue_after")

_RECONCILE_SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)
_QUEUE_SECONDS = tuple(10**exponent for exponent in range(-8, 4))
_QUEUE = ("name", "controller")


class ControllerMetrics:
    """The families; ``of`` gives the series of one controller. Their number is that of the watches."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(name, text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(name, text, labels, buckets=buckets, registry=registry)

        runtime, queue = "controller_runtime_", "workqueue_"
        self.total = counter(runtime + "reconcile_total", "Reconciliations by result", "controller", "result")
        self.errors = counter(runtime + "reconcile_errors_total", "Failed reconciliations", "controller")
        self.terminal = counter(
            runtime + "terminal_reconcile_errors_total", "Failed reconciliations that are not tried again", "controller"
        )
        self.panics = counter(
            runtime + "reconcile_panics_total", "Reconciliations that ended by a fault of the operator", "controller"
        )
        self.seconds = histogram(
            runtime + "reconcile_time_seconds", "Length of reconciliations", _RECONCILE_SECONDS, "controller"
        )
        self.workers = gauge(runtime + "max_concurrent_reconciles", "Workers", "controller")
        self.active = gauge(runtime + "active_workers", "Workers that are busy", "controller")
        self.depth = gauge(queue + "depth", "Objects that wait", *_QUEUE)
        self.adds = counter(queue + "adds_total", "Objects that were queued", *_QUEUE)
        self.waits = histogram(queue + "queue_duration_seconds", "How long objects waited", _QUEUE_SECONDS, *_QUEUE)
        self.works = histogram(queue + "work_duration_seconds", "How long objects took", _QUEUE_SECONDS, *_QUEUE)
        self.unfinished = gauge(queue + "unfinished_work_seconds", "Seconds of work under way, in sum", *_QUEUE)
        self.longest = gauge(
            queue + "longest_running_processor_seconds", "Seconds of work under way, the longest", *_QUEUE
        )
        self.retries = counter(queue + "retries_total", "Objects that were queued for later", *_QUEUE)

    def of(self, controller: str) -> ControllerSeries:
        """The series of a controller, all at 0 where it is new."""
        return ControllerSeries(self, controller)


class ControllerSeries:
    """The series of one controller. Series of a label come into being here, so that dashboards have no gaps."""

    def __init__(self, families: ControllerMetrics, controller: str) -> None:
        name = {"controller": controller}
        self._totals = {outcome: families.total.labels(**name, result=outcome) for outcome in OUTCOMES}
        self._errors = families.errors.labels(**name)
        families.terminal.labels(**name)
        self._panics = families.panics.labels(**name)
        self._seconds = families.seconds.labels(**name)
        self.workers = families.workers.labels(**name)
        self.active = families.active.labels(**name)
        self.queue = QueueSeries(families, controller)

    def reconciled(self, outcome: str, seconds: float) -> None:
        """A pass has ended; ``outcome`` is one of OUTCOMES."""
        self._totals[outcome].inc()
        self._seconds.observe(seconds)
        if outcome == "error":
            self._errors.inc()

    def panicked(self) -> None:
        """A pass has ended by an exception that nobody foresaw."""
        self._panics.inc()


class QueueSeries:
    """The series of one work queue, whose name is its controller's."""

    def __init__(self, families: ControllerMetrics, controller: str) -> None:
        labels = {"name": controller, "controller": controller}
        self.adds = families.adds.labels(**labels)
        self.waits = families.waits.labels(**labels)
        self.works = families.works.labels(**labels)
        self.retries = families.retries.labels(**labels)
        self._depth = families.depth.labels(**labels)
        self._unfinished = families.unfinished.labels(**labels)
        self._longest = families.longest.labels(**labels)

    def follow(self, depth: Callable[[], float], unfinished: Callable[[], float], longest: Callable[[], float]) -> None:
        """Ask these for the values that change by themselves, whenever somebody looks."""
        self._depth.set_function(depth)
        self._unfinished.set_function(unfinished)
        self._longest.set_function(longest)
