"""The record of the last release (releases/previous), and its files as they were then."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PREVIOUS = ROOT / "releases" / "previous"


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In the project, with texts."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def released_commit() -> str:
    """The commit of the release. Skips the test where a shallow clone does not have it."""
    text = (PREVIOUS / "commit").read_text().strip()
    assert re.fullmatch(r"[0-9a-f]{40}", text)
    if git("cat-file", "-e", f"{text}^{{commit}}").returncode and git("fetch", "--quiet", "--unshallow").returncode:
        pytest.skip(f"commit {text} of the last release is not in this clone, and cannot be fetched")
    return text


def released_tree(path: str, into: Path) -> Path:
    """A directory of the project as it was released, written below ``into``."""
    command = ["git", "archive", released_commit(), path]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        members.extractall(into, filter="data")
    return into / path
