"""The second source: PyPI's `ansible` package is a wheel full of collections; only the needed ones are taken out."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from content_collections.wanted import CollectionsError, PackagePin


def cache_directory() -> Path:
    """The cache that the local cluster tool uses too: outside the work tree, so that a clean clone finds it."""
    if chosen := os.environ.get("AITASK_TOOLS_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "aitask-operator"


def fetch_wheel(pin: PackagePin, requirement: Path) -> Path:
    """The pinned wheel, downloaded once (55 MB) and checked each time."""
    directory = cache_directory() / "wheels"
    wheel = directory / f"ansible-{pin.version}-py3-none-any.whl"
    if wheel.exists() and _sha256(wheel) == pin.sha256:
        return wheel
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory) as download:
            _download(requirement, Path(download), wheel)
            (Path(download) / wheel.name).replace(wheel)
    except OSError as error:
        raise CollectionsError(
            f"the cache {directory} cannot be used ({error}); name another directory with AITASK_TOOLS_CACHE"
        ) from error
    return wheel


def _download(requirement: Path, target: Path, wheel: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-cache-dir"]
    what = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--requirement", str(requirement)]
    result = subprocess.run(
        [*pip, *what, "--dest", str(target)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise CollectionsError(
            f"neither Galaxy nor PyPI gave the collections. pip said: {reason}\n"
            "Cure: let this machine reach one of them (pip's own settings for a mirror or a proxy hold), "
            f"or put the file there by hand: {wheel}"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def extract(wheel: Path, names: Iterable[str], target: Path) -> None:
    """Put the collections, and those that they depend on, below `target`."""
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        waiting, done = list(names), set[str]()
        while waiting:
            name = waiting.pop()
            if name in done:
                continue
            done.add(name)
            prefix = f"ansible_collections/{name.replace('.', '/')}/"
            members = [file for file in files if file.startswith(prefix)]
            if prefix + "MANIFEST.json" not in members:
                raise CollectionsError(f"{wheel.name} has no collection {name}; it can come from Galaxy only")
            archive.extractall(target, members)
            manifest = json.loads(archive.read(prefix + "MANIFEST.json"))
            waiting += manifest["collection_info"].get("dependencies") or {}
