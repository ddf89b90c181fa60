"""A node whose kubelet answers exec, attach, logs, port-forward: a kwok of its own, which runs commands on this host.

kwok never closes the standard input of a command, so commands must know their end by themselves.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from localcluster import Cluster, binaries, build
from localcluster.ports import free_port
from tests.support.api import Api
from tests.support.kinds import Kind
from tests.support.waiting import until

_UNTIL_STDIN_ENDS = '"$@" & read -r _; kill $!; wait $!'
"""So that it ends with the test, however that ends."""

NODE = Kind("v1", "Node", "nodes", namespaced=False)
POD = Kind("v1", "Pod", "pods")


@dataclass
class Kubelet:
    """The node's name, the file that its containers log to, and the port on this host that their ports lead to."""

    node: str
    log_file: Path
    target_port: int

    def log(self, line: str) -> None:
        """A container prints a line."""
        with self.log_file.open("a") as file:
            file.write(f"{datetime.now(UTC).isoformat().replace('+00:00', 'Z')} stdout F {line}\n")

    def pod(self, api: Api, name: str, namespace: str) -> None:
        """Make a pod on the node, and wait until it runs."""
        spec = {
            "nodeName": self.node,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "example.com/main:1"}],
        }
        api.create(POD, POD.object(name, namespace, spec=spec))
        api.wait(POD, name, namespace, lambda obj: obj["status"].get("phase") == "Running", "runs")


@contextmanager
def kubelet(cluster: Cluster, api: Api, directory: Path, target_port: int) -> Iterator[Kubelet]:
    """A node of its own, whose kubelet is a kwok of its own."""
    directory.mkdir()
    port = free_port([target_port])
    result = Kubelet(f"node-{directory.name}-{port}", directory / "pod.log", target_port)
    result.log("the first line")
    program = binaries.resolve(["kwok"], lambda text: None)["kwok"]
    configuration = directory / "kwok.yaml"
    configuration.write_text(yaml.safe_dump_all(_rules(result)) + "---\n" + build.stages_path(program).read_text())
    taints = [{"key": "only-for-one-test", "effect": "NoSchedule"}]
    api.create(NODE, NODE.object(result.node, spec={"taints": taints}))
    with (directory / "kwok.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("sh", "-c", _UNTIL_STDIN_ENDS, "sh", program),
                f"--kubeconfig={cluster.kubeconfig}",
                f"--config={configuration}",
                "--manage-single-node=none-at-all",  # the cluster's own kwok looks after the node and its pods
                "--node-lease-duration-seconds=0",
                f"--server-address=127.0.0.1:{port}",
            ],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        api.wait(NODE, result.node, "", _is_ready, "is ready")
        address = [{"type": kind, "address": "127.0.0.1"} for kind in ("InternalIP", "Hostname")]
        endpoint = {"kubeletEndpoint": {"Port": port}}
        api.patch(NODE, result.node, "", {"status": {"addresses": address, "daemonEndpoints": endpoint}}, "status")
        until(lambda: "Starting HTTP server" in (directory / "kwok.log").read_text(), "kwok serves")
        yield result
    finally:
        process.communicate()
        api.delete(NODE, result.node)


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def _rules(kubelet: Kubelet) -> list[dict[str, Any]]:
    log = str(kubelet.log_file)
    specs = {
        "ClusterExec": {"execs": [{"local": {}}]},
        "ClusterAttach": {"attaches": [{"logsFile": log}]},
        "ClusterLogs": {"logs": [{"logsFile": log, "follow": True}]},
        "ClusterPortForward": {"forwards": [{"target": {"address": "127.0.0.1", "port": kubelet.target_port}}]},
    }
    return [
        {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": {"name": "all"}, "spec": spec}
        for kind, spec in specs.items()
    ]
