"""Tasks in the run's own process, instead of a fork for each.

A task is run by Ansible's own worker code; only what a fork keeps apart is kept apart by hand: the worker gets copies
of what it changes, and its messages and results go through ``Bridge`` at once, in the order in which they would come
out of a queue.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible_operator.runner.worker import clients, eligible, private
from ansible_operator.runner.worker.isolation import preserved, recursing_further

_SAVED_FRAMES = 5 if sys.version_info >= (3, 12) else 6
"""How much nearer to its strategy a worker is here than in a process of its own, as a filter sees it that recurses.

Five functions of Python and, until Python 3.12 no longer counts those, one of C: the making of the process.
"""


class Bridge:
    """Stands in for the queue between a worker and its strategy, for a worker in the strategy's own process."""

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy
        self._outside = (sys.stdin, sys.stdout, sys.stderr)
        self._files: list[int] = []

    def send_callback(self, method_name: str, task_result: Any) -> None:
        """A callback that the worker asks for."""
        result = self._received(task_result)
        with self.outside():
            private.call_back(self._strategy, method_name, result)

    def send_task_result(self, task_result: Any) -> None:
        """The result of the task."""
        private.take_result(self._strategy, self._received(task_result))

    def send_display(self, method: str, *args: Any, **kwargs: Any) -> None:
        """Something to print."""
        args, kwargs = _through_queue((args, kwargs))
        with self.outside():
            getattr(private.display, method)(*args, **kwargs)

    def send_prompt(self, **_: Any) -> None:
        """Tasks that ask do not run here."""
        raise RuntimeError("a task that runs in the run's own process cannot ask")

    def _received(self, task_result: Any) -> Any:
        """The result as the other end of the queue would see it: a copy, without what cannot be pickled."""
        wire = _through_queue(task_result.as_wire_task_result())
        return private.from_wire(self._strategy, wire)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The files and streams of a worker: nothing reaches the terminal but through Ansible's display."""
        self._files = [os.dup(descriptor) for descriptor in (0, 1, 2)]
        self._outside = (sys.stdin, sys.stdout, sys.stderr)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.close(null)
        closed = io.StringIO()
        closed.close()
        sys.stdin, sys.stdout, sys.stderr = closed, io.StringIO(), io.StringIO()
        private.proxy_display(self)
        try:
            yield
        finally:
            private.proxy_display(None)
            sys.stdin, sys.stdout, sys.stderr = self._outside
            for descriptor, original in enumerate(self._files):
                os.dup2(original, descriptor)
                os.close(original)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """For a moment, the strategy's side."""
        streams = (sys.stdin, sys.stdout, sys.stderr)
        null = [os.dup(descriptor) for descriptor in (0, 1, 2)]
        for descriptor, original in enumerate(self._files):
            os.dup2(original, descriptor)
        sys.stdin, sys.stdout, sys.stderr = self._outside
        private.proxy_display(None)
        try:
            with private.no_local_event():
                yield
        finally:
            private.proxy_display(self)
            sys.stdin, sys.stdout, sys.stderr = streams
            for descriptor, original in enumerate(null):
                os.dup2(original, descriptor)
                os.close(original)


def queue_task(strategy: Any, host: Any, task: Any, task_vars: Mapping[str, Any], play_context: Any) -> bool:
    """Run a task here and now, if that gives the same result. Whether it was."""
    if not eligible.task(strategy, host, task, task_vars):
        return False
    private.begin_task(strategy, host, task, task_vars, play_context)
    bridge = Bridge(strategy)
    worker = private.make_worker(strategy, bridge, host, task, dict(task_vars), play_context)
    further = recursing_further(-_SAVED_FRAMES)
    with preserved(), clients.own_default(), private.fresh_plugins(), bridge.inside(), further:
        private.run_worker(worker)
    private.end_task(strategy)
    return True


def _through_queue(value: Any) -> Any:
    """A copy, as the other end of a queue gets it."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - nothing comes from outside
