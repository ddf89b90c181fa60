"""What containerd, the network plugins, the kubelet and kube-proxy are told. Pure: starts nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from localcluster.spec import REAL_NODE
from localnode import cgroups, network
from localnode.layout import Layout
from localnode.requirements import PLUGINS

PAUSE = "localhost/pause:1"
KUBELET_PORT = 10250
_KUBELET_HEALTH_PORT = 10248

_CONTAINERD = """\
version = 2
root = "{root}/root"
state = "{root}/state"
oom_score = 0
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{root}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # A lower score needs CAP_SYS_RESOURCE, which root often has not in a container: every sandbox would fail.
  restrict_oom_score_adj = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
  disable_hugetlb_controller = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{config}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def containerd(layout: Layout) -> str:
    """TOML."""
    return _CONTAINERD.format(
        root=layout.containerd, socket=layout.socket, pause=PAUSE, plugins=PLUGINS, config=layout.config
    )


def pod_network(layout: Layout) -> str:
    """A conflist of CNI."""
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": network.POD_RANGE}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(layout.containerd / "addresses"),
    }
    bridge = {"type": "bridge", "bridge": "pods", "isGateway": True, "ipMasq": True, "hairpinMode": True, "ipam": ipam}
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}, indent=2)


def kubelet(layout: Layout, authority: Path) -> dict[str, Any]:
    """A KubeletConfiguration."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": network.NODE_ADDRESS,
        "port": KUBELET_PORT,
        "healthzPort": _KUBELET_HEALTH_PORT,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{layout.socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroups.NAME}",
        "failCgroupV1": False,  # since 1.35 the default refuses cgroup v1
        "oomScoreAdj": 0,  # as for containerd
        "makeIPTablesUtilChains": False,
        "clusterDomain": "cluster.local",
        "resolvConf": "",  # pods reach no name server: there is no way out
        "podLogsDir": str(layout.kubelet / "logs"),
        # A full disk of the machine is not the node's to judge, and an image that was loaded cannot be pulled again.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
    }


def kubelet_command(layout: Layout, program: Path, kubeconfig: Path) -> list[str]:
    return [
        str(program),
        f"--config={layout.config / 'kubelet.yaml'}",
        f"--kubeconfig={kubeconfig}",
        f"--hostname-override={REAL_NODE}",
        f"--node-ip={network.NODE_ADDRESS}",
        f"--root-dir={layout.kubelet}",
        f"--cert-dir={layout.kubelet / 'pki'}",
    ]


def proxy_command(program: Path, kubeconfig: Path) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={kubeconfig}",
        f"--hostname-override={REAL_NODE}",
        "--proxy-mode=iptables",
        f"--cluster-cidr={network.POD_RANGE}",
        # Zero: leave the settings of the kernel as they are.
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
        "--healthz-bind-address=127.0.0.1:10256",
        "--metrics-bind-address=127.0.0.1:10249",
    ]
