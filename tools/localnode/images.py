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
    _ctr(layout, "images", "import", str(archive))


def build(layout: Layout, tag: str, containerfile: Path) -> str:
    """Make an image, which must be FROM scratch since no registry is asked, of the directory of its Containerfile, and
    bring it to the node. Returns its name by digest, which is known there too."""
    archive, digest = layout.images / "built.tar", layout.images / "digest"
    store = ["--root", str(layout.images / "store"), "--runroot", str(layout.images / "run"), "--storage-driver", "vfs"]
    source = ["--file", str(containerfile), "--tag", tag, str(containerfile.parent)]
    _call(["buildah", *store, "build", "--isolation=chroot", *source])
    archive.unlink(missing_ok=True)
    _call(["buildah", *store, "push", "--digestfile", str(digest), tag, f"oci-archive:{archive}:{tag}"])
    load(layout, archive)
    by_digest = f"{tag.rpartition(':')[0]}@{digest.read_text().strip()}"
    _ctr(layout, "images", "tag", "--force", tag, by_digest)
    return by_digest


def load_pause(layout: Layout) -> None:
    """Made of a static busybox. It also serves tests as a workload that does nothing."""
    program = shutil.which("busybox")
    assert program is not None
    with tempfile.TemporaryDirectory(dir=layout.images) as context:
        shutil.copy(program, Path(context) / "busybox")
        containerfile = Path(context) / "Containerfile"
        containerfile.write_text(_CONTAINERFILE)
        build(layout, PAUSE, containerfile)


def _ctr(layout: Layout, *arguments: str) -> None:
    _call(["ctr", "--address", str(layout.socket), "--namespace", "k8s.io", *arguments])


def _call(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NodeError(f"{' '.join(command)}: {done.stdout.strip()} {done.stderr.strip()}")
