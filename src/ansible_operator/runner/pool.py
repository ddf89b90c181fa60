"""The warm way: each run is a child forked from a process that has imported and read everything already.

Where no warm parent is at hand (it starts, it is being replaced, this Ansible is not known to it) a run goes the cold
way, which gives the same result.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_operator.model.events import RunEnd
from ansible_operator.runner import artifacts, private_dir
from ansible_operator.runner.cold import COLLECTIONS, ColdRunner
from ansible_operator.runner.configuration import COMMON, Configuration, configuration_of
from ansible_operator.runner.interface import OnEvent, RunRequest
from ansible_operator.runner.memory import OutOfMemory
from ansible_operator.runner.parents import Limits, OnChange, Parents
from ansible_operator.runner.processes import RunProcess, kill_processes
from ansible_operator.runner.warm_parent import WarmParent
from ansible_operator.runner.warm_process import Refused, Silent
from ansible_operator.telemetry.logs import get_logger

log = get_logger("warm")

_CANCELED = 254
"""ansible-runner's exit code for a run that was stopped."""

_WORDS_BEFORE_ARGUMENTS = 3
_DEAD_WORKER = "A worker was found in a dead state"
_OUT_OF_MEMORY = "was killed by the kernel: out of memory"

__all__ = ["Limits", "WarmRunner"]


class WarmRunner(ColdRunner):
    """At most ``capacity`` runs at once, each in a child of the warm parent of its configuration.

    ``content``: the roles and playbooks that will be played, whose templates are compiled beforehand.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        capacity: int,
        ansible_args: str = "",
        limits: Limits | None = None,
        content: Sequence[Path] = (),
    ) -> None:
        super().__init__(environment, capacity, ansible_args)
        self._common = private_dir.common_environment(environment, COLLECTIONS)
        self._parents = Parents(self._make_parent, limits or Limits())
        self._memory = OutOfMemory()
        self._content = content
        self.warm_runs = 0

    async def start(self) -> None:
        """Start the first parent; it need not be waited for."""
        self._parents.prepare(COMMON)

    def parent(self, configuration: Configuration = COMMON) -> WarmParent:
        """The present parent of a configuration."""
        parent = self._parents.get(configuration)
        assert parent is not None
        return parent

    def _make_parent(self, configuration: Configuration, on_change: OnChange) -> WarmParent:
        return WarmParent(self._common, self._guard, on_change, configuration, self._content)

    async def _start(self, request: RunRequest) -> tuple[RunProcess, int]:
        self._memory.look()
        parent = await self._parents.ready(configuration_of(request, self._parents.bound))
        if parent is None:
            return await super()._start(request)
        try:
            return await self._fork(parent, request)
        except Refused as refusal:
            log.warning("the warm parent did not start a run, it goes cold", reason=str(refusal))
            if isinstance(refusal, Silent):
                self._parents.abandon(parent)
            await kill_processes(request.ident)
            return await super()._start(request)

    async def _fork(self, parent: WarmParent, request: RunRequest) -> tuple[RunProcess, int]:
        events, events_in = os.pipe()
        output, output_in = os.pipe()
        try:
            process = await parent.fork(self._message(request), events_in, output_in)
        except BaseException:
            os.close(events)
            os.close(output)
            raise
        finally:
            os.close(events_in)
            os.close(output_in)
        await _read_into(output, process.stdout)
        self.warm_runs += 1
        return process, events

    def _message(self, request: RunRequest) -> dict[str, Any]:
        # Made anew for each run, not kept: an ansible.cfg that appears or changes moves the search paths in it.
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
            return self._explained(end)
        cause = _cause(end.exit_code, self._memory)
        await kill_processes(request.ident)  # a fork that has lost its run
        stopped = end.timed_out or end.cancelled
        artifacts.remove_playbooks(request.directory)
        artifacts.complete(request.directory, request.ident, "canceled" if stopped else "failed", _CANCELED)
        if stopped:
            return RunEnd(_CANCELED, end.output_tail, end.timed_out, end.cancelled)
        return RunEnd(end.exit_code, end.output_tail + cause, end.timed_out, end.cancelled)

    def _explained(self, end: RunEnd) -> RunEnd:
        """Ansible says no more of a killed process of its own than that it is dead."""
        self._memory.look()
        if end.exit_code and _DEAD_WORKER in end.output_tail and self._memory.explains():
            return replace(end, output_tail=f"{end.output_tail}\n[ERROR]: a process of the run {_OUT_OF_MEMORY}")
        return end

    async def stop(self) -> None:
        """See Runner."""
        self._parents.close()
        await super().stop()
        await self._parents.stop()
        with suppress(OSError):
            self._guard.scratch.rmdir()


def _cause(code: int, memory: OutOfMemory) -> str:
    if code == -signal.SIGKILL and memory.explains():
        return f"\n[ERROR]: the process of the run {_OUT_OF_MEMORY}"
    return f"\n[ERROR]: the process of the run was killed by signal {-code}"


async def _read_into(descriptor: int, reader: asyncio.StreamReader) -> None:
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
