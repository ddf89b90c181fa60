"""The composition root: builds every part, wires the callbacks between them, starts them in order, stops in reverse."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, NoReturn

from ansible_operator import __version__
from ansible_operator.config.settings import verbosity_for, workers_for
from ansible_operator.controller.controller import Controller, Queue
from ansible_operator.controller.dependents import Dependents
from ansible_operator.controller.measured_queue import MeasuredQueue
from ansible_operator.kube.access import MetricsAccess
from ansible_operator.kube.client import Client
from ansible_operator.kube.connection import connect
from ansible_operator.kube.definitions import DefinitionWatch
from ansible_operator.kube.discovery import Discovery
from ansible_operator.kube.informers import Informers
from ansible_operator.kube.leadership import Leadership, election_of
from ansible_operator.model.annotations import RunOptions
from ansible_operator.model.errors import ApiError, NotFound, OperatorError, StartError
from ansible_operator.model.gvk import GVK, Resource
from ansible_operator.model.settings import Settings
from ansible_operator.model.watch import Watch
from ansible_operator.proxy.certificates import make_certificates
from ansible_operator.proxy.reads import Reads
from ansible_operator.proxy.server import Proxy
from ansible_operator.reconcile.failure_events import FailureEvents
from ansible_operator.reconcile.reconciler import Policy, Reconciler, Tools
from ansible_operator.runner.cold import ColdRunner
from ansible_operator.runner.files import make_private_directory
from ansible_operator.runner.pool import WarmRunner
from ansible_operator.telemetry import endpoints
from ansible_operator.telemetry.endpoints import Endpoint
from ansible_operator.telemetry.logs import get_logger
from ansible_operator.telemetry.metrics import Metrics
from ansible_operator.telemetry.user_metrics import environment_of, user_metrics

log = get_logger("app")

SYNC_TIMEOUT = 120.0
"""Seconds that the first lists may take, as in controller-runtime."""

_DISCOVERY_RETRY = 1.0
_LAST_WRITES = 5.0
"""Seconds, after the graceful time, for the status of runs that were ended; the API server may be gone as well."""


class LeadershipLost(OperatorError):
    """Another replica may lead by now: nothing more may be written."""


class Operator:
    """One operator process, from start to stop."""

    def __init__(self, settings: Settings, watches: list[Watch]) -> None:
        self._settings = settings
        self._watches = watches
        self._stop = asyncio.Event()
        self._metrics = Metrics(__version__)
        self._queues: list[Queue] = []
        self._controllers: list[Controller] = []
        self._informers: Informers | None = None
        self._working: asyncio.Future[Any] | None = None
        self._kinds_found = False

    @property
    def stopping(self) -> bool:
        """Whether it has been asked to end."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the operator to end: no new runs, those under way get the graceful time."""
        self._stop.set()

    async def run(self) -> None:
        """Start, work until stopped, stop. Raises StartError, or LeadershipLost."""
        async with AsyncExitStack() as stack:
            starting = asyncio.create_task(self._start(stack))
            if await self._unless_stopped(starting):
                await self._work(*starting.result())

    async def _start(self, stack: AsyncExitStack) -> tuple[Tools, Leadership | None]:
        """Everything up to the first list of every watched kind."""
        await _serve(stack, self._probes())
        self._make_work_dir()
        connection = await connect(self._settings.environment)
        stack.push_async_callback(connection.close)
        client = Client(connection, observe=self._metrics.requested)
        await _serve(stack, *self._metrics_endpoints(client))
        informers = Informers(client, self._settings.namespaces)
        tools, discovery = await self._tools(client, informers, stack)
        leadership = self._campaign(stack)
        if leadership is not None:
            await leadership.won()
            self._metrics.leads(self._settings.leader_election.lease_name, True)
        self._informers = informers
        stack.push_async_callback(informers.stop)
        await self._start_controllers(tools, discovery, informers)
        return tools, leadership

    def _probes(self) -> Endpoint:
        """They come first, since they tell of a slow start as well. ``ping`` and ``…z`` are the Go operator's names."""
        live = {"ping": lambda: None, "healthz": lambda: None, "informers": self._live, "workers": self._workers}
        ready = {"readyz": lambda: None, "informers": self._ready}
        return endpoints.probes(self._settings.probe_address, live, ready)

    def _metrics_endpoints(self, client: Client) -> tuple[Endpoint, Endpoint]:
        settings = self._settings
        context = make_certificates(settings.work_dir).context if settings.metrics_secure else None
        access = MetricsAccess(client) if settings.metrics_require_rbac else None
        return (
            endpoints.metrics(settings.metrics_address, self._metrics, context, access),
            user_metrics(settings.user_metrics_address, self._metrics.registry),
        )

    def _make_work_dir(self) -> None:
        directory = self._settings.work_dir
        try:
            make_private_directory(directory)
        except OSError as error:
            raise StartError(f"work directory {directory}: {error.strerror}; name another with --work-dir") from error

    def _ready(self) -> str | None:
        if self._informers is None:
            return "not started yet" if not self._settings.leader_election.enabled else None
        if not self._kinds_found:
            return "waiting for the watched kinds"
        return self._informers.behind()

    def _live(self) -> str | None:
        return self._informers.stuck() if self._informers is not None else None

    def _workers(self) -> str | None:
        ended = self._working is not None and self._working.done() and not self._stop.is_set()
        return "a worker has ended by a fault of the operator" if ended else None

    async def _tools(self, client: Client, informers: Informers, stack: AsyncExitStack) -> tuple[Tools, Discovery]:
        """The proxy and the runner; the proxy listens before anything runs."""
        settings = self._settings
        discovery = Discovery(client)
        changes = asyncio.create_task(DefinitionWatch(client, discovery.served, informers.permissions).run())
        stack.callback(changes.cancel)
        proxy = Proxy(
            client,
            discovery,
            0 if settings.proxy_allow_anonymous else settings.proxy_port,
            settings.work_dir,
            reads=Reads(informers),
            anonymous_port=settings.proxy_port if settings.proxy_allow_anonymous else None,
        )
        await proxy.start()
        stack.push_async_callback(proxy.stop)
        environment = {**settings.environment, **environment_of(settings.user_metrics_address)}
        runner = await self._runner(environment, stack)
        return Tools(client, proxy, runner, self._metrics, events=FailureEvents(client)), discovery

    async def _runner(self, environment: Mapping[str, str], stack: AsyncExitStack) -> ColdRunner:
        runs, arguments = self._settings.max_concurrent_runs, self._settings.ansible_args
        if self._settings.cold:
            runner = ColdRunner(environment, runs, arguments)
        else:
            runner = WarmRunner(environment, runs, arguments, content=_paths(self._watches))
            await runner.start()
        stack.push_async_callback(runner.stop)
        return runner

    def _campaign(self, stack: AsyncExitStack) -> Leadership | None:
        if not self._settings.leader_election.enabled:
            return None
        election = election_of(self._settings.leader_election)
        leadership = Leadership(election, self._settings.environment, self._metrics.requested)
        self._metrics.leads(self._settings.leader_election.lease_name, False)
        leadership.start()
        stack.push_async_callback(leadership.stop)
        log.info("waiting for the lease")
        return leadership

    async def _start_controllers(self, tools: Tools, discovery: Discovery, informers: Informers) -> None:
        resources = await asyncio.gather(*(_served(discovery, watch.gvk) for watch in self._watches))
        for watch, resource in zip(self._watches, resources, strict=True):
            self._metrics.prepare(watch)
            queue: Queue = MeasuredQueue(self._metrics.controller(watch.gvk).queue)
            dependents = Dependents(watch, resource, informers, queue)
            reconciler = Reconciler(watch, resource, tools, self._policy(watch), dependents.on_child)
            workers = workers_for(watch.gvk, self._settings)
            controller = Controller(watch, reconciler, queue, self._metrics, workers)
            informers.ensure(resource, controller.on_change, "" if watch.finalizer else str(watch.selector))
            self._queues.append(queue)
            self._controllers.append(controller)
            log.info("watching", gvk=str(watch.gvk), content=str(watch.content), workers=workers)
        self._kinds_found = True
        await informers.wait_for_sync(SYNC_TIMEOUT)

    def _policy(self, watch: Watch) -> Policy:
        settings = self._settings
        period = watch.reconcile_period
        return Policy(
            options=RunOptions(
                reconcile_period=settings.reconcile_period if period is None else period,
                max_runner_artifacts=watch.max_runner_artifacts,
                verbosity=verbosity_for(watch.gvk, settings),
            ),
            run_timeout=settings.run_timeout,
            inject_owner=settings.inject_owner_ref,
            log_events=settings.ansible_log_events,
            debug_logs=settings.debug_logs,
            work_dir=settings.work_dir,
            ansible_verbosity=settings.environment.get("ANSIBLE_VERBOSITY", ""),
        )

    async def _work(self, tools: Tools, leadership: Leadership | None) -> None:
        """Run the controllers until a stop, or until the lease is lost."""
        log.info("started", watches=len(self._watches), version=__version__)
        work = self._working = asyncio.gather(*(controller.run() for controller in self._controllers))
        lost = leadership is not None and await self._unless_stopped(asyncio.ensure_future(leadership.lost.wait()))
        if leadership is None:
            await self._stop.wait()
        if lost:
            self._metrics.leads(self._settings.leader_election.lease_name, False)
        log.info("stopping", reason="lease lost" if lost else "asked to")
        for queue in self._queues:
            queue.close()
        try:
            await asyncio.wait_for(asyncio.shield(work), 0 if lost else self._graceful_seconds())
        except TimeoutError:
            await tools.runner.stop()
            await _end(work, 0 if lost else _LAST_WRITES)
        if lost:
            raise LeadershipLost("the lease was lost; another replica may lead by now")

    def _graceful_seconds(self) -> float | None:
        """None, which is no limit, for a negative time, as in controller-runtime."""
        seconds = self._settings.graceful_shutdown_timeout
        return None if seconds < 0 else seconds

    async def _unless_stopped(self, task: asyncio.Future[Any]) -> bool:
        """Wait for the task, or for a stop, which cancels it. Whether the task came to its end."""
        stop = asyncio.create_task(self._stop.wait())
        await asyncio.wait((task, stop), return_when=asyncio.FIRST_COMPLETED)
        for waiting in (task, stop):
            waiting.cancel()
        await asyncio.wait((task, stop))
        return not task.cancelled()


