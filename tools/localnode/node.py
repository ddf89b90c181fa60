"""The library's front: start a node with its control plane, load images, stop it.

For example, in a test:

    with Node.start() as node:
        node.load(archive)
        subprocess.run([node.cluster.kubectl, "--kubeconfig", node.cluster.kubeconfig, "get", "pods", "-A"])
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from localcluster import Cluster
from localcluster.layout import Layout as ClusterLayout
from localcluster.locks import try_lock
from localcluster.processes import identify
from localcluster.teardown import end_cluster
from localnode import bringup, daemons, images, kernel, network
from localnode.errors import NodeError
from localnode.layout import HIDDEN, Layout
from localnode.requirements import why_not

Progress = Callable[[str], None]


class Node:
    """A node that runs, and its control plane. Made by `start` or `attach`."""

    def __init__(self, layout: Layout, cluster: Cluster, children: Sequence[daemons.Child] = ()) -> None:
        self._layout = layout
        self._children = children
        self.cluster = cluster

    @classmethod
    def start(cls, *, background: bool = False, progress: Progress = print, layout: Layout | None = None) -> Self:
        """Return when the node is Ready. In the background it outlives this process, and `down` ends it; what another
        process has started and not ended when it died is ended first.

        Raises NodeError where the machine lacks something or a node runs already, ClusterError for the control plane.
        """
        layout = layout or Layout()
        if (reason := why_not()) is not None:
            raise NodeError(reason)
        with _alone(layout):
            _end_abandoned(layout, progress)
            layout.create()
            state = daemons.State(None if background else identify(os.getpid()))
            up = bringup.BringUp(layout, state, progress)
            try:
                return cls(layout, up.run(), [*up.running.values()])
            except BaseException:
                end(layout, keep=True)
                raise

    @classmethod
    def attach(cls, layout: Layout | None = None) -> Self:
        """The node that another process started; NodeError or ClusterError if there is none."""
        layout = layout or Layout()
        state = daemons.read_state(layout.state)
        if state is None or state.abandoned():
            raise NodeError("no node is running")
        return cls(layout, Cluster.attach(layout.cluster))

    @property
    def directory(self) -> Path:
        """With the logs: kubelet.log, containerd.log, kube-proxy.log, cluster/logs."""
        return self._layout.directory

    def load(self, archive: Path) -> None:
        """Bring the image of an OCI or docker archive to the node; pods name it as the archive does."""
        images.load(self._layout, archive)

    def build(self, tag: str, containerfile: Path) -> str:
        """Bring an image to it that is FROM scratch, made of the directory of its Containerfile. Returns its name by
        digest: pods that name it so never ask a registry."""
        return images.build(self._layout, tag, containerfile)

    def stop(self) -> None:
        """End everything and remove all that was made."""
        self.cluster.stop()
        end(self._layout)
        for child in self._children:
            child.wait()  # it has ended; Popen warns of a child that nobody has waited for

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def end(layout: Layout, *, keep: bool = False) -> None:
    """End a node in whatever state it is, also one that was killed half-way. `keep` leaves the logs."""
    daemons.end_all(layout)
    kernel.restore(layout.kernel)
    end_cluster(ClusterLayout(layout.cluster), keep=keep)
    network.remove()
    for path in HIDDEN:
        with contextlib.suppress(OSError):  # in use by this machine's own, or never made
            path.rmdir()
    if keep:
        for path in (layout.containerd, layout.kubelet, layout.images):
            shutil.rmtree(path, ignore_errors=True)
    elif layout.directory.exists():
        shutil.rmtree(layout.directory)


def _end_abandoned(layout: Layout, progress: Progress) -> None:
    state = daemons.read_state(layout.state)
    if state is not None and not state.abandoned():
        raise NodeError("a node is running on this machine already; `make node-down` ends it")
    if state is not None or network.exists() or layout.directory.exists():
        progress("ending what an earlier node has left")
        end(layout)


@contextlib.contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """Nobody else starts a node meanwhile."""
    lock = try_lock(layout.lock)
    if lock is None:
        raise NodeError("another process is just starting a node")
    try:
        yield
    finally:
        layout.lock.unlink(missing_ok=True)
        os.close(lock)
