"""Work that Ansible does for each task anew, and that comes to the same or to nothing."""

from __future__ import annotations

import glob
import inspect
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ansible.executor.task_executor
import ansible.parsing.dataloader
import ansible.plugins.loader as loaders
import ansible.vars.clean
import ansible.vars.manager
from ansible import constants
from ansible.module_utils._internal import _stack

from ansible_operator.runner.worker.private import attributes, copies, insides

_PATTERN = re.compile(r"\w+\.\*|\*\.\w+")
"""What Ansible's loader of plugins looks for: ``debug.*``, ``*.py``."""

_SETTLED_NS = 2 * 10**9

_STACK = {
    "ansible.module_utils._internal._stack:caller_frame": "c3c8e2a6d96a0074",
    "ansible.module_utils._internal._stack:iter_stack": "0ec6f53a54c61e42",
}
"""Digests of the text of what looks for the caller that a warning is blamed on."""


def install() -> None:
    """Put the shorter ways in."""
    attributes.install()
    loaders.glob = _Glob()
    ansible.parsing.dataloader.copy = copies.Copies()
    if all(insides.digest(name) == digest for name, digest in _STACK.items()):
        _stack.caller_frame = _caller_frame
    for module in (ansible.executor.task_executor, ansible.vars.manager):
        module.clean_facts = _clean_facts


class _Glob:
    """In place of ``glob``: a directory is listed once, until it changes."""

    def __init__(self) -> None:
        self._listed: dict[str, tuple[tuple[int, int], list[str]]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(glob, name)

    def glob(self, pattern: str) -> list[str]:
        """See ``glob.glob``."""
        return list(self.iglob(pattern))

    def iglob(self, pattern: str) -> Iterator[str]:
        """See ``glob.iglob``."""
        directory, _, leaf = pattern.rpartition(os.sep)
        if not directory or directory.endswith(os.sep) or glob.has_magic(directory) or not _PATTERN.fullmatch(leaf):
            return glob.iglob(pattern)  # noqa: PTH207 - its own kind of path
        start, _, end = leaf.partition("*")
        names = self._names(directory)
        return iter([f"{directory}{os.sep}{n}" for n in names if n.startswith(start) and n.endswith(end)])

    def _names(self, directory: str) -> list[str]:
        try:
            status = os.stat(directory)  # noqa: PTH116 - thirteen times for each task
            known = self._listed.get(directory)
            if known is not None and known[0] == (status.st_mtime_ns, status.st_ino):
                return known[1]
            with os.scandir(directory) as entries:
                names = [entry.name for entry in entries if not entry.name.startswith(".")]
        except OSError:
            return []
        if time.time_ns() - status.st_mtime_ns > _SETTLED_NS:  # else a next change may show the same time
            self._listed[directory] = ((status.st_mtime_ns, status.st_ino), names)
        return names


def _caller_frame() -> inspect.FrameInfo | None:
    """The one frame that is asked for. Ansible looks up the source of all frames, each among all that is imported."""
    frame = sys._getframe(1)
    while frame is not None and "_skip_stackwalk" in frame.f_locals:
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return None
    found = inspect.getframeinfo(frame, context=0)
    return inspect.FrameInfo(frame, *found, positions=found.positions)


class _NoPlugins:
    """In place of a loader, for who asks for none of its plugins."""

    @staticmethod
    def all(**_: Any) -> tuple[()]:
        """None."""
        return ()


def _clean_facts(facts: Mapping[Any, Any], ordinary: Callable[..., Any] = ansible.vars.clean.clean_facts) -> Any:
    """Without a fact that begins like a connection's variable, the names of the connections do not matter."""
    if any(not isinstance(name, str) or name.startswith("ansible_") for name in facts):
        return ordinary(facts)
    module: Any = ansible.vars.clean
    loader, module.connection_loader = module.connection_loader, _NoPlugins
    try:
        return ordinary(facts)
    finally:
        module.connection_loader = loader


def quiet_debug(ordinary: Callable[..., None]) -> Callable[..., None]:
    """``Display.debug``, which ansible-runner's callback surrounds by work even where nothing is said."""

    def debug(self: Any, msg: str, host: str | None = None) -> None:
        if constants.DEFAULT_DEBUG:
            ordinary(self, msg, host=host)

    return debug


def quiet_verbose(ordinary: Callable[..., None]) -> Callable[..., None]:
    """``Display.verbose``, likewise."""

    def verbose(self: Any, msg: str, host: str | None = None, caplevel: int = 2) -> None:
        if max(self.verbosity, self.log_verbosity) > caplevel:
            ordinary(self, msg, host=host, caplevel=caplevel)

    return verbose
