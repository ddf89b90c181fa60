"""A lab per test: a namespace of the cluster that has the shipped manifests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.roles.aitask_lab import ACCOUNT, ROOT, Lab, wait_for

# The rules and modules are part of the role and are imported from there.
sys.path[:0] = [str(ROOT / "roles" / "aitask"), str(ROOT / "roles" / "aitask" / "library")]


RELAXED = {"limits": {"maxConcurrentActions": 1000, "maxActionsPerHour": 1000}, "storm": {"percent": 100}}
"""Limits of the whole operator, so that tests that have nothing to do with each other do not hold each other."""


def configuration_of(config: Any) -> dict[str, Any]:
    """The operator's configuration, to be applied as it was made: a patch would make it somebody else's, and the next
    apply a conflict."""
    data = {"config.yaml": config if isinstance(config, str) else json.dumps(config)}
    meta = {"name": "aitask-operator-config", "namespace": ACCOUNT[0]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


KINDS = (
    *(f"{plural}.aiops.example.com" for plural in ("aitasks", "aitaskbackups", "aitaskrestores")),
    "pods.metrics.k8s.io",
)


_BEGUN = pytest.StashKey[int]()


@pytest.fixture(scope="session")
def begun(cluster: Any, request: pytest.FixtureRequest) -> int:
    """Where the audit log ended before anything of this session ran with the operator's account: the cluster may be one
    that others have used (LOCALCLUSTER_DIR)."""
    return request.config.stash.setdefault(_BEGUN, cluster.audit_log.stat().st_size)


@pytest.fixture(scope="session")
def installed(cluster: Any, begun: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of config/default and the stand-in for metrics-server; the kubeconfig of the operator's account."""

    def kubectl(*arguments: str, manifest: Any = None) -> bool:
        command = [str(cluster.kubectl), "--kubeconfig", str(cluster.kubeconfig), *arguments]
        text = None if manifest is None else json.dumps(manifest).encode()
        return subprocess.run(command, input=text, capture_output=True, check=False).returncode == 0

    for directory in ("crd", "testing", "default"):
        wait_for(lambda d=directory: kubectl("apply", "--server-side", "-k", str(ROOT / "config" / d)))  # type: ignore[misc]
    for resource in KINDS:
        wait_for(lambda r=resource: kubectl("get", r, "-A"))  # type: ignore[misc]
    relaxed = configuration_of(RELAXED)
    wait_for(lambda: kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", manifest=relaxed))
    path = tmp_path_factory.mktemp("operator") / "kubeconfig"
    made: Path = cluster.service_account_kubeconfig(*ACCOUNT, path)
    return made


@pytest.fixture
def space(cluster: Any, installed: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A namespace of its own."""
    words = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:45].strip("-")
    lab = Lab(cluster, f"{words}-{uuid.uuid4().hex[:6]}", installed, tmp_path)
    lab.kubectl("create", "namespace", lab.namespace)
    yield lab
    lab.kubectl("delete", "namespace", lab.namespace, "--wait=false", "--ignore-not-found")


@pytest.fixture
def lab(space: Lab) -> Lab:
    """With a Deployment `web` in it, three pods, ready."""
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    container = {"name": "web", "image": "registry.k8s.io/pause:3.10", "resources": resources}
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    space.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    space.settled()
    space.start_clock()
    return space


@pytest.fixture
def write_configuration(space: Lab) -> Iterator[Callable[[Any], None]]:
    """Write the operator's configuration, a text or what is added to RELAXED; what stood there comes back."""
    get = ("get", "configmap", "aitask-operator-config", "-n", ACCOUNT[0], "-o", "json")
    shipped = json.loads(space.kubectl(*get))["data"]

    def write(config: Any) -> None:
        manifest = configuration_of(config if isinstance(config, str) else {**RELAXED, **config})
        space.kubectl("apply", "--server-side", "--force-conflicts", "-n", ACCOUNT[0], "-f", "-", manifest=manifest)

    yield write
    write(shipped["config.yaml"])
