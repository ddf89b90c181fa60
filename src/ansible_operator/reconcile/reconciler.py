"""The reconciler of one watch (contract 4.5 to 4.7)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from ansible_operator.kube.client import Client
from ansible_operator.kube.writes import Writer
from ansible_operator.model.annotations import RunOptions, run_options
from ansible_operator.model.casing import clashes
from ansible_operator.model.errors import NotFound, RunError
from ansible_operator.model.events import Outcome, RunEnd
from ansible_operator.model.gvk import Object, ObjectKey, Resource
from ansible_operator.model.owner import Owner
from ansible_operator.model.params import extra_vars
from ansible_operator.model.predicates import labels_of
from ansible_operator.model.redaction import Redactor
from ansible_operator.model.watch import Content, Watch
from ansible_operator.proxy.grants import Child, Grant
from ansible_operator.proxy.server import Proxy
from ansible_operator.reconcile.collector import Collector, Phases
from ansible_operator.reconcile.event_log import EventLog, shows_output
from ansible_operator.reconcile.failure_events import FailureEvents
from ansible_operator.reconcile.status import StatusWriter
from ansible_operator.runner.artifacts import purge
from ansible_operator.runner.interface import Access, Runner, RunRequest
from ansible_operator.telemetry.logs import get_logger
from ansible_operator.telemetry.metrics import Metrics


@dataclass(frozen=True)
class Result:
    """What the controller has to do next.

    ``failed``: try again after the object's back-off, and not before ``requeue_after``. ``gone``: forget the object.
    Else ``requeue_after`` seconds later, if that is set, and in any case when something changes.
    """

    requeue_after: float | None = None
    failed: bool = False
    gone: bool = False


@dataclass(frozen=True)
class Policy:
    """Settings of the runs of one watch; times in seconds. ``ansible_verbosity`` is ANSIBLE_VERBOSITY as it stands."""

    options: RunOptions
    run_timeout: float
    inject_owner: bool
    log_events: str
    debug_logs: bool
    work_dir: Path
    ansible_verbosity: str = ""


@dataclass(frozen=True)
class Tools:
    """What every reconciler of the operator shares. Without ``events`` no Kubernetes Events are written."""

    client: Client
    proxy: Proxy
    runner: Runner
    metrics: Metrics
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    random: random.Random = field(default_factory=random.Random)
    events: FailureEvents | None = None


class Reconciler:
    """Reconciles the objects of one watch. One call at a time for one object: the work queue sees to that."""

    def __init__(
        self, watch: Watch, resource: Resource, tools: Tools, policy: Policy, on_child: Callable[[Child], None]
    ) -> None:
        self._watch = watch
        self._resource = resource
        self._tools = tools
        self._policy = policy
        self._on_child = on_child
        self._writer = Writer(tools.client, resource)
        self._status = StatusWriter(self._writer, tools.now, managed=watch.manage_status)
        self._log = get_logger("reconciler").bind(gvk=str(watch.gvk))

    async def reconcile(self, key: ObjectKey) -> Result:
        """One pass. ApiErrors come through: the controller backs off and tries again."""
        try:
            obj = await self._tools.client.get(self._resource, key)
        except NotFound:
            self._purge(key)
            return Result(gone=True)
        finalizer = self._watch.finalizer
        deleted = bool(obj["metadata"].get("deletionTimestamp"))
        ours = finalizer is not None and finalizer.name in (obj["metadata"].get("finalizers") or ())
        if deleted and not ours:
            return Result()
        if not deleted and not self._watch.selector.matches(labels_of(obj)):
            return Result()
        log = self._log.bind(namespace=key.namespace, name=key.name)
        if finalizer is not None and not deleted and not ours:
            updated = await self._writer.add_finalizer(obj, finalizer.name)
            if updated is None:
                return Result(gone=True)
            obj = dict(updated)
        return await self._run(obj, key, finalizing=deleted, log=log)

    async def _run(self, obj: Object, key: ObjectKey, *, finalizing: bool, log: FilteringBoundLogger) -> Result:
        try:
            options, complaints = run_options(obj, self._policy.options)
        except ValueError as error:
            return await self._cannot_start(obj, str(error), log)
        for complaint in complaints:
            log.warning("annotation ignored", problem=complaint)
        asked = time.monotonic()
        obj = await self._status.started(obj) or obj
        started = time.monotonic()
        try:
            outcome = await self._play(obj, key, options, finalizing=finalizing, log=log)
        except RunError as error:
            return await self._cannot_start(obj, str(error), log)
        ended = time.monotonic()
        self._tools.metrics.run_ended(self._watch.gvk, outcome.succeeded, ended - started)
        try:
            return await self._finish(obj, options, outcome, finalizing=finalizing, log=log)
        finally:
            writing = (started - asked) + (time.monotonic() - ended)
            self._tools.metrics.phase_ended(self._watch.gvk, "status", writing)

    async def _cannot_start(self, obj: Object, message: str, log: FilteringBoundLogger) -> Result:
        log.error("run not started", error=message)
        self._tools.metrics.run_ended(self._watch.gvk, False, 0.0)
        if self._tools.events is not None:
            await self._tools.events.failed(obj, message)
        await self._status.not_started(obj, message)
        return Result(failed=True)

    async def _play(
        self, obj: Object, key: ObjectKey, options: RunOptions, *, finalizing: bool, log: FilteringBoundLogger
    ) -> Outcome:
        """Run the content for one object and judge the run."""
        ident = str(self._tools.random.getrandbits(63))
        log = log.bind(job=ident)
        owner = Owner(self._watch.gvk, key, obj["metadata"]["uid"])
        grants = self._tools.proxy.grants
        redactor, phases = Redactor(), Phases()
        inject, blacklist = self._policy.inject_owner, self._watch.blacklist
        of_chart = self._watch.chart is not None
        token = grants.issue(Grant(owner, inject, self._on_child, blacklist, redactor.learn, of_chart))
        redactor.add(token)
        redactor.learn(obj)
        request = RunRequest(
            directory=self._directory(key),
            ident=ident,
            owner=owner,
            content=self._content(finalizing),
            variables=self._variables(obj, finalizing, log),
            access=Access(self._tools.proxy.url, self._tools.proxy.authority_file, token, key.namespace),
            verbosity=options.verbosity,
            max_artifacts=options.max_runner_artifacts,
            timeout=self._policy.run_timeout,
            on_begin=phases.begun,
            on_over=lambda: grants.revoke(token),
        )
        raw = shows_output(obj, self._policy.ansible_verbosity)
        events = EventLog(log, self._policy.log_events, redactor, raw=raw)
        collector = Collector(events, redactor, phases, keep_output=self._policy.debug_logs)
        log.info("run started", finalizing=finalizing)
        end = await self._tools.runner.run(request, collector)
        return await self._judge(obj, end, collector, phases.ended(), log)

    async def _judge(
        self, obj: Object, end: RunEnd, collector: Collector, phases: dict[str, float], log: FilteringBoundLogger
    ) -> Outcome:
        """The verdict on a run, told to all who want to know."""
        for phase, duration in phases.items():
            self._tools.metrics.phase_ended(self._watch.gvk, phase, duration)
        if self._policy.debug_logs:
            log.info("output", stdout=collector.output)
        outcome = collector.outcome(end, self._policy.run_timeout)
        seconds = {phase: round(duration, 3) for phase, duration in phases.items()}
        summary = {"ok": outcome.stats.ok, "changed": outcome.stats.changed, "failures": outcome.stats.failures}
        log = log.bind(**summary, recap=collector.recap, seconds=seconds)
        if outcome.succeeded:
            log.info("run succeeded")
            return outcome
        log.error("run failed", error=outcome.message, exit_code=end.exit_code)
        if self._tools.events is not None and not end.cancelled:
            await self._tools.events.failed(obj, outcome.message, collector.failed_task)
        return outcome

    async def _finish(
        self, obj: Object, options: RunOptions, outcome: Outcome, *, finalizing: bool, log: FilteringBoundLogger
    ) -> Result:
        """Write the status, take the finalizer off after a good finalizing run, and say when to come back.

        A finalizing run that asks for another keeps the finalizer: it is not done yet.
        """
        finalized = outcome.succeeded and finalizing and outcome.requeue_after is None
        if finalized and self._watch.finalizer is not None:
            await self._writer.remove_finalizer(obj, self._watch.finalizer.name)
            log.info("finalizer removed")
            return Result()
        if await self._status.ended(obj, outcome) is None:
            return Result()  # gone while it ran; the event of its deletion brings us back
        if not outcome.succeeded:
            return Result(failed=True)
        if outcome.requeue_after is not None:
            return Result(requeue_after=outcome.requeue_after)
        return Result(requeue_after=self._spread(options.reconcile_period))

    def _spread(self, period: float) -> float | None:
        """The period, up to a tenth shorter, so that objects made together do not stay together; None for never."""
        return period * self._tools.random.uniform(0.9, 1.0) if period > 0 else None

    def _content(self, finalizing: bool) -> Content:
        finalizer = self._watch.finalizer
        return (finalizer.content if finalizing and finalizer else None) or self._watch.content

    def _variables(self, obj: Object, finalizing: bool, log: FilteringBoundLogger) -> dict[str, object]:
        if self._watch.snake_case_parameters:
            for clash in clashes(obj.get("spec") or {}):
                log.warning("two keys of the spec become one variable", variable=clash)
        return extra_vars(self._watch, obj, finalizing=finalizing)

    def _directory(self, key: ObjectKey) -> Path:
        """``<work-dir>/runner/<group>/<version>/<Kind>/<namespace>/<name>``; empty parts are left out."""
        gvk = self._watch.gvk
        parts = (gvk.group, gvk.version, gvk.kind, key.namespace, key.name)
        return self._policy.work_dir.joinpath("runner", *(part for part in parts if part))

    def _purge(self, key: ObjectKey) -> None:
        purge(self._directory(key), self._policy.work_dir / "runner")
