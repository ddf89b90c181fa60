"""The controller of one watch."""

from __future__ import annotations

import asyncio
import time

from ansible_operator.kube.informer import Change
from ansible_operator.model.errors import ApiError
from ansible_operator.model.gvk import ObjectKey
from ansible_operator.model.predicates import labels_of, primary_update_matters
from ansible_operator.model.watch import Watch
from ansible_operator.reconcile.reconciler import Reconciler, Result
from ansible_operator.telemetry.logs import get_logger
from ansible_operator.telemetry.metrics import Metrics
from ansible_operator.workqueue import Priority, ShutDown, WorkQueue

Queue = WorkQueue[ObjectKey]


class Controller:
    """Takes keys from the queue and reconciles them, ``workers`` at a time."""

    def __init__(self, watch: Watch, reconciler: Reconciler, queue: Queue, metrics: Metrics, workers: int) -> None:
        self._watch = watch
        self._reconciler = reconciler
        self._queue = queue
        self._metrics = metrics
        self._workers = workers
        self._name = watch.gvk.controller_name
        self._series = metrics.controller(watch.gvk)
        self._log = get_logger("controller").bind(controller=self._name)

    def on_change(self, change: Change) -> None:
        """A watched object has changed: queue it, if the change matters."""
        key = ObjectKey.of(change.object)
        self._show(key, change)
        if change.kind == "added":
            self._added(key, change)
        elif change.kind == "deleted":
            self._queue.add(key, Priority.DELETION)
        elif change.old and change.new and primary_update_matters(self._watch, change.old, change.new):
            deleting = bool(change.new["metadata"].get("deletionTimestamp"))
            self._queue.add(key, Priority.DELETION if deleting else Priority.CHANGE)

    def _added(self, key: ObjectKey, change: Change) -> None:
        """An object that is being deleted counts whatever its labels are: our finalizer may be on it."""
        deleting = bool(change.object["metadata"].get("deletionTimestamp"))
        if deleting or self._watch.selector.matches(labels_of(change.object)):
            self._queue.add(key, Priority.INITIAL_LIST if change.initial and not deleting else Priority.CHANGE)

    def _show(self, key: ObjectKey, change: Change) -> None:
        """Keep the gauges of the object itself; it has some while it is there and selected."""
        if change.new is not None and self._watch.selector.matches(labels_of(change.new)):
            self._metrics.objects.put(self._watch.gvk, change.new)
        else:
            self._metrics.objects.remove(self._watch.gvk, key)

    async def run(self) -> None:
        """Work until the queue is closed and every run has ended."""
        self._series.workers.set(self._workers)
        await asyncio.gather(*(self._work() for _ in range(self._workers)))

    async def _work(self) -> None:
        while True:
            try:
                key, waited = await self._queue.get()
            except ShutDown:
                return
            self._metrics.queue_wait.labels(controller=self._name).observe(waited)
            started = time.monotonic()
            try:
                with self._series.active.track_inprogress():
                    result = await self._reconcile(key)
                self._series.reconciled(self._settle(key, result), time.monotonic() - started)
            finally:
                self._queue.done(key)

    async def _reconcile(self, key: ObjectKey) -> Result:
        """One pass, whose errors become a back-off: one object never takes the operator down."""
        try:
            return await self._reconciler.reconcile(key)
        except ApiError as error:
            self._log.warning("reconcile failed", namespace=key.namespace, name=key.name, error=str(error))
            return Result(requeue_after=error.retry_after, failed=True)
        except Exception:
            self._series.panicked()
            self._log.exception("reconcile failed by a fault of the operator", namespace=key.namespace, name=key.name)
        return Result(failed=True)

    def _settle(self, key: ObjectKey, result: Result) -> str:
        """Queue the key again as the result asks for. The outcome, as controller-runtime names it."""
        if result.failed:
            delay = self._queue.add_rate_limited(key, result.requeue_after or 0.0)
            self._log.info("will be tried again", namespace=key.namespace, name=key.name, seconds=round(delay, 3))
            return "error"
        if result.gone:
            self._queue.discard(key)
            return "success"
        self._queue.forget(key)
        if result.requeue_after is None:
            return "success"
        self._queue.add_after(key, result.requeue_after)
        return "requeue_after"
