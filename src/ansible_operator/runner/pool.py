"""The warm way: each run is a child forked from a process that has imported and read everything already.

Where no warm parent is at hand (it starts, it is being replaced, this Ansible is not known to it) a run goes the cold
way, which gives the same result.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator.model.events import RunEnd
from ansible_operator.runner import artifacts, private_dir
from ansible_operator.runner.cold import COLLECTIONS, ColdRunner
from ansible_operator.runner.interface import OnEvent, RunRequest
from ansible_operator.runner.processes import RunProcess, kill_processes
from ansible_operator.runner.warm_parent import Refused, State, WarmParent
from ansible_operator.telemetry.logs import get_logger

log = get_logger("warm")

_CANCELED = 254
"""ansible-runner's exit code for a run that was stopped."""

_WORDS_BEFORE_ARGUMENTS = 3


@dataclass(frozen=True)
class Limits:
    """When a parent is replaced: after so many runs, or with so much memory (bytes).

    ``start``: seconds that a starting one is waited for; ``failures``: how many in a row may fail to start.
    """

    runs: int = 2000
    memory: int = 400 << 20
    start: float = 15.0
    failures: int = 3


class WarmRunner(ColdRunner):
    """At most ``capacity`` runs at once, each in a child of the one warm parent."""

    def __init__(
        self, environment: Mapping[str, str], capacity: int, ansible_args: str = "", limits: Limits | None = None
    ) -> None:
        super().__init__(environment, capacity, ansible_args)
        self._limits = limits or Limits()
        self._common = private_dir.common_environment(environment, COLLECTIONS)
        self._parent: WarmParent | None = None
        self._next: WarmParent | None = None
        self._retired: set[WarmParent] = set()
        self._unfit = False
        self._oom_kills = _oom_kills()
        self._failures = 0
        self._choosing = asyncio.Lock()
        self.warm_runs = 0

    async def start(self) -> None:
        """Start the first parent; it need not be waited for."""
        await self._replace()

    def parent(self) -> WarmParent:
        """The present parent."""
        assert self._parent is not None
        return self._parent

    async def _start(self, request: RunRequest) -> tuple[RunProcess, int]:
        async with self._choosing:  # one at a time, or each would start a parent of its own
            parent = await self._ready_parent()
        if parent is None:
            return await super()._start(request)
        events, events_in = os.pipe()
        output, output_in = os.pipe()
        try:
            process = await parent.fork(self._message(request), events_in, output_in)
        except Refused as refusal:
            os.close(events)
            os.close(output)
            log.warning("the warm parent did not start a run, it goes cold", reason=str(refusal))
            await self._abandon(parent)
            await kill_processes(request.ident)
            return await super()._start(request)
        finally:
            os.close(events_in)
            os.close(output_in)
        await _read_into(output, process.stdout)
        self.warm_runs += 1
        return process, events

    def _message(self, request: RunRequest) -> dict[str, Any]:
        environment = private_dir.run_environment(request, self._environment, COLLECTIONS)
        return {
            "ident": request.ident,
            "directory": str(Path.cwd()),
            "arguments": private_dir.command(request, self._environment)[_WORDS_BEFORE_ARGUMENTS:],
            "environment": {name: value for name, value in environment.items() if self._common.get(name) != value},
        }

    async def _play(self, request: RunRequest, on_event: OnEvent) -> RunEnd:
        end = await super()._play(request, on_event)
        if end.exit_code >= 0:
            return end
        await kill_processes(request.ident)  # a fork that has lost its run
        stopped = end.timed_out or end.cancelled
        artifacts.complete(request.directory, request.ident, "canceled" if stopped else "failed", _CANCELED)
        if stopped:
            return RunEnd(_CANCELED, end.output_tail, end.timed_out, end.cancelled)
        return RunEnd(end.exit_code, end.output_tail + self._cause(end.exit_code), end.timed_out, end.cancelled)

    def _cause(self, code: int) -> str:
        kills = _oom_kills()
        out_of_memory, self._oom_kills = kills > self._oom_kills, kills
        if out_of_memory:
            return "\n[ERROR]: the process of the run was killed by the kernel: out of memory"
        return f"\n[ERROR]: the process of the run was killed by signal {-code}"

    async def _ready_parent(self) -> WarmParent | None:
        """The parent that the next run is forked from, if there is one that is fit for it."""
        if self._unfit or self._stopped:
            return None
        parent = self._parent
        if parent is None or parent.state in {State.ENDED, State.RETIRED, State.UNFIT}:
            await self._replace()
            return None
        if parent.state is State.STARTING and not await parent.wait_ready(self._limits.start):
            return None
        if (path := parent.sources.changed()) is not None:
            log.info("content in memory has changed, a fresh warm parent starts", path=path)
            self._retire(parent)
            await self._replace()
            return None
        if not await parent.answers():
            log.warning("the warm parent does not answer, another starts")
            await self._abandon(parent)
            return None
        await self._recycle(parent)
        return parent

    async def _recycle(self, parent: WarmParent) -> None:
        """A successor starts beside a parent that has served long enough, and takes over when it is ready."""
        if self._next is None and (parent.runs >= self._limits.runs or parent.memory > self._limits.memory):
            self._next = await self._spawn()

    async def _replace(self) -> None:
        if self._stopped or self._unfit:
            return
        self._parent = await self._spawn()

    async def _spawn(self) -> WarmParent | None:
        parent = WarmParent({**self._common, **self._guard.environment}, lambda: self._on_change(parent))
        try:
            await self._guard.ensure()
            await parent.start()
        except OSError as error:
            log.warning("a warm parent cannot be started", error=str(error))
            return None
        return parent

    def _on_change(self, parent: WarmParent) -> None:
        if parent.state is State.READY:
            self._failures = 0
        if parent.state is State.UNFIT:
            self._go_cold(parent.reason)
        if parent.state is State.ENDED:
            self._retired.discard(parent)
            self._failures += not (parent.was_ready or self._stopped)
            if self._failures >= self._limits.failures:
                self._go_cold("warm parents end before they are ready")
        if parent is self._next and parent.state is State.READY:
            if self._parent is not None:
                self._retire(self._parent)
            self._parent, self._next = parent, None
        elif parent is self._next and parent.state is State.ENDED:
            self._next = None

    def _go_cold(self, reason: str) -> None:
        if not self._unfit:
            self._unfit = True
            log.warning("runs go cold, each in processes of its own", reason=reason)

    def _retire(self, parent: WarmParent) -> None:
        self._retired.add(parent)
        parent.retire()

    async def _abandon(self, parent: WarmParent) -> None:
        """Kill a parent that is no good any more; the next run starts another."""
        if self._parent is parent:
            self._parent = None
        await parent.kill()
        if self._parent is None:
            await self._replace()

    async def stop(self) -> None:
        """See Runner."""
        await super().stop()
        parents = {self._parent, self._next, *self._retired} - {None}
        await asyncio.gather(*(parent.stop() for parent in parents if parent is not None))


async def _read_into(descriptor: int, reader: asyncio.StreamReader) -> None:
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )


def _oom_kills(path: Path = Path("/sys/fs/cgroup/memory.events")) -> int:
    """How many processes of this container the kernel has killed for memory."""
    with suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return 0
