"""What a forked child does: ansible-runner's own ``run`` command, with the playbook in the same process."""

from __future__ import annotations

import atexit
import inspect
import logging
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import ansible_runner.__main__
import ansible_runner.runner

from ansible_operator.runner.stream import EVENT_PIPE
from ansible_operator.runner.worker import boot, clients, private
from ansible_operator.runner.worker.events import Filter, Partials, Reporter
from ansible_operator.runner.worker.isolation import depth_of, recursing_further
from ansible_operator.runner.worker.terminal import Spawn, Terminal


def run(message: Mapping[str, Any], events: int, output: int) -> int:
    """Run a request to the end. The exit code is ansible-runner's."""
    atexit._clear()
    _take_files(output)
    os.environ.clear()
    os.environ.update(boot.ENVIRONMENT)
    os.environ.update(message["environment"])
    os.environ[EVENT_PIPE] = str(events)
    os.chdir(message["directory"])
    tempfile.tempdir = None  # the parent's, until the run's own has been looked up
    private.forget()
    clients.own_kubeconfig[0] = os.environ.get("KUBECONFIG", "")
    partials = Partials(private.event_encoder())
    Reporter(events, partials).install()
    _install(partials)
    try:
        code = int(ansible_runner.__main__.main(message["arguments"]) or 0)
    except SystemExit as exit_:
        code = _code(exit_)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _take_files(output: int) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115


def _install(partials: Partials) -> None:
    """Put the playbook in the place of the process that ansible-runner would start."""
    process = ansible_runner.runner.pexpect.spawn

    def play(command: Sequence[str], environment: Mapping[str, str], directory: str, terminal: Terminal) -> int:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        sys.argv[:] = [shutil.which(command[0]) or command[0], *command[1:]]
        private.configure(boot.PLAY_ENVIRONMENT)
        private.connect_events(partials, terminal)
        try:
            with _fresh_logging(), recursing_further(depth_of(inspect.currentframe())):
                private.play(command)
        except SystemExit as exit_:
            return _code(exit_)
        return 0

    def spawn(command: str, args: Sequence[str], **options: Any) -> Any:
        if command != "ansible-playbook" or not boot.serves(options["cwd"]):
            return process(command, args, **options)
        return Spawn(command, args, **options)

    Spawn.play = staticmethod(play)
    Spawn.output = staticmethod(lambda output: Filter(output, private.mark_event))
    ansible_runner.runner.pexpect.spawn = spawn


@contextmanager
def _fresh_logging() -> Iterator[None]:
    """The root logger of a new process, as ansible-runner has set up its own."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    root.setLevel(logging.WARNING)
    root.handlers.clear()
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


def _code(exit_: SystemExit) -> int:
    if isinstance(exit_.code, int):
        return exit_.code
    if exit_.code is None:
        return 0
    sys.stderr.write(f"{exit_.code}\n")
    return 1
