"""The definitions of OLM's own kinds, taken as they are from its module, so that they match its version."""

from __future__ import annotations

import os
from pathlib import Path

from localcluster.errors import BuildError

FILE_NAME = "olm-definitions.yaml"
_SOURCE = Path("deploy/chart/crds")


def copy_from_module(module: Path, target: Path) -> None:
    sources = sorted((module / _SOURCE).glob("*.crd.yaml"))
    if not sources:
        raise BuildError(f"OLM's module has no *.crd.yaml in {_SOURCE}: its kinds")
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    temporary.write_text("\n---\n".join(path.read_text().strip() for path in sources) + "\n")
    temporary.rename(target)
