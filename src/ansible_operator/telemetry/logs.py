"""One stream of structured logs on standard error: a constant message with fields, as JSON or as text.

Everything that logs through the standard library (aiohttp, asyncio) comes out of the same stream. Whoever speaks, what
looks like a credential is hidden; what runs say has been looked at before, with more knowledge (``model.redaction``).
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from ansible_operator.model.credentials import without_credentials

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
FORMATS = ("json", "console")


def configure(level: str, log_format: str, stream: TextIO | None = None) -> None:
    """Set up logging for the process. ``level`` is a key of LEVELS, ``log_format`` one of FORMATS."""
    stream = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderer(log_format, stream)],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level])
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    logging.getLogger("kubernetes").setLevel(logging.WARNING)


def _renderer(log_format: str, stream: TextIO) -> list[Processor]:
    if log_format == "console":
        console = structlog.dev.ConsoleRenderer(
            colors=stream.isatty(),
            pad_event_to=40,
            timestamp_key="ts",
            exception_formatter=structlog.dev.plain_traceback,  # rich's, the default, shows the values of variables
        )
        return [_hide_credentials, console]
    return [
        structlog.processors.format_exc_info,
        _hide_credentials,
        structlog.processors.EventRenamer("msg"),
        structlog.processors.JSONRenderer(),
    ]


def _hide_credentials(_logger: object, _method: str, record: EventDict) -> EventDict:
    return {key: without_credentials(value) if isinstance(value, str) else value for key, value in record.items()}


def get_logger(name: str) -> FilteringBoundLogger:
    """A logger named after the part of the operator that speaks, such as ``controller`` or ``proxy``."""
    logger: FilteringBoundLogger = structlog.get_logger(name)
    return logger
