"""The operator's side of one warm parent: a process that has Ansible imported and forks a child per run."""

from __future__ import annotations

import asyncio
import enum
import json
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_operator.runner.channel import Channel
from ansible_operator.runner.configuration import COMMON, CONFIGURATION_FILE, Configuration
from ansible_operator.runner.files import make_private_directory
from ansible_operator.runner.freshness import Sources
from ansible_operator.runner.private_dir import RUN_MARKER
from ansible_operator.runner.processes import Guard
from ansible_operator.runner.warm_process import Refused, Silent, WarmProcess, kill_unwanted
from ansible_operator.telemetry.logs import get_logger

log = get_logger("warm")

_ROOM_FOR_MARKER = "-" * 64  # worker.marker.PLACEHOLDER
_FORK_SECONDS = 10.0
_END_SECONDS = 5.0
SOURCES = "sources.json"
"""Where, in its directory, a parent lists the files that it has read: too long a list for a packet."""


class State(enum.Enum):
    """STARTING -> READY -> RETIRED -> ENDED; any of them may go to ENDED, and a parent that is no good is UNFIT."""

    STARTING = enum.auto()
    READY = enum.auto()
    RETIRED = enum.auto()
    ENDED = enum.auto()
    UNFIT = enum.auto()


class WarmParent:
    """One parent, from its start to its end.

    It has a directory to itself, which is made here, and removed when the process has ended, however that came.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        guard: Guard,
        on_change: Callable[[WarmParent], None],
        configuration: Configuration = COMMON,
        content: Sequence[Path] = (),
    ) -> None:
        self._environment = {**environment, **guard.environment, RUN_MARKER: _ROOM_FOR_MARKER}
        self._guard = guard
        self._scratch = guard.scratch / f"parent-{secrets.token_hex(4)}"
        self._on_change = on_change
        self.configuration = configuration
        self._content = content
        self._process: asyncio.subprocess.Process | None = None
        self._channel = Channel(self._take, self._end)
        self._starting: dict[str, asyncio.Future[int]] = {}
        self._children: dict[str, WarmProcess] = {}
        self._codes: dict[str, int] = {}
        self._pong: asyncio.Future[None] | None = None
        self._decided = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._started_at = (time.monotonic(), time.time_ns())
        self.sources = Sources(())
        self.state = State.STARTING
        self.memory = 0
        self.runs = 0
        self.reason = ""
        self.failed = False
        self.bound = False

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def age(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self._started_at[0]

    @property
    def busy(self) -> bool:
        """Whether it has runs."""
        return not self._idle.is_set()

    def start(self) -> None:
        """Start the process; it is READY, or UNFIT, some time later. A failure ends it."""
        self._do("start", self._start())

    async def _start(self) -> None:
        try:
            await self._guard.ensure()
            await asyncio.to_thread(make_private_directory, self._scratch)
            if not self._channel.is_open:
                raise InterruptedError("it was stopped")
            self._process = await asyncio.create_subprocess_exec(*self._command(), **self._options())
        except OSError as error:
            if self._channel.is_open:
                log.warning("a warm parent cannot be started", error=str(error))
            self._channel.close()
            await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)
            return
        self._do("clean up", self._clean_up(self._process))
        self._channel.listen()

    def _command(self) -> list[str]:
        place = (str(self._scratch), self.configuration.directory, self.configuration.playbook)
        worker = (sys.executable, "-m", "ansible_operator.runner.worker", str(self._channel.other.fileno()))
        return [*worker, *place, *map(str, self._content)]

    def _options(self) -> dict[str, Any]:
        return {
            "stdin": asyncio.subprocess.DEVNULL,
            "env": self._environment,
            "pass_fds": (self._channel.other.fileno(),),
            "start_new_session": True,
        }

    async def _clean_up(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        self._channel.close()
        await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)

    def _do(self, what: str, work: Any) -> None:
        self._tasks[what] = asyncio.create_task(work, name=f"warm parent: {what}")

    async def wait_ready(self, seconds: float) -> bool:
        """Whether it is ready to fork, after ``seconds`` at most."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._decided.wait(), max(0.0, seconds))
        return self.state is State.READY

    async def answers(self, seconds: float) -> bool:
        """Whether it answers a ping in that time."""
        try:
            if self._pong is None:
                self._channel.send({"op": "ping"})
                self._pong = asyncio.get_running_loop().create_future()
            await asyncio.wait_for(asyncio.shield(self._pong), seconds)
        except (TimeoutError, OSError):
            return False
        return self.state in {State.READY, State.RETIRED}

    async def fork(self, message: Mapping[str, Any], events: int, output: int) -> WarmProcess:
        """Start a run. Raises Refused; then nothing of it runs, or is killed as soon as it does."""
        ident = message["ident"]
        started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._starting[ident] = started
        self._idle.clear()
        try:
            self._channel.send({"op": "run", **message}, events, output)
            pid = await asyncio.wait_for(started, _FORK_SECONDS)
            self.runs += 1
            return self._child(ident, pid)
        except ConnectionError as error:
            raise Refused(str(error)) from error
        except (TimeoutError, OSError) as error:
            raise Silent(str(error) or "no answer") from error
        except asyncio.CancelledError:
            if started.done() and not started.cancelled() and started.exception() is None:
                kill_unwanted(started.result())
            raise
        finally:
            self._starting.pop(ident, None)
            self._codes.pop(ident, None)
            self._note_idle()

    def _child(self, ident: str, pid: int) -> WarmProcess:
        process = WarmProcess(ident, pid, asyncio.StreamReader())
        if ident in self._codes:
            process.end(self._codes.pop(ident))
        elif not self._channel.is_open:
            process.lose()
        else:
            self._children[ident] = process
        return process

    def _note_pong(self) -> None:
        if self._pong is not None and not self._pong.done():
            self._pong.set_result(None)
        self._pong = None

    def _note_idle(self) -> None:
        if not self._starting and not self._children:
            self._idle.set()

    def _take(self, message: Mapping[str, Any]) -> None:
        match message["op"]:
            case "ready":
                self._do("sources", self._read_sources(message))
            case "unfit":
                self.reason = message["reason"]
                self._to(State.UNFIT)
            case "pong":
                self.memory = message["memory"]
                self._note_pong()
            case "started":
                self._settle(message["ident"], message["pid"])
            case "refused":
                self._settle(message["ident"], ConnectionError(message["reason"]))
            case "ended":
                self._over(message["ident"], message["code"])

    async def _read_sources(self, ready: Mapping[str, Any]) -> None:
        try:
            self.sources = await asyncio.to_thread(self._sources)
        except OSError:  # it has ended, and its directory is gone
            return
        self.memory, self.bound = ready["memory"], ready["bound"]
        if self.state is State.STARTING:
            self._to(State.READY)
            seconds = round(ready["seconds"], 2)
            log.info("warm runs are ready", seconds=seconds, memory=self.memory, directory=self.configuration.directory)

    def _sources(self) -> Sources:
        read = json.loads((self._scratch / SOURCES).read_text())
        if self.configuration.directory:
            read["paths"].append(str(Path(self.configuration.directory) / CONFIGURATION_FILE))
        return Sources(read["paths"], read["libraries"], self._started_at[1])

    def _settle(self, ident: str, result: int | Exception) -> None:
        started = self._starting.get(ident)
        if started is None or started.done():
            if isinstance(result, int):
                kill_unwanted(result)
        elif isinstance(result, Exception):
            started.set_exception(result)
        else:
            started.set_result(result)

    def _over(self, ident: str, code: int) -> None:
        process = self._children.pop(ident, None)
        if process is not None:
            process.end(code)
            self._note_idle()
        elif ident in self._starting:  # so fast that nobody waits for it yet
            self._codes[ident] = code

    def _to(self, state: State) -> None:
        if self.state in {State.ENDED, State.UNFIT, state}:
            return
        self.failed = state is State.ENDED and self.state is State.STARTING
        self.state = state
        self._decided.set()
        self._on_change(self)

    def _end(self) -> None:
        """The channel is closed, from this side or the other."""
        for ident in list(self._starting):
            self._settle(ident, ConnectionError("the warm parent has ended"))
        for process in self._children.values():
            process.lose()
        self._children.clear()
        self._note_idle()
        self._to(State.ENDED)
        self._note_pong()  # there will be none

    def retire(self, patience: float | None = None) -> None:
        """No new runs; end when the last one is over. With ``patience``, at once if no ping is answered so long (s)."""
        if self.state is State.ENDED:
            return
        if "retire" not in self._tasks:
            self._to(State.RETIRED)
            self._do("retire", self._end_after_runs())
        asked = self._tasks.get("last ping")
        if patience is not None and (asked is None or asked.done()):
            self._do("last ping", self._end_if_mute(patience))

    async def _end_after_runs(self) -> None:
        await self._idle.wait()
        await self.stop()

    async def _end_if_mute(self, patience: float) -> None:
        if not await self.answers(patience):
            await self.kill()

    async def stop(self) -> None:
        """End it and its runs."""
        seconds = 0.0 if self.state is State.STARTING else _END_SECONDS  # it has nothing to lose yet
        self._channel.close()
        await self._tasks["start"]
        if self._process is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), seconds)
        await self.kill()

    async def kill(self) -> None:
        """End it at once."""
        self._channel.close()
        await self._tasks["start"]
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        if "clean up" in self._tasks:
            await self._tasks["clean up"]
