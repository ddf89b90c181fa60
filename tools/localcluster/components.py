"""The command line of each component, and how to tell that it is up. Pure: starts nothing, opens nothing.

Everything listens on 127.0.0.1 only, on ports that are given from outside; the API server on another address where a
real node is to join.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcluster.access import token_table
from localcluster.layout import Layout
from localcluster.pki import PkiFiles
from localcluster.spec import LOOPBACK

SERVICE_RANGE = "10.96.0.0/16"
SERVICE_IP = "10.96.0.1"  # of the Service `kubernetes`: the first of the range
NODE_NAME = "kwok-node-0"
NODE_IP = "192.0.2.10"  # documentation addresses: nothing must ever be reached there


@dataclass(frozen=True)
class Component:
    """`arguments` makes the command line from the ports it was given; `health` is the URL that answers 200 when up."""

    name: str
    port_count: int
    arguments: Callable[[Sequence[int]], list[str]]
    health: Callable[[Sequence[int]], str]


def etcd(layout: Layout) -> Component:
    def arguments(ports: Sequence[int]) -> list[str]:
        client, peer = (f"http://127.0.0.1:{port}" for port in ports)
        return [
            f"--data-dir={layout.etcd_data}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            # It elects itself; by default it waits up to a second for others first.
            "--heartbeat-interval=20",
            "--election-timeout=200",
            "--unsafe-no-fsync",  # the data does not outlive the cluster
            "--log-level=warn",
        ]

    return Component("etcd", 2, arguments, lambda ports: f"http://127.0.0.1:{ports[0]}/health")


def api_server(layout: Layout, etcd_port: int, *, audit: bool, address: str = LOOPBACK) -> Component:
    pki = PkiFiles(layout.pki)

    def arguments(ports: Sequence[int]) -> list[str]:
        result = [
            f"--etcd-servers=http://127.0.0.1:{etcd_port}",
            f"--secure-port={ports[0]}",
            f"--bind-address={address}",
            # Said, or it looks for the default route's address and fails on a machine without one.
            f"--advertise-address={address}",
            *(_real_node(pki) if address != LOOPBACK else _NO_REAL_NODE),
            *_serving(pki),
            f"--client-ca-file={pki.ca}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki.service_account_public_key}",
            f"--service-account-signing-key-file={pki.service_account_key}",
            f"--token-auth-file={token_table(layout)}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--allow-privileged=true",
            "--profiling=false",
        ]
        if audit:
            # The default mode writes a line before the answer is sent, so that a test finds what it just caused.
            result += [f"--audit-policy-file={audit_policy_file(layout)}", f"--audit-log-path={layout.audit_log}"]
            # At 100 MB, the default, a new log would begin, and take from a test what it is about to read. Not 0, which
            # older servers take for the default.
            result += ["--audit-log-maxsize=1000000"]
        return result

    return Component("kube-apiserver", 1, arguments, lambda ports: f"https://{address}:{ports[0]}/readyz")


# Loopback is not allowed in the endpoints of the Service `kubernetes`.
_NO_REAL_NODE = ("--endpoint-reconciler-type=none", "--authorization-mode=RBAC")


def _real_node(pki: PkiFiles) -> tuple[str, ...]:
    return (
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--kubelet-client-certificate={pki.kubelet_client_certificate}",
        f"--kubelet-client-key={pki.kubelet_client_key}",
        "--kubelet-preferred-address-types=InternalIP",
    )


def controller_manager(layout: Layout) -> Component:
    pki = PkiFiles(layout.pki)

    def arguments(ports: Sequence[int]) -> list[str]:
        return [
            f"--kubeconfig={layout.component_kubeconfig('kube-controller-manager')}",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={pki.service_account_key}",
            f"--root-ca-file={pki.ca}",
            "--leader-elect=false",
            # The default of 20 requests a second makes a start of 5 seconds out of one of 10.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            # Nodes here never fail, but a busy machine delays their heartbeats.
            "--node-monitor-grace-period=10m",
            "--profiling=false",
            *_secure(ports[0], pki),
        ]

    return Component("kube-controller-manager", 1, arguments, _secure_health)


def scheduler(layout: Layout) -> Component:
    def arguments(ports: Sequence[int]) -> list[str]:
        kubeconfig = layout.component_kubeconfig("kube-scheduler")
        secure = _secure(ports[0], PkiFiles(layout.pki))
        return [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--profiling=false", *secure]

    return Component("kube-scheduler", 1, arguments, _secure_health)


def kwok(layout: Layout, stages: Path) -> Component:
    def arguments(ports: Sequence[int]) -> list[str]:
        return [
            f"--kubeconfig={layout.component_kubeconfig('kwok')}",
            f"--config={stages}",
            "--manage-all-nodes=true",
            # Leases would only add a write every few seconds: the heartbeat stage keeps the nodes ready.
            "--node-lease-duration-seconds=0",
            f"--node-ip={NODE_IP}",
            "--node-port=0",
            f"--server-address=127.0.0.1:{ports[0]}",
        ]

    return Component("kwok", 1, arguments, lambda ports: f"http://127.0.0.1:{ports[0]}/healthz")


def audit_policy_file(layout: Layout) -> Path:
    return layout.config / "audit-policy.yaml"


def node_manifest() -> dict[str, object]:
    """The one node: kwok gives it far more room than any test asks for."""
    labels = {
        "kubernetes.io/hostname": NODE_NAME,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "kwok",
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE_NAME, "labels": labels}}


def _serving(pki: PkiFiles) -> list[str]:
    return [f"--tls-cert-file={pki.serving_certificate}", f"--tls-private-key-file={pki.serving_key}"]


def _secure(port: int, pki: PkiFiles) -> list[str]:
    return ["--bind-address=127.0.0.1", f"--secure-port={port}", *_serving(pki)]


def _secure_health(ports: Sequence[int]) -> str:
    return f"https://127.0.0.1:{ports[0]}/healthz"
