"""What a process of its own gives a task for nothing: whatever the task does to its process ends with it.

``preserved`` gives that to code that runs in the run's process: it puts back what Python code can change for others.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SIGNALS = (
    signal.SIGALRM,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGPIPE,
    signal.SIGCHLD,
    signal.SIGUSR1,
)


@contextmanager
def preserved() -> Iterator[None]:
    """Environment, directory, umask, signals, alarm, imports, logging and random numbers are as before afterwards."""
    environment = dict(os.environ)
    directory = str(Path.cwd())
    mask = _umask()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    imports = (
        list(sys.path),
        list(sys.argv),
        list(sys.meta_path),
        sys.modules.get("__main__"),
        dict(sys.path_importer_cache),
    )
    log = _logging()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        if os.environ != environment:
            _restore_environment(environment)
        if _cwd() != directory:
            os.chdir(directory)
        os.umask(mask)
        sys.path[:], sys.argv[:], sys.meta_path[:] = imports[:3]
        if imports[3] is not None:
            sys.modules["__main__"] = imports[3]
        _restore_logging(log)
        random.seed()


def _restore_environment(environment: dict[str, str]) -> None:
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    for name, value in environment.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _cwd() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _logging() -> dict[logging.Logger, tuple[int, bool, bool, list[Any], list[Any]]]:
    root = logging.getLogger()
    known = [logger for logger in root.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    return {
        logger: (logger.level, logger.disabled, logger.propagate, list(logger.handlers), list(logger.filters))
        for logger in (root, *known)
        if logger is root
        or logger.handlers
        or logger.filters
        or logger.level
        or logger.disabled
        or not logger.propagate
    }


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
