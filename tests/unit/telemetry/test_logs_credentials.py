"""Whoever logs it, a credential that shows by its form what it is does not come out."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from ansible_operator.telemetry import logs

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield io.StringIO()
    root.handlers[:], root.level = before
    structlog.reset_defaults()


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_neither_ours_nor_a_librarys_words_nor_a_traceback_show_it(stream: io.StringIO, log_format: str) -> None:
    logs.configure("info", log_format, stream)
    logs.get_logger("x").info("note", error=f"401 for Bearer {TOKEN}", url="https://me:hunter2@db/x")
    logging.getLogger("y").warning("asked %s", "https://me:hunter2@db/x")
    if log_format == "json":
        try:
            raise RuntimeError(f"no answer with {TOKEN}")
        except RuntimeError:
            logs.get_logger("x").exception("it failed")
        assert "no answer with ***" in json.loads(stream.getvalue().splitlines()[-1])["exception"]
    assert TOKEN not in stream.getvalue()
    assert "hunter2" not in stream.getvalue()
    assert "https://me:***@db/x" in stream.getvalue()


def test_a_traceback_on_the_console_shows_no_values_of_variables(stream: io.StringIO) -> None:
    logs.configure("info", "console", stream)
    kept = "hunter" + "2"
    try:
        raise RuntimeError("why")
    except RuntimeError:
        logs.get_logger("x").exception("it failed", length=len(kept))
    assert "RuntimeError: why" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()
