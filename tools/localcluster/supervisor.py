"""The process that owns a cluster's components: `python -m localcluster.supervisor DIRECTORY [--owner PID]`.

Why a process of its own, and not children of the test run:

* A test run has threads, and it may be killed with SIGKILL. "Die with the parent" (PR_SET_PDEATHSIG) fires when the
  *thread* that started the child ends, so a threaded owner must not use it. This process has one thread and may.
* The owner holds the write end of this process's standard input and never writes. When the owner goes, however it
  goes, the kernel closes it and the read end reports end of file: everything is ended then. A process that the owner
  forked may keep its copy of that end open, so the parent's pid is watched as well.
* When this process itself is killed, the kernel kills its children (Linux). Elsewhere, and for a state file cut short,
  `teardown` finds them by identity and by their mark in the environment.

In the background (no --owner) it runs until SIGTERM. It holds the directory's lock, inherited, for as long as it lives.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import sys
import types
from pathlib import Path

from localcluster.bringup import BringUp
from localcluster.children import Children
from localcluster.errors import ClusterError
from localcluster.layout import Layout
from localcluster.processes import start_mark
from localcluster.spec import read_spec
from localcluster.state import Phase, State, write_state

_WATCH_SECONDS = 0.5


class Stop(Exception):
    """Somebody asked this process to end, or its owner is gone."""


class Supervisor:
    """Start, watch, end."""

    def __init__(self, layout: Layout, owner: int | None) -> None:
        self._layout = layout
        self._owner = owner
        self._spec = read_spec(layout.spec)
        self._asked = False
        self._wakeup, wakeup_end = os.pipe()
        os.set_blocking(wakeup_end, False)
        signal.set_wakeup_fd(wakeup_end)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        self._children = Children(layout, self._spec.programs, self._record)
        started = start_mark(os.getpid()) or ""
        self._state = State(Phase.STARTING, os.getpid(), started, owner, self._spec.keep)
        self._state.kubectl = self._spec.programs["kubectl"]

    def run(self) -> int:
        try:
            self._record()
            bringup = BringUp(self._layout, self._spec, self._children, _report_progress, self._check)
            self._state.server = bringup.run()
            self._state.phase = Phase.READY
            self._record()
            _report("ready", self._state.server)
            self._silence()
            self._watch()
        except Stop:
            self._finish(Phase.STOPPING)
        except ClusterError as error:
            self._fail(str(error))
            return 1
        except OSError as error:  # no space, no permission, too many files
            self._fail(f"{error.strerror or error}: {error.filename or self._layout.directory}")
            return 1
        finally:
            self._children.end_all()  # also after a fault in this program
        return 0

    def _fail(self, message: str) -> None:
        self._state.message = message
        self._finish(Phase.FAILED)
        _report("error", message)

    def _finish(self, phase: Phase) -> None:
        """Ends the children first and records second: a full disk must not keep processes alive."""
        self._children.end_all()
        with contextlib.suppress(OSError):
            self._state.phase = phase
            self._record()
        if self._asked or self._spec.keep:
            return  # whoever asks for the end also decides about the files
        if phase is Phase.FAILED:
            self._layout.remove_data()  # the logs are needed
        else:
            self._layout.remove_all()  # the owner was killed: nobody else will tidy up
            self._layout.remove_lock()

    def _watch(self) -> None:
        """Returns never: waits for the reasons to stop, and records components that end by themselves."""
        known: list[str] = []
        while True:
            self._check(_WATCH_SECONDS)
            if (exited := self._children.exited()) != known:
                known = exited
                self._state.phase = Phase.FAILED
                self._state.message = "; ".join(self._children.describe(name, "ended by itself") for name in exited)
                self._record()

    def _check(self, seconds: float = 0.0) -> None:
        watched = [self._wakeup] if self._owner is None else [self._wakeup, sys.stdin.fileno()]
        ready, _, _ = select.select(watched, [], [], seconds)
        owner_gone = self._owner is not None and (sys.stdin.fileno() in ready or os.getppid() != self._owner)
        if self._asked or owner_gone:
            raise Stop

    def _on_signal(self, number: int, frame: types.FrameType | None) -> None:
        self._asked = True

    def _record(self) -> None:
        self._state.components = self._children.states()
        write_state(self._layout.state, self._state)

    def _silence(self) -> None:
        """Nobody reads the reports any more; a background cluster must not keep its starter's pipe open."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _report(kind: str, text: str) -> None:
    try:
        sys.stdout.write(json.dumps({"kind": kind, "text": text}) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the starter is gone; the state file still says everything


def _report_progress(text: str) -> None:
    _report("progress", text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Internal: owns the processes of one local cluster.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--owner", type=int)
    arguments = parser.parse_args()
    if arguments.owner is None and os.fork() > 0:
        # In the background nobody waits for this process; its starter would be left with a zombie.
        os._exit(0)
    return Supervisor(Layout(arguments.directory), arguments.owner).run()


if __name__ == "__main__":
    sys.exit(main())
