"""The cluster itself, with real processes: what its users rely on."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster import Cluster, ClusterError, StartError
from localcluster.pins import kubernetes_version
from tests.support.audit_log import entries

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]


class Kubectl:
    def __init__(self, cluster: Cluster, kubeconfig: Path | None = None) -> None:
        self._command = [str(cluster.kubectl), "--kubeconfig", str(kubeconfig or cluster.kubeconfig)]

    def try_to(self, *arguments: str, manifest: dict[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
        text = None if manifest is None else json.dumps(manifest)
        command = [*self._command, *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=180)

    def __call__(self, *arguments: str, manifest: dict[str, Any] | None = None) -> str:
        result = self.try_to(*arguments, manifest=manifest)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def get(self, *arguments: str) -> Any:
        return json.loads(self("get", "-o", "json", *arguments))


def eventually(holds: Callable[[], Any], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.1)


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster)


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[str]:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[-50:].strip("-")
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


def deployment(namespace: str, replicas: int = 2) -> dict[str, Any]:
    container = {"name": "main", "image": "example.com/main:1", "env": [{"name": "TOKEN", "value": "x"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
        },
    }


def test_server_and_kubectl_report_versions_that_fit(kubectl: Kubectl) -> None:
    version = json.loads(kubectl("version", "-o", "json"))
    assert version["serverVersion"]["gitVersion"] == kubernetes_version()
    assert abs(int(version["clientVersion"]["minor"].rstrip("+")) - int(version["serverVersion"]["minor"])) <= 1


def test_a_deployment_becomes_available_scales_and_rolls(kubectl: Kubectl, namespace: str) -> None:
    def pods() -> set[str]:
        return {pod["metadata"]["name"] for pod in kubectl.get("pods", "-n", namespace)["items"]}

    kubectl("apply", "-f", "-", manifest=deployment(namespace))
    kubectl("rollout", "status", "deployment/web", "-n", namespace, "--timeout=120s")
    assert kubectl.get("deployment", "web", "-n", namespace)["status"]["availableReplicas"] == 2
    kubectl("scale", "deployment/web", "-n", namespace, "--replicas=5")
    kubectl("rollout", "status", "deployment/web", "-n", namespace, "--timeout=120s")
    assert len(pods()) == 5
    kubectl("scale", "deployment/web", "-n", namespace, "--replicas=1")
    eventually(lambda: len(pods()) == 1)
    before = pods()
    kubectl("rollout", "restart", "deployment/web", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace, "--timeout=120s")
    eventually(lambda: len(pods()) == 1)
    assert not pods() & before


def test_deleting_a_deployment_takes_its_pods_and_a_pod_goes_without_waiting(kubectl: Kubectl, namespace: str) -> None:
    kubectl("apply", "-f", "-", manifest=deployment(namespace))
    kubectl("rollout", "status", "deployment/web", "-n", namespace, "--timeout=120s")
    first = kubectl.get("pods", "-n", namespace)["items"][0]["metadata"]["name"]
    kubectl("delete", "pod", first, "-n", namespace, "--timeout=120s")
    kubectl("delete", "deployment", "web", "-n", namespace, "--timeout=120s")
    eventually(lambda: not kubectl.get("pods", "-n", namespace)["items"])


def test_a_job_completes(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "job", "once", "--image=example.com/main:1", "-n", namespace)
    kubectl("wait", "--for=condition=Complete", "job/once", "-n", namespace, "--timeout=120s")


def test_a_service_account_may_what_its_role_says_and_nothing_else(
    cluster: Cluster, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    kubectl("create", "serviceaccount", "robot", "-n", namespace)
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods", "-n", namespace)
    kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={namespace}:robot", "-n", namespace)
    robot = Kubectl(cluster, cluster.service_account_kubeconfig(namespace, "robot", tmp_path / "robot"))
    assert f"system:serviceaccount:{namespace}:robot" in robot("auth", "whoami")
    robot("get", "pods")  # the namespace comes from the kubeconfig
    refused = robot.try_to("get", "secrets")
    assert refused.returncode != 0
    assert "Forbidden" in refused.stderr


def test_a_token_is_renewed_under_an_unchanged_kubeconfig(
    cluster: Cluster, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    kubectl("create", "serviceaccount", "robot", "-n", namespace)
    path = cluster.service_account_kubeconfig(namespace, "robot", tmp_path / "robot")
    config, token = path.read_text(), tmp_path / "robot.token"
    old = token.read_text()
    assert cluster.refresh_token(namespace, "robot", path, expiration_seconds=1200) == token
    assert path.read_text() == config
    assert token.read_text() != old
    assert old not in config
    assert {stat.S_IMODE(file.stat().st_mode) for file in (path, token)} == {0o600}
    Kubectl(cluster, path)("auth", "whoami")


def test_a_missing_service_account_is_named(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no ServiceAccount nobody in namespace default"):
        cluster.service_account_kubeconfig("default", "nobody", tmp_path / "nobody")


def audit_lines(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    lines = entries(cluster.audit_log, containing=namespace)
    return [line for line in lines if line.get("objectRef", {}).get("namespace") == namespace]


def test_the_audit_log_says_who_wrote_what_and_never_a_secret(
    cluster: Cluster, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("create", "secret", "generic", "hidden", "--from-literal=password=hunter2", "-n", namespace)
    kubectl("apply", "-f", "-", manifest=deployment(namespace, replicas=0))
    writes = {
        line["objectRef"]["resource"]: line
        for line in audit_lines(cluster, namespace)
        if line["verb"] == "create" and line["user"]["username"] == "localcluster-admin"
    }
    assert writes["deployments"]["requestObject"]["spec"]["replicas"] == 0
    assert writes["deployments"]["responseStatus"]["code"] == 201
    assert writes["secrets"]["level"] == "Metadata"
    assert "hunter2" not in cluster.audit_log.read_text()
    assert "aHVudGVyMg" not in cluster.audit_log.read_text()  # the same in base64


def test_controllers_act_under_their_own_names(cluster: Cluster, kubectl: Kubectl, namespace: str) -> None:
    kubectl("apply", "-f", "-", manifest=deployment(namespace, replicas=1))
    kubectl("rollout", "status", "deployment/web", "-n", namespace, "--timeout=120s")
    users = {line["user"]["username"] for line in audit_lines(cluster, namespace) if line["verb"] == "create"}
    assert "system:serviceaccount:kube-system:deployment-controller" in users


def test_a_kubeconfig_is_private_and_names_its_authority_by_file(cluster: Cluster) -> None:
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    assert stat.S_IMODE(cluster.kubeconfig.stat().st_mode) == 0o600
    assert config["clusters"][0]["cluster"] == {
        "server": cluster.server,
        "certificate-authority": str(cluster.ca_file),
    }


def test_a_second_start_in_the_same_directory_is_refused(cluster: Cluster) -> None:
    with pytest.raises(StartError, match="already running"):
        Cluster.start(cluster.directory, progress=lambda text: None)
    assert Cluster.attach(cluster.directory).server == cluster.server


def test_nothing_of_the_cluster_listens_beyond_loopback(cluster: Cluster) -> None:
    state = json.loads((cluster.directory / "state.json").read_text())
    ports = {port for component in state["components"] for port in component["ports"]}
    # Addresses of listening sockets (state 0A) in the kernel's byte order; all IPv6 ones would be wrong.
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    listening = [row[1].split(":") for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) in ports]
    assert {int(port, 16) for _, port in listening} == ports
    assert {address for address, _ in listening} == {"0100007F"}
