"""The cold way: every run is an ``ansible-runner`` process of its own. Slow, and as plain as can be."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ansible_operator.model.errors import RunError
from ansible_operator.model.events import RunEnd
from ansible_operator.runner import artifacts, private_dir
from ansible_operator.runner.discovery import Discovery
from ansible_operator.runner.interface import OnEvent, RunRequest
from ansible_operator.runner.processes import Guard, RunProcess, end_run, kill_processes, processes_of
from ansible_operator.runner.stream import EVENT_PIPE, read_events

T = TypeVar("T")

COLLECTIONS = Path(__file__).parent.parent / "collections"
_OUTPUT_KEPT = 16 * 1024
_DRAIN_SECONDS = 2.0
_JOB_POLL_SECONDS = 1.0
_TERMINATED = -signal.SIGTERM


class ColdRunner:
    """At most ``capacity`` runs at once; further ones wait in the order they came."""

    def __init__(self, environment: Mapping[str, str], capacity: int, ansible_args: str = "") -> None:
        self._environment = environment
        self._ansible_args = ansible_args
        self._slots = asyncio.Semaphore(capacity)
        self._guard = Guard()
        self._discovery = Discovery()
        self._live: dict[str, RunProcess] = {}
        self._cancelled: set[str] = set()
        self._jobs: set[asyncio.Task[None]] = set()
        self._stopped = False

    async def run(self, request: RunRequest, on_event: OnEvent) -> RunEnd:
        """See Runner."""
        async with self._slots:
            if self._stopped:
                request.on_over()
                return RunEnd(_TERMINATED, cancelled=True)
            request.on_begin()
            request = replace(request, temporary=self._guard.scratch / request.ident)
            try:
                await asyncio.to_thread(self._prepare, request)
                return await self._play(request, on_event)
            except OSError as error:
                raise RunError(f"the work directory {request.directory} cannot be written: {error}") from error
            finally:
                await self._close(request)

    def _prepare(self, request: RunRequest) -> None:
        private_dir.prepare(request, self._environment, self._ansible_args)
        self._discovery.give(private_dir.temporary_directory(request))

    async def _close(self, request: RunRequest) -> None:
        """Take the run's access away, at once or when its last background job has ended."""
        if not await asyncio.to_thread(_close_if_over, request):
            job = asyncio.create_task(self._close_after_jobs(request), name=f"jobs of run {request.ident}")
            self._jobs.add(job)
            job.add_done_callback(self._jobs.discard)
        else:
            request.on_over()

    async def _close_after_jobs(self, request: RunRequest) -> None:
        try:
            while await asyncio.to_thread(processes_of, request.ident):  # noqa: ASYNC110 - strangers send no event
                await asyncio.sleep(_JOB_POLL_SECONDS)
        finally:
            await kill_processes(request.ident)
            _clean_up(request)
            request.on_over()

    async def _play(self, request: RunRequest, on_event: OnEvent) -> RunEnd:
        process, descriptor = await self._start(request)
        self._live[request.ident] = process
        events = asyncio.create_task(_report(descriptor, on_event))
        output = asyncio.create_task(_keep_tail(process))
        timed_out = False
        if self._stopped:  # while it was starting
            self._cancelled.add(request.ident)
            await end_run(process, request.ident)
        try:
            await asyncio.wait_for(process.wait(), request.timeout or None)
        except TimeoutError:
            timed_out = True
            await end_run(process, request.ident)
        except asyncio.CancelledError:
            await end_run(process, request.ident)
            raise
        finally:
            self._live.pop(request.ident, None)
            await _drain(events)
        await asyncio.to_thread(self._keep, request, process.returncode == 0)
        tail = artifacts.output_tail(request.directory, request.ident) or await _drain(output) or ""
        output.cancel()
        cancelled = request.ident in self._cancelled
        self._cancelled.discard(request.ident)
        return RunEnd(process.returncode or 0, tail, timed_out, cancelled)

    def _keep(self, request: RunRequest, successful: bool) -> None:
        artifacts.link_latest(request.directory, request.ident)
        artifacts.rotate(request.directory, request.max_artifacts, request.ident)
        if successful:
            self._discovery.take(private_dir.temporary_directory(request))

    async def _start(self, request: RunRequest) -> tuple[RunProcess, int]:
        reading, writing = os.pipe()
        environment = private_dir.run_environment(request, self._environment, COLLECTIONS)
        environment.update(self._guard.environment)
        environment[EVENT_PIPE] = str(writing)
        try:
            await self._guard.ensure()
            process = await asyncio.create_subprocess_exec(
                *private_dir.command(request, self._environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=environment,
                pass_fds=(writing,),
                start_new_session=True,
            )
        except OSError as error:
            os.close(reading)
            raise RunError(f"ansible-runner cannot be started: {error}") from error
        finally:
            os.close(writing)
        return process, reading

    async def stop(self) -> None:
        """See Runner. Runs that still wait for their turn end as cancelled."""
        self._stopped = True
        self._cancelled.update(self._live)
        await asyncio.gather(*(end_run(process, ident) for ident, process in list(self._live.items())))
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        await self._guard.stop()


def _close_if_over(request: RunRequest) -> bool:
    """Whether no process of the run is left. Then nothing else is."""
    if processes_of(request.ident):
        return False
    _clean_up(request)
    return True


def _clean_up(request: RunRequest) -> None:
    """Remove the run's kubeconfig and temporary files.

    Where the object's next run is under way already, the kubeconfig is that run's.
    """
    file = private_dir.kubeconfig_file(request)
    with suppress(OSError):
        if request.access.token in file.read_text():
            file.unlink()
    shutil.rmtree(private_dir.temporary_directory(request), ignore_errors=True)


async def _report(descriptor: int, on_event: OnEvent) -> None:
    async for event in read_events(descriptor):
        on_event(event)


async def _keep_tail(process: RunProcess) -> str:
    """The end of what the process prints: all there is where ansible-runner itself fails."""
    assert process.stdout is not None
    tail = b""
    while chunk := await process.stdout.read(65536):
        tail = (tail + chunk)[-_OUTPUT_KEPT:]
    return tail.decode(errors="replace")


async def _drain(task: asyncio.Task[T]) -> T | None:
    """Wait for what is still in a pipe. A background job of the play may keep it open; it is not waited for."""
    with suppress(TimeoutError):
        return await asyncio.wait_for(asyncio.shield(task), _DRAIN_SECONDS)
    task.cancel()
    return None
