"""Looks the locked requirements of the image up in an advisory database, by pip-audit in an environment of its own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imagebuild.errors import ImageError
from localcluster.layout import cache_directory

_SECONDS = 300


@dataclass(frozen=True)
class Outcome:
    """What is known of how many packages; `skipped` is the reason why nothing was looked up, None where it was."""

    looked_up: int = 0
    vulnerabilities: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    skipped: str | None = None

    def __str__(self) -> str:
        if self.skipped is not None:
            return f"pip-audit: skipped: {self.skipped}"
        head = f"pip-audit: {len(self.vulnerabilities)} known vulnerabilities in {self.looked_up} packages"
        return "\n".join([head, *self.vulnerabilities, *(f"not looked up: {one}" for one in self.unknown)])


def audit(requirements: Path, tool_lock: Path) -> Outcome:
    """Audit a locked requirements file; where pip-audit itself cannot be had, that is a skip too."""
    try:
        program = _installed(tool_lock)
    except ImageError as error:
        return Outcome(skipped=str(error))
    options = ["--disable-pip", "--require-hashes", "--progress-spinner=off", "--format=json"]
    return judged(lambda: _run([str(program), *options, "--requirement", str(requirements)]))


def judged(run: Callable[[], tuple[str, str]]) -> Outcome:
    """The outcome of a run that gives what pip-audit printed: its report, and its complaints."""
    report, complaints = run()
    try:
        dependencies = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Outcome(skipped=(complaints.strip().splitlines() or ["it printed no report"])[-1])
    return _outcome(dependencies)


def _outcome(dependencies: list[dict[str, Any]]) -> Outcome:
    """Where no service answers, pip-audit knows no package, so finds no fault in any, and exits with 0."""
    unknown = tuple(str(one["skip_reason"]) for one in dependencies if "skip_reason" in one)
    if unknown and len(unknown) == len(dependencies):
        return Outcome(skipped=f"no advisory service knows any of {len(unknown)} packages ({unknown[0]})")
    found = [f"{one['name']} {one['version']}: {_told(vuln)}" for one in dependencies for vuln in one.get("vulns", [])]
    return Outcome(len(dependencies) - len(unknown), tuple(found), unknown)


def _told(vulnerability: dict[str, Any]) -> str:
    mended = ", ".join(vulnerability.get("fix_versions") or ()) or "no version yet"
    return f"{vulnerability['id']}, mended in {mended}"


def _installed(lock: Path) -> Path:
    """pip-audit as it is locked, installed once into the cache."""
    digest = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:16]
    directory = cache_directory() / "pip-audit" / digest
    program, ready = directory / "bin" / "pip-audit", directory / "ready"
    if not ready.exists():
        venv.create(directory, clear=True, with_pip=True)
        pip = [str(directory / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        _, complaints = _run([*pip, "-r", str(lock)])
        if not program.exists():
            raise ImageError(f"pip-audit could not be installed ({(complaints.strip().splitlines() or ['?'])[-1]})")
        ready.touch()
    return program


def _run(command: list[str]) -> tuple[str, str]:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_SECONDS} s"
    return done.stdout, done.stderr
