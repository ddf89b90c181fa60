"""Images of the node: the pause image, which holds a pod's namespaces, and those that are loaded from archives."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from localnode.configuration import PAUSE
from localnode.errors import NodeError
from localnode.layout import Layout

# containerd kills the pause process when the pod is done, so it need not heed a signal.
_CONTAINERFILE = 'FROM scratch\nCOPY busybox /\nENTRYPOINT ["/busybox", "sleep", "2147483647"]\n'


def load(layout: Layout, archive: Path) -> None:
    """Bring the image of an OCI or docker archive to the node, under the name that the archive gives it."""
    _call(["ctr", "--address", str(layout.socket), "--namespace", "k8s.io", "images", "import", str(archive)])


def load_pause(layout: Layout) -> None:
    """Made of a static busybox: no registry is asked. It also serves tests as a workload that does nothing."""
    program = shutil.which("busybox")
    assert program is not None
    archive = layout.images / "pause.tar"
    store = ["--root", str(layout.images / "store"), "--runroot", str(layout.images / "run"), "--storage-driver", "vfs"]
    with tempfile.TemporaryDirectory(dir=layout.images) as context:
        shutil.copy(program, Path(context) / "busybox")
        (Path(context) / "Containerfile").write_text(_CONTAINERFILE)
        _call(["buildah", *store, "build", "--isolation=chroot", "--tag", PAUSE, context])
    archive.unlink(missing_ok=True)
    _call(["buildah", *store, "push", PAUSE, f"oci-archive:{archive}:{PAUSE}"])
    load(layout, archive)


def _call(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NodeError(f"{' '.join(command)}: {done.stdout.strip()} {done.stderr.strip()}")
