"""The order in which a node comes up: control plane, containerd, images, kubelet and proxy; and what ready means."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from localcluster import Cluster, ClusterError, binaries, pins
from localcluster.access import token_file
from localcluster.api import Api
from localcluster.layout import Layout as ClusterLayout
from localcluster.spec import REAL_NODE
from localnode import cgroups, configuration, daemons, images, kernel, network
from localnode.errors import NodeError
from localnode.layout import HIDDEN, Layout

_SECONDS = 120.0
_POLL_SECONDS = 0.1

_IN_A_MOUNT_NAMESPACE = ("unshare", "--mount", "--propagation=private", "sh", "-ec")


@dataclass
class BringUp:
    """Of one node: `running` has its processes by name."""

    layout: Layout
    state: daemons.State
    progress: Callable[[str], None]
    began: float = field(default_factory=time.monotonic)
    running: dict[str, daemons.Child] = field(default_factory=dict)

    def run(self) -> Cluster:
        """Returns the control plane when the node is Ready. NodeError or ClusterError otherwise."""
        programs = binaries.resolve(pins.NODE, self.progress)
        cgroups.create()  # first: it refuses where a node of another container is
        network.create()
        start = Cluster.start if self.state.owner else Cluster.start_in_background
        cluster = start(self.layout.cluster, kwok=False, address=network.HOST_ADDRESS, progress=self.progress)
        self.began = time.monotonic()
        self.containerd()
        images.load_pause(self.layout)
        self.kubelet_and_proxy(programs)
        self.wait_ready(cluster)
        return cluster

    def containerd(self) -> None:
        config = self.layout.config / "containerd.toml"
        config.write_text(configuration.containerd(self.layout))
        (self.layout.config / "cni" / "pods.conflist").write_text(configuration.pod_network(self.layout))
        for path in HIDDEN:
            path.mkdir(parents=True, exist_ok=True)
        mounts = "".join(f"mount -t tmpfs tmpfs {path}; " for path in HIDDEN)
        self._start(
            "containerd", [*network.enter(), *_IN_A_MOUNT_NAMESPACE, f"{mounts}exec containerd --config={config}"]
        )
        version = ["ctr", "--address", str(self.layout.socket), "--connect-timeout", "2s", "version"]
        self._wait("containerd", lambda: subprocess.run(version, capture_output=True, check=False).returncode == 0)

    def kubelet_and_proxy(self, programs: dict[str, Path]) -> None:
        cluster = ClusterLayout(self.layout.cluster)
        config = configuration.kubelet(self.layout, cluster.ca_file)
        (self.layout.config / "kubelet.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
        kubeconfig = cluster.component_kubeconfig("kubelet")
        command = configuration.kubelet_command(self.layout, programs["kubelet"], kubeconfig)
        containerd = self.state.processes["containerd"].pid
        kernel.note(self.layout.kernel)
        self._start("kubelet", ["nsenter", f"--target={containerd}", "--mount", "--net", "--", *command])
        proxy = configuration.proxy_command(programs["kube-proxy"], cluster.component_kubeconfig("kube-proxy"))
        self._start("kube-proxy", [*network.enter(), *proxy])

    def wait_ready(self, cluster: Cluster) -> None:
        admin = token_file(ClusterLayout(self.layout.cluster), "admin").read_text()
        api = Api(cluster.server, cluster.ca_file, admin)
        self._wait(f"Node {REAL_NODE}", lambda: _ready(api))

    def _start(self, name: str, command: list[str]) -> None:
        self.running[name] = daemons.start(self.layout, self.state, name, command)

    def _wait(self, what: str, holds: Callable[[], bool]) -> None:
        while not holds():
            ended = [name for name, process in self.running.items() if process.poll() is not None]
            if ended:
                raise NodeError(daemons.failed(self.layout, ended[0]))
            if time.monotonic() - self.began > _SECONDS:
                raise NodeError(f"{what} is not ready after {_SECONDS:g} s; the logs are in {self.layout.directory}")
            time.sleep(_POLL_SECONDS)
        self.progress(f"{what}: ready after {time.monotonic() - self.began:.1f} s")


def _ready(api: Api) -> bool:
    try:
        node = api.request("GET", f"/api/v1/nodes/{REAL_NODE}")
    except ClusterError:
        return False
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and not node["spec"].get("taints")
