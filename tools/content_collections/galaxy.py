"""The first source: Ansible Galaxy, or whatever server the user's ansible.cfg names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONNECT_SECONDS = 5
TOTAL_SECONDS = 15  # ansible-galaxy retries by itself for minutes; the other source is at hand long before


def install_from_galaxy(requirements: Path, target: Path) -> str | None:
    """Install below `target`; None when done, else the reason why not, in one line."""
    program = Path(sys.executable).with_name("ansible-galaxy")
    command = [str(program), "collection", "install", "-r", str(requirements), "-p", str(target), "--force"]
    try:
        result = subprocess.run(
            [*command, "--timeout", str(CONNECT_SECONDS)],
            env={**os.environ, "ANSIBLE_NOCOLOR": "1", "COLUMNS": "1000"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TOTAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {TOTAL_SECONDS} s"
    except OSError as error:
        return f"{program}: {error.strerror}"
    return None if result.returncode == 0 else _reason(result.stderr)


def _reason(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.startswith(("ERROR!", "[ERROR]"))]
    last = (lines or stderr.strip().splitlines() or ["it gave no reason"])[-1]
    return last.removeprefix("[ERROR]:").removeprefix("ERROR!").strip()
