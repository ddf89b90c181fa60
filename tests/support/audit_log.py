"""The API server's audit log: a JSON document a line, written before the answer is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def entries(log: Path, since: int = 0, containing: str = "") -> list[dict[str, Any]]:
    """Those that begin at that byte or behind it; the last line counts only once it is whole.

    ``containing``: only lines with this text are parsed, which saves much where the log is long.
    """
    wanted = containing.encode()
    with log.open("rb") as file:
        file.seek(since)
        return [json.loads(line) for line in file if wanted in line and line.endswith(b"\n")]
