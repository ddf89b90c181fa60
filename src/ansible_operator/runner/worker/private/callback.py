"""ansible-runner's callback, and Ansible's display, which it patches."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import ansible.plugins.loader as loaders
from ansible.utils.display import Display
from ansible_runner.utils import OutputEventFilter

from ansible_operator.runner.worker.events import Partials
from ansible_operator.runner.worker.private.base import display
from ansible_operator.runner.worker.private.shortcuts import quiet_debug, quiet_verbose

_NAME = "awx_display"
_callback_display: dict[str, Any] = {}


def awx() -> Any:
    """The module of ansible-runner's callback."""
    plugin = loaders.callback_loader.get(_NAME, class_only=True)
    return sys.modules[plugin.__module__]


def import_callback() -> None:
    """It replaces methods of Ansible's display when it is imported, which in a run is when the play begins."""
    plain = dict(vars(Display))
    awx()
    _callback_display.update({name: value for name, value in vars(Display).items() if plain.get(name) is not value})
    for name, quiet in (("debug", quiet_debug), ("verbose", quiet_verbose)):
        _callback_display[name] = quiet(_callback_display[name])
    for name in _callback_display:
        if name in plain:
            setattr(Display, name, plain[name])
    loader = loaders.callback_loader
    ordinary = loader.get

    def get(name: str, *values: Any, **arguments: Any) -> Any:
        if name == _NAME and not arguments.get("class_only"):
            for method, value in _callback_display.items():
                setattr(Display, method, value)
        return ordinary(name, *values, **arguments)

    loader.get = get


def event_encoder() -> type[json.JSONEncoder]:
    """How the callback turns an event into text."""
    encoder: type[json.JSONEncoder] = awx().AnsibleJSONEncoderLocal
    return encoder


def connect_events(partials: Partials, terminal: Any) -> None:
    """Let the callback hand its events over in memory."""
    events = awx().event_context
    events.cache = partials

    def dump_begin(_: Any) -> None:
        event = events.get_begin_dict()
        partials.set(f":1:ev-{event['uuid']}", event)
        terminal.mark({"uuid": event["uuid"]})

    def dump_end(_: Any) -> None:
        terminal.mark({})

    events.dump_begin = dump_begin
    events.dump_end = dump_end


def mark_event(output: OutputEventFilter, data: dict[str, Any]) -> None:
    """What ansible-runner's filter does where it finds an encoded event in the output."""
    event = output._emit_event(output._buffer.getvalue(), data)
    output._buffer = StringIO()
    output._last_chunk = ""
    text = event.get("stdout")
    if text and text != "{}" and output._handle:
        output._handle.write(text + "\n")
        output._handle.flush()


class Fork:
    """Stands in for ``multiprocessing`` in the callback's module, which asks whether it is in a worker."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def parent_process(self) -> Any:
        return self._real.parent_process() or display._final_q


def proxy_display(bridge: Any) -> None:
    """Let everything that is displayed go through ``bridge``, as in a worker; None: not any more."""
    display._final_q = bridge


@contextmanager
def no_local_event() -> Iterator[None]:
    """What the callback knows of the present event is the worker's affair."""
    local = vars(awx().event_context._local)
    saved = local.pop("_ctx", None)
    try:
        yield
    finally:
        local.pop("_ctx", None)
        if saved is not None:
            local["_ctx"] = saved
