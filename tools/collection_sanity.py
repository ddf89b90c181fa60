"""`python -m collection_sanity [--test NAME ...]`: `ansible-test sanity` over the shipped collection (`make sanity`).

On a copy, in a directory of its own, since ansible-test writes beside what it tests and into the home directory. It
makes a virtual environment for each of its tests, with packages from PyPI.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from shown import run_shown

ROOT = Path(__file__).parent.parent
_COLLECTION = ROOT / "src/ansible_operator/collections/ansible_collections/operator_sdk/util"
_NEEDED = ROOT / ".collections/ansible_collections/kubernetes/core"
_PIP = "import ensurepip\nensurepip.bootstrap(default_pip=True)\n"


def main(arguments: list[str]) -> int:
    """The exit status of ansible-test."""
    with tempfile.TemporaryDirectory(prefix="sanity-") as scratch:
        home = Path(scratch) / "home"
        home.mkdir()
        tree = _copy(Path(scratch) / "ansible_collections")
        status, said = _run(tree, home, arguments)
        # It takes pip from a host of its own, which not every network reaches, and says where else it looks for it.
        if status and (found := re.search(r"manually downloaded and saved to: (\S+)", said)):
            print("collection_sanity: no pip from there; Python's own takes its place", flush=True)
            Path(found[1]).parent.mkdir(parents=True, exist_ok=True)
            Path(found[1]).write_text(_PIP)
            status, _ = _run(tree, home, arguments)
    return status


def _copy(collections: Path) -> Path:
    """The collection and the one it needs, as ansible-test wants them to lie."""
    tree = collections / "operator_sdk/util"
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(_COLLECTION, tree, ignore=unwanted)
    shutil.copytree(_NEEDED, collections / "kubernetes/core", ignore=unwanted)
    return tree


def _run(tree: Path, home: Path, arguments: list[str]) -> tuple[int, str]:
    command = [str(Path(sys.executable).with_name("ansible-test")), "sanity", "--venv", "--color", "no", *arguments]
    return run_shown(command, tree, {**os.environ, "HOME": str(home)})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
