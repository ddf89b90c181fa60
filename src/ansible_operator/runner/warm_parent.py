"""The operator's side of one warm parent: a process that has Ansible imported and forks a child per run."""

from __future__ import annotations

import asyncio
import enum
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ansible_operator.runner.freshness import Sources
from ansible_operator.runner.private_dir import RUN_MARKER
from ansible_operator.telemetry.logs import get_logger

log = get_logger("warm")

_ROOM_FOR_MARKER = "-" * 64  # worker.marker.PLACEHOLDER
_PACKET = 1 << 20
_PONG_SECONDS = 1.0
_FORK_SECONDS = 10.0
_END_SECONDS = 5.0


class State(enum.Enum):
    """STARTING -> READY -> RETIRED -> ENDED; any of them may go to ENDED, and a parent that is no good is UNFIT."""

    STARTING = enum.auto()
    READY = enum.auto()
    RETIRED = enum.auto()
    ENDED = enum.auto()
    UNFIT = enum.auto()


class WarmProcess:
    """A run in a forked child. Has what the runner asks of a process."""

    def __init__(self, ident: str, pid: int, stdout: asyncio.StreamReader) -> None:
        self.ident = ident
        self.pid = pid
        self.stdout = stdout
        self.lost = False
        self._over: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._over.result() if self._over.done() else None

    async def wait(self) -> int:
        """Wait for its end."""
        return await asyncio.shield(self._over)

    def terminate(self) -> None:
        """Ask it to end."""
        if not self._over.done():
            os.kill(self.pid, signal.SIGTERM)

    def end(self, code: int) -> None:
        """It has ended."""
        if not self._over.done():
            self._over.set_result(code)


class Refused(Exception):
    """The parent did not start the run."""


class WarmParent:
    """One parent, from its start to its end."""

    def __init__(self, environment: Mapping[str, str], on_change: Callable[[], None]) -> None:
        self._environment = {**environment, RUN_MARKER: _ROOM_FOR_MARKER}
        self._on_change = on_change
        self._process: asyncio.subprocess.Process | None = None
        self._channel: socket.socket | None = None
        self._starting: dict[str, asyncio.Future[int]] = {}
        self._children: dict[str, WarmProcess] = {}
        self._codes: dict[str, int] = {}
        self._pong: asyncio.Future[None] | None = None
        self._ready = asyncio.Event()
        self.sources = Sources(())
        self.state = State.STARTING
        self.memory = 0
        self.runs = 0
        self.reason = ""
        self.was_ready = False
        self._retiring: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start the process; it is READY, or UNFIT, some time later. Raises OSError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "ansible_operator.runner.worker", str(theirs.fileno())),
                stdin=asyncio.subprocess.DEVNULL,
                env=self._environment,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._channel = ours
        asyncio.get_running_loop().add_reader(ours, self._receive)

    async def wait_ready(self, seconds: float) -> bool:
        """Whether it is ready to fork, after ``seconds`` at most."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ready.wait(), seconds)
        return self.state is State.READY

    async def answers(self) -> bool:
        """Whether it answers a ping within a second."""
        try:
            if self._pong is None:
                self._send({"op": "ping"})
                self._pong = asyncio.get_running_loop().create_future()
            await asyncio.wait_for(asyncio.shield(self._pong), _PONG_SECONDS)
        except (TimeoutError, OSError):
            return False
        return self.state in {State.READY, State.RETIRED}

    async def fork(self, message: Mapping[str, Any], events: int, output: int) -> WarmProcess:
        """Start a run. Raises Refused; then nothing of it runs."""
        ident = message["ident"]
        started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._starting[ident] = started
        reading = os.dup(output)
        try:
            self._send({"op": "run", **message}, events, reading)
            pid = await asyncio.wait_for(started, _FORK_SECONDS)
        except (TimeoutError, OSError, ConnectionError) as error:
            raise Refused(str(error) or "no answer") from error
        finally:
            os.close(reading)
            self._starting.pop(ident, None)
        self.runs += 1
        return self._child(ident, pid)

    def _child(self, ident: str, pid: int) -> WarmProcess:
        process = WarmProcess(ident, pid, asyncio.StreamReader())
        self._children[ident] = process
        if ident in self._codes:
            self._over(ident, self._codes.pop(ident))
        elif self.state is State.ENDED:
            self._lose(process)
        return process

    def _send(self, message: Mapping[str, Any], *descriptors: int) -> None:
        if self._channel is None:
            raise ConnectionError("the warm parent is gone")
        socket.send_fds(self._channel, [json.dumps(message).encode()], list(descriptors))

    def _receive(self) -> None:
        assert self._channel is not None
        try:
            data = self._channel.recv(_PACKET)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end()
            return
        self._take(json.loads(data))

    def _take(self, message: Mapping[str, Any]) -> None:
        match message["op"]:
            case "ready":
                self.sources = Sources(message["sources"]["paths"])
                self.memory = message["memory"]
                self._to(State.READY)
                log.info("warm runs are ready", seconds=round(message["seconds"], 2), memory=self.memory)
            case "unfit":
                self.reason = message["reason"]
                self._to(State.UNFIT)
            case "pong":
                self.memory = message["memory"]
                if self._pong is not None and not self._pong.done():
                    self._pong.set_result(None)
                self._pong = None
            case "started":
                self._settle(message["ident"], message["pid"])
            case "refused":
                self._settle(message["ident"], ConnectionError(message["reason"]))
            case "ended":
                self._over(message["ident"], message["code"])

    def _settle(self, ident: str, result: int | Exception) -> None:
        started = self._starting.get(ident)
        if started is None or started.done():
            return
        if isinstance(result, Exception):
            started.set_exception(result)
        else:
            started.set_result(result)

    def _over(self, ident: str, code: int) -> None:
        process = self._children.pop(ident, None)
        if process is None:
            if ident in self._starting:  # so fast that nobody waits for it yet
                self._codes[ident] = code
            return
        process.end(code)

    def _lose(self, process: WarmProcess) -> None:
        """The parent is gone, and with it, by the kernel, its children."""
        self._children.pop(process.ident, None)
        process.lost = True
        process.end(-signal.SIGKILL)

    def _to(self, state: State) -> None:
        self.was_ready = self.was_ready or state is State.READY
        if self.state not in {State.ENDED, State.UNFIT}:
            self.state = state
        self._ready.set()
        self._on_change()

    def _end(self) -> None:
        if self._channel is not None:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()
            self._channel = None
        for ident in list(self._starting):
            self._settle(ident, ConnectionError("the warm parent has ended"))
        for process in list(self._children.values()):
            self._lose(process)
        self._to(State.ENDED)

    def retire(self) -> None:
        """No new runs; end when the last one is over."""
        if self.state is not State.ENDED and self._retiring is None:
            self._to(State.RETIRED)
            self._retiring = asyncio.create_task(self._end_after_runs(), name="retired warm parent")

    async def _end_after_runs(self) -> None:
        while self._starting or self._children:
            await asyncio.gather(*(process.wait() for process in list(self._children.values())))
            await asyncio.sleep(0)
        await self.stop()

    async def stop(self) -> None:
        """End it and its runs."""
        self._end()
        process = self._process
        if process is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _END_SECONDS)
        await self.kill()

    async def kill(self) -> None:
        """End it at once."""
        self._end()
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
