"""Build the pinned programs once, into a cache outside the work tree.

    <cache>/bin/<digest>/NAME      digest of go.mod, go.sum, flags and platform: old ones are left alone

Two processes never build the same program twice (a lock per program), and a program is there whole or not at all.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from localcluster import definitions, stages
from localcluster.errors import BuildError
from localcluster.layout import cache_directory
from localcluster.locks import wait_for_lock
from localcluster.pins import BUILD_ENVIRONMENT, PINS, Pin
from localcluster.toolchain import find_go

Progress = Callable[[str], None]

HEARTBEAT_SECONDS = 5.0


def platform_name() -> str:
    """Go's words for this machine. Said here because the cache is looked up where there may be no Go to ask."""
    machine = platform.machine().lower()
    return f"{sys.platform}/{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(machine, machine) }"


def built_path(name: str) -> Path:
    return cache_directory() / "bin" / PINS[name].digest(platform_name()) / name


def ensure_built(name: str, progress: Progress) -> Path:
    """The program from the cache, built first if it is not there yet."""
    target = built_path(name)
    if _complete(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with wait_for_lock(target.parent / f"{name}.lock", lambda: progress(f"{name}: another process builds it, waiting")):
        if not _complete(target):
            _build(PINS[name], target, progress)
    return target


def stages_path(kwok: Path) -> Path:
    """kwok does nothing without its stages; they come from the module it is built from and lie beside it."""
    return kwok.with_name(stages.FILE_NAME)


def definitions_path(olm: Path) -> Path:
    """OLM's own kinds, which it does not install itself; like kwok's stages."""
    return olm.with_name(definitions.FILE_NAME)


# What comes from the module of a program and lies beside it: the file, and who copies it there.
_COMPANIONS: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "kwok": (stages.FILE_NAME, stages.copy_from_module),
    "olm": (definitions.FILE_NAME, definitions.copy_from_module),
}


def _complete(target: Path) -> bool:
    companion = _COMPANIONS.get(target.name)
    return target.exists() and (companion is None or target.with_name(companion[0]).exists())


def _build(pin: Pin, target: Path, progress: Progress) -> None:
    go = find_go(progress)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        _compile(go, pin, temporary, progress)
        if companion := _COMPANIONS.get(pin.name):
            name, copy = companion
            copy(_module_directory(go, pin), target.with_name(name))
        temporary.chmod(0o755)
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)


def _compile(go: Path, pin: Pin, output: Path, progress: Progress) -> None:
    began = time.monotonic()
    progress(f"{pin.name} {pin.version}: building (once; minutes when nothing is cached)")
    command = [str(go), "build", *pin.flags, "-o", str(output), pin.package]
    process = subprocess.Popen(
        command, cwd=pin.directory, env={**os.environ, **BUILD_ENVIRONMENT}, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    lines: list[str] = []
    reader = threading.Thread(target=_collect, args=(process.stderr, lines), daemon=True)
    reader.start()
    try:
        _wait(process, pin, began, lines, progress)
    except BaseException:
        process.send_signal(signal.SIGINT)  # go then ends its compilers too, which a kill would leave working
        process.wait()
        raise
    reader.join(timeout=5)
    if process.returncode != 0:
        errors = [line for line in lines if not line.startswith("go: downloading")]
        raise BuildError(f"{pin.name} {pin.version} could not be built:\n" + "\n".join(errors[-20:]))
    size = output.stat().st_size / 1e6
    progress(f"{pin.name} {pin.version}: built in {time.monotonic() - began:.0f} s, {size:.0f} MB")


def _wait(process: subprocess.Popen[str], pin: Pin, began: float, lines: list[str], progress: Progress) -> None:
    while True:
        try:
            process.wait(timeout=HEARTBEAT_SECONDS)
            return
        except subprocess.TimeoutExpired:
            downloads = sum(line.startswith("go: downloading") for line in list(lines))
            extra = f", {downloads} modules fetched" if downloads else ""
            progress(f"{pin.name} {pin.version}: building, {time.monotonic() - began:.0f} s{extra}")


def _collect(stream: IO[str], lines: list[str]) -> None:
    with stream:
        lines.extend(line.rstrip() for line in stream)


def _module_directory(go: Path, pin: Pin) -> Path:
    result = subprocess.run(
        [go, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", pin.module],
        cwd=pin.directory,
        env={**os.environ, **BUILD_ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    directory = Path(result.stdout.strip())
    if result.returncode != 0 or not result.stdout.strip() or not directory.is_dir():
        raise BuildError(f"go cannot say where {pin.module} lies: {result.stderr.strip()}")
    return directory
