"""The source of the last release, by the commit that releases/previous names."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from olmbundle.errors import BundleError

# Written after that release, and of no effect on what is installed: the form of the bundle.
_OF_THE_PRESENT = ("config/manifests", "config/scorecard")

_SECONDS = 300.0


class UnreachableError(BundleError):
    """The commit is not in this clone and could not be fetched."""


def unpack(root: Path, commit: str, paths: Sequence[str], target: Path) -> None:
    """Put those paths of the commit below `target`. Raises UnreachableError with the reason."""
    _reach(root, commit)
    archive = target / "archive.tar"
    target.mkdir(parents=True, exist_ok=True)
    done = _git(root, "archive", f"--output={archive}", commit, "--", *paths)
    if done.returncode:
        raise BundleError(f"git archive {commit}: {done.stderr.strip()}")
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")
    archive.unlink()


def bundle_source(root: Path, commit: str, target: Path) -> Path:
    """A tree to make that release's bundle of: its config, with the present form of the bundle where it had none."""
    unpack(root, commit, ["config"], target)
    for path in _OF_THE_PRESENT:
        if not (target / path).exists():
            shutil.copytree(root / path, target / path)
    return target


def _reach(root: Path, commit: str) -> None:
    if _has(root, commit):
        return
    done = _git(root, "fetch", "--quiet", "--unshallow")
    if not _has(root, commit):
        said = done.stderr.strip() or "the clone has all of its history and not this commit"
        raise UnreachableError(f"commit {commit} of releases/previous is not in this clone: {said}")


def _has(root: Path, commit: str) -> bool:
    return _git(root, "cat-file", "-e", f"{commit}^{{commit}}").returncode == 0


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Asks nobody for a name or a password: neither git, nor an ssh of its, has a terminal."""
    command = ["git", "-C", str(root), *arguments]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise UnreachableError(f"git {arguments[0]} had not ended after {_SECONDS:g} s") from None
    except FileNotFoundError:
        raise UnreachableError("git is not installed, and the last release is read from its commit") from None
