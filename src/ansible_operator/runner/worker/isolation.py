"""What a process of its own gives a task for nothing: whatever the task does to its process ends with it.

``preserved`` gives that to code that runs in the run's process: it puts back what Python code can change for others.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any

from ansible_operator.runner.worker.imports import IMPORTS

Restore = Callable[[], None]

_signal: Any = import_module("_signal")  # without the enumerations of `signal`, whose look-ups cost more than the rest

_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


@contextmanager
def recursing_further(frames: int) -> Iterator[None]:
    """Let what is called recurse so many frames further than it could; templates say how far they came."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def depth_of(frame: FrameType | None) -> int:
    """How many frames there are below one."""
    depth = -1
    while frame is not None:
        depth += 1
        frame = frame.f_back
    return depth


@contextmanager
def preserved() -> Iterator[None]:
    """What Python code can change for others in its process is as before afterwards.

    That is: environment, directory, umask, signals and timers, imports, logging, warnings, random numbers, temporary
    directory.
    """
    environment = variables().copy()
    directory = os.getcwd()  # noqa: PTH109 - for each task
    mask = _umask()
    restore = (_signals(), _imports(), _logging(), _warnings())
    temporary = tempfile.tempdir
    try:
        yield
    finally:
        for put_back in restore:
            put_back()
        if variables() != environment:
            _restore_environment(environment)
        if _cwd() != directory:
            os.chdir(directory)
        os.umask(mask)
        tempfile.tempdir = temporary
        random.seed()


def _signals() -> Restore:
    handlers = [(number, _signal.getsignal(number)) for number in _SIGNALS]
    blocked = _signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def restore() -> None:
        for timer in _TIMERS:
            signal.setitimer(timer, 0)
        for number, handler in handlers:
            if _signal.getsignal(number) != handler and handler is not None:
                signal.signal(number, handler)
        _signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    return restore


def _imports() -> Restore:
    """Modules that are new stay, being the same for everybody; those that were there are there again."""
    then, main = IMPORTS.moment(), sys.modules.get("__main__")
    lists: list[tuple[list[Any], list[Any]]] = [(place, list(place)) for place in (sys.path, sys.argv, sys.meta_path)]

    def restore() -> None:
        for place, content in lists:
            place[:] = content
        if main is not None:
            sys.modules["__main__"] = main
        IMPORTS.put_back(then)

    return restore


def _warnings() -> Restore:
    filters, shown = list(warnings.filters), warnings.showwarning

    def restore() -> None:
        if warnings.filters != filters:
            warnings.filters[:] = filters  # type: ignore[index]
        warnings.showwarning = shown

    return restore


def variables() -> dict[bytes, bytes]:
    """The environment as ``os`` keeps it: to decode all of it for each task would take longer than the rest."""
    variables: dict[bytes, bytes] = vars(os.environ)["_data"]
    return variables


def _restore_environment(environment: dict[bytes, bytes]) -> None:
    for name in set(os.environb) - set(environment):
        del os.environb[name]
    for name, value in environment.items():
        if os.environb.get(name) != value:
            os.environb[name] = value


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _cwd() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return None


def _logging() -> Restore:
    root = logging.getLogger()
    known = [logger for logger in root.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    before = {
        logger: (logger.level, logger.disabled, logger.propagate, list(logger.handlers), list(logger.filters))
        for logger in (root, *known)
        if logger is root
        or logger.handlers
        or logger.filters
        or logger.level
        or logger.disabled
        or not logger.propagate
    }
    disabled = root.manager.disable

    def restore() -> None:
        root.manager.disable = disabled
        _restore_logging(before)

    return restore


def _restore_logging(known: dict[logging.Logger, tuple[int, bool, bool, list[Any], list[Any]]]) -> None:
    root = logging.getLogger()
    for logger in (root, *root.manager.loggerDict.values()):
        if not isinstance(logger, logging.Logger):
            continue
        level, disabled, propagate, handlers, filters = known.get(logger, (0, False, True, [], []))
        if (logger.level, logger.disabled, logger.propagate) != (level, disabled, propagate):
            logger.setLevel(level)
            logger.disabled, logger.propagate = disabled, propagate
        if logger.handlers != handlers:
            logger.handlers[:] = handlers
        if logger.filters != filters:
            logger.filters[:] = filters
