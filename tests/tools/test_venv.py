"""What `make venv` says where Python is not what it must be. (That it works is shown by every other test.)"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Stands in for an interpreter: answers the three questions that tools/venv.sh asks of one.
FAKE_PYTHON = """#!/bin/sh
case "$2" in
    *"< (3, 11)"*) exit {too_old} ;;
    *version_info*) echo {version} ;;
    *ensurepip*) exit {no_venv} ;;
    *) echo "unexpected: $*"; exit 9 ;;
esac
"""


def make_venv(directory: Path, python: Path | str) -> subprocess.CompletedProcess[str]:
    """Run the script in a directory of its own, so that no real .venv is near."""
    for name in ("tools/venv.sh", "requirements/dev.txt", "pyproject.toml"):
        (directory / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, directory / name)
    environment = {**os.environ, "PYTHON": str(python)}
    return subprocess.run(
        [directory / "tools/venv.sh"], env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip


@pytest.mark.parametrize(
    ("version", "too_old", "no_venv", "message"),
    [
        ("3.9", 1, 0, "is Python 3.9; it must be 3.11 or later"),
        ("3.12", 0, 1, "on Debian and Ubuntu: apt install python3.12-venv"),
    ],
)
def test_an_unfit_python_is_one_clear_line(
    tmp_path: Path, version: str, too_old: int, no_venv: int, message: str
) -> None:
    python = tmp_path / "python"
    python.write_text(FAKE_PYTHON.format(version=version, too_old=too_old, no_venv=no_venv))
    python.chmod(0o755)

    result = make_venv(tmp_path, python)

    assert result.returncode == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / ".venv").exists()


def test_a_python_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = make_venv(tmp_path, "no-such-python")
    assert (result.returncode, result.stderr) == (1, "make venv: PYTHON=no-such-python cannot be run\n")


def test_a_venv_of_another_checkout_is_left_alone(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    (there / "lib").mkdir(parents=True)
    here.mkdir()
    (here / ".venv").symlink_to(there)
    result = make_venv(here, "python3")
    assert (result.returncode, "remove it to get one here" in result.stderr) == (1, True)
    assert (there / "lib").exists()
