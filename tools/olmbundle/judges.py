"""What OLM's own programs say of a bundle and of a catalog: opm and operator-verify, as pinned."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from localcluster import build
from olmbundle.errors import BundleError

Progress = Callable[[str], None]


def judge_catalog(directory: Path, progress: Progress) -> None:
    """Raises BundleError where `opm validate` finds a fault; it says nothing else."""
    _run([build.ensure_built("opm", progress), "validate", directory])


def judge_bundle(directory: Path, progress: Progress) -> str:
    """The warnings of operator-verify on a directory with manifests/ and metadata/. Raises BundleError for faults.

    Its exit status is 0 whatever it finds: what counts is the level of its lines.
    """
    program = build.ensure_built("operator-verify", progress)
    said = _run([program, "manifests", directory, "--operatorhub_validate", "--object_validate"])
    faults = [line for line in said.splitlines() if "level=error" in line or "level=fatal" in line]
    if faults:
        raise BundleError("operator-verify:\n" + "\n".join(faults))
    return said


def _run(command: list[str | Path]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise BundleError(f"{Path(command[0]).name} {command[1]}:\n{done.stdout.strip()}")
    return done.stdout