def _paths(watches: Sequence[Watch]) -> list[Path]:
    """The roles and playbooks that are played."""
    contents = [watch.content for watch in watches]
    contents += [watch.finalizer.content for watch in watches if watch.finalizer and watch.finalizer.content]
    return sorted({path for content in contents if (path := content.role or content.playbook)})


def _on_signal(operator: Operator) -> None:
    if operator.stopping:
        log.warning("a second signal: ending at once")
        os._exit(1)  # the guard ends what runs
    operator.stop()


async def _end(work: asyncio.Future[Any], seconds: float) -> None:
    """Wait for what is still to be written about runs that were ended, but only so long."""
    with suppress(TimeoutError):
        await asyncio.wait_for(work, seconds)


async def _serve(stack: AsyncExitStack, *servers: Endpoint) -> None:
    for server in servers:
        await server.start()
        stack.push_async_callback(server.stop)


async def _served(discovery: Discovery, gvk: GVK) -> Resource:
    """The resource of a watched kind; a CRD that was only just made is waited for."""
    deadline = asyncio.get_running_loop().time() + SYNC_TIMEOUT
    while True:
        try:
            return await discovery.by_kind(gvk)
        except ApiError as error:
            if asyncio.get_running_loop().time() > deadline:
                _give_up(gvk, error)
            log.warning("kind is not there yet", gvk=str(gvk), error=str(error))
            await asyncio.sleep(error.retry_after or _DISCOVERY_RETRY)


def _give_up(gvk: GVK, error: ApiError) -> NoReturn:
    cure = "install its CRD" if isinstance(error, NotFound) else "check the cluster and the operator's RBAC"
    raise StartError(f"{gvk}: {error}; {cure}") from error


async def run(settings: Settings, watches: list[Watch]) -> None:
    """Run an operator until SIGTERM or SIGINT. A second one ends the process at once, as in controller-runtime."""
    operator = Operator(settings, watches)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _on_signal, operator)
    await operator.run()
