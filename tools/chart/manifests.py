"""What config/ holds, as `kubectl kustomize` renders it: the one source of every manifest."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from localcluster import binaries

ROOT = Path(__file__).parents[2]
SYSTEM = "aitask-operator-system"
ACCOUNT = "aitask-operator-controller-manager"

Manifest = dict[str, Any]
Key = tuple[str, str]
"""Kind and name: no two objects of an install differ in their namespace alone."""


@functools.cache
def kubectl() -> str:
    """Any version renders the same objects; the order of their fields is ours."""
    return shutil.which("kubectl") or str(binaries.resolve(["kubectl"], print)["kubectl"])


@functools.cache
def rendered(directory: Path) -> dict[Key, Manifest]:
    """The objects of a directory with a kustomization, to be copied before a change.

    Raises CalledProcessError with kustomize's words.
    """
    done = subprocess.run([kubectl(), "kustomize", str(directory)], capture_output=True, text=True, check=True)
    found = [one for one in yaml.load_all(done.stdout, yaml.CSafeLoader) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


def default() -> dict[Key, Manifest]:
    """config/default."""
    return rendered(ROOT / "config" / "default")


def added(overlay: str) -> dict[Key, Manifest]:
    """What an overlay adds to config/default, or has with another content."""
    before = default()
    return {key: one for key, one in rendered(ROOT / "config" / "overlays" / overlay).items() if before.get(key) != one}
