"""One stream of logs, one JSON object a line, whoever speaks."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from ansible_operator.telemetry import logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the logs go; what was configured before comes back at the end."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield io.StringIO()
    root.handlers[:], root.level = before
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_has_time_level_logger_message_and_fields(stream: io.StringIO) -> None:
    logs.configure("info", "json", stream)
    logs.get_logger("proxy").bind(job="7").info("run started", namespace="a", count=3, tags=["x"])
    (line,) = lines(stream)
    assert line.pop("ts").endswith("Z")
    assert line == {
        "msg": "run started",
        "level": "info",
        "logger": "proxy",
        "job": "7",
        "namespace": "a",
        "count": 3,
        "tags": ["x"],
    }


def test_the_standard_librarys_loggers_speak_in_the_same_form(stream: io.StringIO) -> None:
    logs.configure("info", "json", stream)
    logging.getLogger("aiohttp.server").warning("%s went %s", "something", "wrong")
    (line,) = lines(stream)
    assert (line["msg"], line["level"], line["logger"]) == ("something went wrong", "warning", "aiohttp.server")


@pytest.mark.parametrize("speaker", ["ours", "theirs"])
def test_a_traceback_is_a_field_of_its_line(stream: io.StringIO, speaker: str) -> None:
    logs.configure("info", "json", stream)
    log = logs.get_logger("controller") if speaker == "ours" else logging.getLogger("asyncio")
    try:
        raise RuntimeError("first\nsecond")
    except RuntimeError:
        log.exception("it failed")
    (line,) = lines(stream)
    assert (line["msg"], line["level"]) == ("it failed", "error")
    assert "RuntimeError: first\nsecond" in line["exception"]


@pytest.mark.parametrize("text", ["two\nlines", '"quoted"', "\x1b[31mred", "ümlaut", "\x00"], ids=repr)
def test_no_text_breaks_the_form(stream: io.StringIO, text: str) -> None:
    logs.configure("info", "json", stream)
    logs.get_logger("x").info("note", text=text)
    assert [line["text"] for line in lines(stream)] == [text]


def test_what_json_does_not_know_is_written_as_python_shows_it(stream: io.StringIO) -> None:
    logs.configure("info", "json", stream)
    logs.get_logger("x").info("note", thing={"a"}, error=ValueError("bad"))
    assert lines(stream)[0]["thing"] == "{'a'}"
    assert "bad" in lines(stream)[0]["error"]


def test_context_reaches_every_line_of_a_task(stream: io.StringIO) -> None:
    logs.configure("info", "json", stream)
    with structlog.contextvars.bound_contextvars(job="7"):
        logs.get_logger("x").info("ours")
        logging.getLogger("y").info("theirs")
    logs.get_logger("x").info("after")
    assert [line.get("job") for line in lines(stream)] == ["7", "7", None]


@pytest.mark.parametrize(
    ("level", "seen"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warn", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_the_level_holds_for_all(stream: io.StringIO, level: str, seen: list[str]) -> None:
    logs.configure(level, "json", stream)
    for name in ("debug", "info", "warning", "error"):
        getattr(logs.get_logger("ours"), name)("x")
        getattr(logging.getLogger("theirs"), name)("x")
    assert [line["level"] for line in lines(stream)] == [name for name in seen for _ in range(2)]


def test_a_logger_that_was_made_before_obeys_as_well(stream: io.StringIO) -> None:
    early = logs.get_logger("early")
    logs.configure("error", "json", stream)
    early.info("not this")
    early.error("but this")
    assert [line["msg"] for line in lines(stream)] == ["but this"]


def test_configuring_twice_says_nothing_twice(stream: io.StringIO) -> None:
    logs.configure("info", "json", io.StringIO())
    logs.configure("info", "json", stream)
    logging.getLogger("x").info("once")
    assert len(lines(stream)) == 1


def test_the_access_log_of_the_servers_and_the_clients_chatter_are_silent(stream: io.StringIO) -> None:
    logs.configure("debug", "json", stream)
    logging.getLogger("aiohttp.access").info("GET /healthz")
    logging.getLogger("kubernetes.client.rest").debug("the body with a secret in it")
    assert lines(stream) == []


def test_the_console_form_is_for_people(stream: io.StringIO) -> None:
    logs.configure("info", "console", stream)
    logs.get_logger("x").info("run started", namespace="a")
    assert "run started" in stream.getvalue()
    assert "namespace=a" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_the_console_form_shows_tracebacks_as_well(stream: io.StringIO) -> None:
    logs.configure("info", "console", stream)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            raise RuntimeError("why")
        except RuntimeError:
            logs.get_logger("x").exception("it failed")
    assert "RuntimeError: why" in stream.getvalue()
