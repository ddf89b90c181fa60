"""`make deploy` and `make undeploy`, as a user calls them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from localcluster import Cluster

DEFAULT = "config/default"


def make(cluster: Cluster, target: str, tree: Path, overlay: str = DEFAULT, image: str = "") -> str:
    """What it prints. Not `venv`, which it asks for: the tests have theirs."""
    kubectl = f"KUBECTL={cluster.kubectl} --kubeconfig {cluster.kubeconfig}"
    command = ["make", "--old-file=venv", target, kubectl, f"OVERLAY={overlay}", *([f"IMG={image}"] if image else [])]
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout
