"""Events come through a pipe, one JSON object a line."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import pytest

from ansible_operator.runner.stream import read_events


async def read(*chunks: bytes) -> list[Any]:
    """What is read while a thread writes the chunks, one write each, and closes the pipe."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for chunk in chunks:
                rest = memoryview(chunk)
                while rest:
                    rest = rest[pipe.write(rest) or 0 :]

    writer = threading.Thread(target=write)
    writer.start()
    events = [event async for event in read_events(reading)]
    writer.join()
    return events


def line(**event: Any) -> bytes:
    return json.dumps(event).encode() + b"\n"


async def test_events_come_in_their_order() -> None:
    assert await read(*(line(n=n) for n in range(100))) == [{"n": n} for n in range(100)]


async def test_lines_may_arrive_in_pieces_and_together() -> None:
    text = line(n=1) + line(n=2)
    assert await read(text[:3], text[3:10], text[10:]) == [{"n": 1}, {"n": 2}]
    assert await read(text + line(n=3)) == [{"n": 1}, {"n": 2}, {"n": 3}]


async def test_a_character_may_be_cut_by_a_chunk() -> None:
    text = json.dumps({"t": "ü"}, ensure_ascii=False).encode() + b"\n"
    cut = text.index(b"\xc3") + 1
    assert await read(text[:cut], text[cut:]) == [{"t": "ü"}]


async def test_an_event_of_megabytes_comes_whole() -> None:
    (event,) = await read(line(stdout="x" * 3_000_000))
    assert len(event["stdout"]) == 3_000_000


@pytest.mark.parametrize("broken", [b"no json\n", b"\n", b"[1]\n", b"null\n", b"\xff\xfe\n", b'{"n": \n'], ids=repr)
async def test_a_broken_line_is_skipped(broken: bytes) -> None:
    assert await read(line(n=1), broken, line(n=2)) == [{"n": 1}, {"n": 2}]


async def test_a_last_line_that_was_cut_off_is_no_event() -> None:
    assert await read(line(n=1), b'{"n": 2') == [{"n": 1}]


async def test_the_descriptor_is_closed_at_the_end() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    assert [event async for event in read_events(reading)] == []
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reading)
