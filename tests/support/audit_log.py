"""The API server's audit log: a JSON document a line, written before the answer is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def entries(log: Path, since: int = 0, containing: str = "") -> list[dict[str, Any]]:
    """Those that begin at that byte or behind it; the last line counts only once it is whole.

    ``containing``: only lines with this text are parsed, which saves much where the log is long.
    """
    with log.open("rb") as file:
        file.seek(since)
        lines = file.read().split(b"\n")[:-1]
    wanted = containing.encode()
    return [json.loads(line) for line in lines if wanted in line]
