"""The cluster that the demo is shown on: one of its own, or the one the user's kubeconfig points at, if asked for."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from demo.errors import DemoError
from demo.kubectl import Kubectl
from localcluster import Cluster, ClusterError, NotRunningError

Progress = Callable[[str], None]


@dataclass
class Target:
    """A cluster with a folder for the demo's files. ``own`` is None where the cluster is the user's."""

    kubectl: Kubectl
    directory: Path
    own: Cluster | None

    @property
    def name(self) -> str:
        """For a person."""
        if self.own is not None:
            return f"a control plane of its own at {self.own.server}"
        return f"context {self.kubectl('config', 'current-context').strip()}"

    def end(self) -> None:
        """End the demo's own cluster."""
        if self.own is not None:
            self.own.stop()


def own_cluster(directory: Path, *, keep: bool, progress: Progress) -> Target:
    """Start a cluster that ends with this process, or goes on in the background where it is to be kept."""
    try:
        Cluster.attach(directory)
    except NotRunningError:
        pass
    else:
        raise DemoError(f"a cluster is already running in {directory}; end it with: make cluster-down")
    start = Cluster.start_in_background if keep else Cluster.start
    try:
        cluster = start(directory, progress=progress)
    except ClusterError as error:
        raise DemoError(str(error)) from error
    return Target(Kubectl(str(cluster.kubectl), cluster.kubeconfig), directory, cluster)


def current_cluster(directory: Path, *, sure: bool) -> Target:
    """The user's cluster, after a clear question of what will be touched."""
    program = shutil.which("kubectl")
    if program is None:
        raise DemoError("CLUSTER=current needs kubectl on the PATH")
    target = Target(Kubectl(program, None), directory, None)
    server = target.kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
    _refuse_metrics_server(target.kubectl)
    _refuse_installed(target.kubectl)
    question = (
        f"The demo will use {target.name} ({server}).\n"
        "It creates the namespaces aiops-demo and aitask-operator-system, the CRDs aitasks.aiops.example.com,\n"
        "pods.metrics.k8s.io (simulated metrics), cluster roles and bindings named aitask-operator-*, and the\n"
        "admission policy aitask-guard.aiops.example.com; it removes them at the end, and touches nothing else.\n"
    )
    if sure:
        return target
    if not sys.stdin.isatty():
        raise DemoError(f"{question}Nobody can be asked here; say YES=1 to go on.")
    if input(f"{question}Go on? [y/N] ").strip().lower() not in ("y", "yes"):
        raise DemoError("nothing was touched")
    return target


def _refuse_metrics_server(kubectl: Kubectl) -> None:
    found = kubectl.find("apiservices.apiregistration.k8s.io", "v1beta1.metrics.k8s.io")
    if found is not None and found.get("spec", {}).get("service"):
        raise DemoError("this cluster has a metrics server, whose place simulated metrics would take; use another")


def _refuse_installed(kubectl: Kubectl) -> None:
    """The demo removes at its end what it installs, and with the CRD every task that is there."""
    if kubectl.find("customresourcedefinitions.apiextensions.k8s.io", "aitasks.aiops.example.com") is not None:
        raise DemoError("AITask is installed on this cluster already, and the demo would remove it; use another")
