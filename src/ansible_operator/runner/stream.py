"""How events come out of an Ansible process: one JSON object a line, through a pipe that only the run inherits."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator

from ansible_operator.model.events import Event

EVENT_PIPE = "ANSIBLE_OPERATOR_EVENT_PIPE"
"""Environment variable that names the file descriptor of the pipe."""

_CHUNK = 256 * 1024


async def read_events(descriptor: int) -> AsyncIterator[Event]:
    """The events, until every process that holds the pipe is gone. Closes the descriptor. Broken lines are skipped."""
    reader = asyncio.StreamReader(limit=_CHUNK)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    try:
        rest: list[bytes] = []
        while chunk := await reader.read(_CHUNK):
            first, *lines = chunk.split(b"\n")
            rest.append(first)
            for line in lines:
                event = _parse(b"".join(rest))
                rest = [line]
                if event is not None:
                    yield event
    finally:
        transport.close()


def _parse(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
