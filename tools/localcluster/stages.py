"""kwok's stages: what makes its nodes ready and moves its pods from pending to running, completed or gone.

Taken as they are from kwok's own module, so that they match its version.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from localcluster.errors import BuildError

# Ready nodes that stay ready, and pods that skip every waiting state. The heartbeat lies within the grace period
# that the controller-manager gives a node.
_STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat/node-heartbeat.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
)
# The name changes with the choice, so that a cached copy of another choice is not taken for this one.
FILE_NAME = f"kwok-stages-{hashlib.sha256(' '.join(_STAGES).encode()).hexdigest()[:8]}.yaml"


def copy_from_module(module: Path, target: Path) -> None:
    sources = [module / "kustomize" / "stage" / name for name in _STAGES]
    if missing := [str(path) for path in sources if not path.is_file()]:
        raise BuildError(f"kwok's module lacks the stage files {', '.join(missing)}")
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    temporary.write_text("\n---\n".join(path.read_text().strip() for path in sources) + "\n")
    temporary.rename(target)
