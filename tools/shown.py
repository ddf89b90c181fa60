"""Run a program whose output is both shown as it comes and looked into afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_shown(command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """The exit status and the output, with what goes to stderr in it; nothing can be typed."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)
