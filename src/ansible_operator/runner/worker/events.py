"""ansible-runner's event stream without its detour: no escape codes through a terminal, no files to hand events over.

The dictionaries are built by ansible-runner's own callback and assembled by its own filter; what is replaced is only
how the two talk. In a process per run the callback writes partial events to files and their names, encoded, into the
output, from which the filter picks them up again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ansible_runner
from ansible_runner.runner import Runner
from ansible_runner.utils import OutputEventFilter

_OURS = "ansible_operator_events"


class Partials:
    """Stands in for awx_display's cache: keeps an event as text, since Ansible goes on changing what it holds."""

    def __init__(self, encoder: type[json.JSONEncoder]) -> None:
        self._encoder = encoder
        self._events: dict[str, str] = {}

    def set(self, key: str, value: dict[str, Any]) -> None:
        """Keep an event under ``:1:ev-<uuid>``."""
        self._events[key[len(":1:ev-") :]] = json.dumps(value, cls=self._encoder)

    def take(self, uuid: str) -> dict[str, Any] | None:
        """The event, once."""
        text = self._events.pop(uuid, None)
        return None if text is None else dict(json.loads(text))


class Filter:
    """Feeds ansible-runner's OutputEventFilter: text as it is printed, events by their mark."""

    def __init__(self, inner: OutputEventFilter, mark: Callable[[OutputEventFilter, dict[str, Any]], None]) -> None:
        self._inner = inner
        self._mark = mark

    def write(self, text: str) -> None:
        """What was printed, as a terminal would show it."""
        self._inner.write(text)

    def mark(self, data: dict[str, Any]) -> None:
        """An event begins or ends here."""
        self._mark(self._inner, data)


class Reporter:
    """Takes complete events: to the operator, to other plugins of ansible-runner, to ``job_events/``."""

    def __init__(self, pipe: int, partials: Partials) -> None:
        self._pipe = pipe
        self._partials = partials
        self._plugins = [plugin for name, plugin in ansible_runner.plugins.items() if name != _OURS]

    def install(self) -> None:
        """In place of ``Runner.event_callback``."""
        reporter = self

        def event_callback(runner: Runner, data: dict[str, Any]) -> None:
            reporter.report(runner.config, data)

        Runner.event_callback = event_callback

    def report(self, config: Any, data: dict[str, Any]) -> None:
        """As ansible-runner does, in the same order of keys."""
        if "uuid" not in data:
            return
        data["runner_ident"] = str(config.ident)
        partial = self._partials.take(data["uuid"])
        if partial is not None:
            data.update(partial)
        if "created" not in data:
            data["created"] = _now()
        for plugin in self._plugins:
            plugin.event_handler(config, data)
        text = json.dumps(data)
        self._send(text.encode() + b"\n")
        directory = Path(config.artifact_dir) / "job_events"
        try:
            _write(directory / f"{data['counter']}-{data['uuid']}.json", text)
        except OSError as error:
            sys.stderr.write(f"Failed writing event data: {error}\n")

    def _send(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._pipe, line) :]
        except BrokenPipeError:
            pass  # the operator is gone; the run is about to be ended


def _write(path: Path, text: str) -> None:
    temporary = Path(f"{path}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        data = text.encode()
        while data:  # a disk that fills up takes a part
            data = data[os.write(descriptor, data) :]
        temporary.rename(path)
    except OSError:
        temporary.unlink()
        raise
    finally:
        os.close(descriptor)


def _now() -> str:
    import datetime

    return datetime.datetime.now(datetime.UTC).isoformat()
