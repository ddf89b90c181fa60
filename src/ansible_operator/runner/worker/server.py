"""The warm parent: single-threaded, imports everything once, then forks a child for each run it is asked for.

Messages are JSON objects, one a packet: ``{"op": "run", …}`` with the run's pipes, ``{"op": "ping"}``; back come
``ready``, ``pong``, ``started`` and ``ended``. The end of the socket ends the parent and every child.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from ansible_operator.runner.worker.marker import Marker

_PACKET = 1 << 20
_PIPES = 2
_PR_SET_PDEATHSIG = 1


class Server:
    """Children by process id, each with the name of its run."""

    def __init__(self, channel: socket.socket, marker: Marker) -> None:
        self._channel = channel
        self.run_child: Callable[..., int] = _not_ready
        self._marker = marker
        self._pid = os.getpid()
        self._children: dict[int, str] = {}
        self._wakeup, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._wake = wake

    def serve(self) -> None:
        """Until the pool is gone."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._wakeup:
                    with suppress(BlockingIOError):
                        os.read(self._wakeup, 4096)
                    self._reap()
                elif not self._receive():
                    return

    def end_children(self) -> None:
        """Kill them, with the sessions they lead."""
        for pid in self._children:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def send(self, **message: Any) -> None:
        """Tell the pool."""
        with suppress(OSError):
            self._channel.send(json.dumps(message).encode())

    def _receive(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._channel, _PACKET, _PIPES)
        except ConnectionResetError:  # the pool was killed before it had read all that was sent to it
            return False
        if not data:
            return False
        message = json.loads(data)
        if message["op"] == "ping":
            self.send(op="pong", memory=_resident())
        elif message["op"] == "run":
            self._run(message, descriptors)
        return True

    def _run(self, message: dict[str, Any], descriptors: list[int]) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            self.send(op="refused", ident=message["ident"], reason=str(error))
        else:
            if pid == 0:
                self._become(message, descriptors)
            self._children[pid] = message["ident"]
            self.send(op="started", ident=message["ident"], pid=pid)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _become(self, message: dict[str, Any], descriptors: list[int]) -> NoReturn:
        """What a child does. It never comes back."""
        code = 255
        try:
            os.setsid()
            _die_with_parent(self._pid)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under ansible-runner
            for descriptor in (self._channel.detach(), self._wakeup, self._wake):
                os.close(descriptor)
            self._marker.write(message["ident"])
            code = self.run_child(message, *descriptors)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _reap(self) -> None:
        while self._children:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            ident = self._children.pop(pid, None)
            if ident is not None:
                code = os.waitstatus_to_exitcode(status)
                cpu = usage.ru_utime + usage.ru_stime
                self.send(op="ended", ident=ident, code=code, cpu=cpu, memory=usage.ru_maxrss)


def _die_with_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was quicker
        os._exit(1)


def _not_ready(*_: Any) -> int:
    raise RuntimeError("the warm parent has not been started up")


def _resident() -> int:
    """This process's memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(descriptor: int, scratch: str, directory: str = "", playbook: str = "", *content: str) -> None:
    """Import, warm up, say so, serve.

    ``scratch`` is a directory for this process, which its maker removes. The others, absolute or empty, are what the
    configuration is bound to: the directory of the plays, and that of a playbook with collections beside it.
    ``content`` are roles and playbooks that will be played.
    """
    started = time.monotonic()
    channel = socket.socket(fileno=descriptor)
    channel.set_inheritable(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in a terminal is for the operator
    try:
        server = Server(channel, Marker())
        from ansible_operator.runner.worker import (
            boot,
        )  # imports Ansible, which must see the environment that boot makes

        bound, server.run_child = boot.boot(boot.Places(Path(scratch), directory, playbook, content))
    except BaseException as error:
        with suppress(OSError):  # the pool may be gone
            channel.send(json.dumps({"op": "unfit", "reason": f"{type(error).__name__}: {error}"}).encode())
        raise
    server.send(op="ready", bound=bound, seconds=time.monotonic() - started, memory=_resident())
    try:
        server.serve()
    finally:
        server.end_children()
    sys.exit(0)
