"""The overlays of config/, as `kubectl kustomize` renders them: what each changes of config/default, and no more."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster import binaries

CONFIG = Path(__file__).parents[2] / "config"
OVERLAYS = sorted(path.name for path in (CONFIG / "overlays").iterdir())
SYSTEM = "aitask-operator-system"
MANAGER = "aitask-operator-controller-manager"

Manifest = dict[str, Any]
Key = tuple[str, str, str]


@functools.cache
def kubectl() -> str:
    """Any version renders the same; a build of it is only waited for where there is none."""
    return shutil.which("kubectl") or str(binaries.resolve(["kubectl"], print)["kubectl"].path)


@functools.cache
def _text(directory: str) -> str:
    command = [kubectl(), "kustomize", str(CONFIG / directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(directory: str) -> dict[Key, Manifest]:
    """By kind, namespace and name."""
    found = [one for one in yaml.load_all(_text(directory), yaml.CSafeLoader) if one]
    keyed = {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in found}
    assert len(keyed) == len(found)
    return keyed


def changed(overlay: str) -> tuple[set[Key], set[Key], set[Key]]:
    """What comes to config/default, what goes, and what is there with another content."""
    before, after = rendered("default"), rendered(f"overlays/{overlay}")
    both = before.keys() & after.keys()
    return set(after - before.keys()), set(before - after.keys()), {key for key in both if before[key] != after[key]}


def manager(directory: str, namespace: str = SYSTEM) -> Manifest:
    spec: Manifest = rendered(directory)["Deployment", namespace, MANAGER]["spec"]
    return spec


def container(directory: str, namespace: str = SYSTEM) -> Manifest:
    [only] = manager(directory, namespace)["template"]["spec"]["containers"]
    return dict(only)


def environment(directory: str, namespace: str = SYSTEM) -> dict[str, Any]:
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container(directory, namespace)["env"]}


def labels_of_pods(directory: str) -> dict[str, str]:
    labels: dict[str, str] = manager(directory)["template"]["metadata"]["labels"]
    return labels


DEPLOYMENT: Key = ("Deployment", SYSTEM, MANAGER)
GUARD_READ = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["validatingadmissionpolicybindings"],
    "resourceNames": ["aitask-guard.aiops.example.com"],
    "verbs": ["get"],
}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_pod_keeps_to_the_restricted_profile(overlay: str) -> None:
    objects = rendered(f"overlays/{overlay}")
    [pod] = [one["spec"]["template"]["spec"] for key, one in objects.items() if key[0] == "Deployment"]
    for namespace in [one for key, one in objects.items() if key[0] == "Namespace"]:
        assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert pod["volumes"] == [{"emptyDir": {"sizeLimit": "1Gi"}, "name": "work"}]
    [only] = pod["containers"]
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert only["volumeMounts"] == [{"mountPath": "/tmp", "name": "work"}]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_make_deploy_can_put_its_image_in(overlay: str) -> None:
    [replaced] = re.findall(r"sed 's\|(image: \S+)\$\$\|image: \$\(IMG\)\|'", (CONFIG.parent / "Makefile").read_text())
    lines = _text(f"overlays/{overlay}").splitlines()
    assert [line.strip() for line in lines if "aitask-operator:" in line] == [replaced]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_binding_names_a_role_and_an_account_that_are_there(overlay: str) -> None:
    objects = rendered(f"overlays/{overlay}")
    for (kind, namespace, name), one in objects.items():
        if kind in ("RoleBinding", "ClusterRoleBinding"):
            role = one["roleRef"]
            place = "" if role["kind"] == "ClusterRole" else namespace
            assert (role["kind"], place, role["name"]) in objects, name
            for subject in one["subjects"]:
                assert ("ServiceAccount", subject["namespace"], subject["name"]) in objects, name


def test_metrics_are_for_those_whom_rbac_lets_read_them() -> None:
    come, gone, other = changed("metrics-rbac")
    prefix = "aitask-operator-metrics"
    assert come == {
        ("ClusterRole", "", f"{prefix}-auth-role"),
        ("ClusterRoleBinding", "", f"{prefix}-auth-rolebinding"),
        ("ClusterRole", "", f"{prefix}-reader"),
    }
    assert (gone, other) == (set(), {DEPLOYMENT})
    added = [one for one in container("overlays/metrics-rbac")["args"] if one not in container("default")["args"]]
    assert added == ["--metrics-secure", "--metrics-require-rbac"]


def test_prometheus_brings_what_it_scrapes_and_the_alerts() -> None:
    come, gone, other = changed("prometheus")
    name = "aitask-operator"
    assert come == {("ServiceMonitor", SYSTEM, name), ("PrometheusRule", SYSTEM, name)}
    assert (gone, other) == (set(), set())
    objects = rendered("overlays/prometheus")
    service = objects["Service", SYSTEM, f"{MANAGER}-metrics-service"]
    monitor = objects["ServiceMonitor", SYSTEM, name]["spec"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert [one["port"] for one in monitor["endpoints"]] == [one["name"] for one in service["spec"]["ports"]]


def test_the_network_policy_lets_metrics_in_and_nothing_else() -> None:
    come, gone, other = changed("network-policy")
    assert (come, gone, other) == ({("NetworkPolicy", SYSTEM, MANAGER)}, set(), set())
    policy = rendered("overlays/network-policy")["NetworkPolicy", SYSTEM, MANAGER]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= labels_of_pods("default").items()
    assert policy["policyTypes"] == ["Ingress"]
    [rule] = policy["ingress"]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}]
    assert [one["port"] for one in rule["ports"]] == ["metrics"]
    assert "metrics" in [one["name"] for one in container("default")["ports"]]


def test_two_replicas_have_an_election_and_a_budget() -> None:
    come, gone, other = changed("high-availability")
    assert (come, gone, other) == ({("PodDisruptionBudget", SYSTEM, MANAGER)}, set(), {DEPLOYMENT})
    spec, labels = manager("overlays/high-availability"), labels_of_pods("overlays/high-availability")
    budget = rendered("overlays/high-availability")["PodDisruptionBudget", SYSTEM, MANAGER]["spec"]
    assert (spec["replicas"], budget["maxUnavailable"]) == (2, 1)
    assert "--leader-elect" in container("overlays/high-availability")["args"]
    [spread] = spec["template"]["spec"]["topologySpreadConstraints"]
    for selector in (budget["selector"], spread["labelSelector"]):
        assert selector["matchLabels"].items() <= labels.items()
        assert len(selector["matchLabels"]) == 2


def test_the_metrics_service_selects_by_more_than_what_many_operators_have() -> None:
    service = rendered("default")["Service", SYSTEM, f"{MANAGER}-metrics-service"]
    selector = {"app.kubernetes.io/name": "aitask-operator", "control-plane": "controller-manager"}
    assert service["spec"]["selector"] == selector
    assert selector.items() <= labels_of_pods("default").items()


def test_one_watched_namespace_has_all_rights_but_two() -> None:
    directory = "overlays/single-namespace"
    come, gone, other = changed("single-namespace")
    moved = {f"aitask-operator-{name}-rolebinding" for name in ("manager", "templates", "backup")}
    cluster = "aitask-operator-cluster-role"
    rights = {("ClusterRole", "", cluster), ("ClusterRoleBinding", "", f"{cluster}binding")}
    assert come == {("RoleBinding", "aiops-demo", name) for name in moved} | rights
    assert gone == {("ClusterRoleBinding", "", name) for name in moved}
    assert other == {DEPLOYMENT}
    assert environment(directory)["WATCH_NAMESPACE"] == "aiops-demo"
    rules = rendered(directory)["ClusterRole", "", cluster]["rules"]
    assert rules == [GUARD_READ, {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]


def test_those_two_rights_are_the_ones_that_the_default_has_for_what_has_no_namespace() -> None:
    rules = rendered("default")["ClusterRole", "", "aitask-operator-manager-role"]["rules"]
    without = [one for one in rules if set(one["resources"]) & {"namespaces", "validatingadmissionpolicybindings"}]
    alone = rendered("overlays/single-namespace")["ClusterRole", "", "aitask-operator-cluster-role"]["rules"]
    assert sorted(without, key=str) == sorted(alone, key=str)


def test_a_namespaced_install_has_nothing_outside_of_its_namespace() -> None:
    objects = rendered("overlays/namespaced")
    assert {key[1] for key in objects} == {"aitask"}
    assert not [key for key in objects if key[0] == "Namespace" or key[0].startswith("Cluster")]
    assert environment("overlays/namespaced", "aitask")["WATCH_NAMESPACE"] == {
        "fieldRef": {"fieldPath": "metadata.namespace"}
    }


def test_a_namespaced_install_has_the_rights_of_the_default_as_roles() -> None:
    before, after = rendered("default"), rendered("overlays/namespaced")
    for (kind, _, name), one in before.items():
        if kind in ("ClusterRole", "Role") and not name.startswith("aitask-guard"):
            assert after["Role", "aitask", name]["rules"] == one["rules"]


def test_a_namespaced_install_is_configured_as_the_default_but_for_its_own_namespace() -> None:
    name = "aitask-operator-config"
    before = yaml.safe_load(rendered("default")["ConfigMap", SYSTEM, name]["data"]["config.yaml"])
    after = yaml.safe_load(rendered("overlays/namespaced")["ConfigMap", "aitask", name]["data"]["config.yaml"])
    assert after == {**before, "excludedNamespaces": []}


def test_what_an_administrator_adds_to_a_namespaced_install_is_all_that_it_lacks() -> None:
    cluster, before = rendered("overlays/namespaced/cluster"), rendered("default")
    without_roles = {
        key for key in before if not key[1] and key[0] not in ("ClusterRole", "ClusterRoleBinding", "Namespace")
    }
    assert without_roles <= cluster.keys()
    [binding] = [one for key, one in cluster.items() if key[0] == "ClusterRoleBinding"]
    [subject] = binding["subjects"]
    assert ("ServiceAccount", subject["namespace"], subject["name"]) in rendered("overlays/namespaced")
    assert subject["namespace"] in binding["metadata"]["name"]  # a second install has one of its own
    assert not [key for key in cluster if key[0] == "Namespace"]


def test_production_is_all_of_them_at_once() -> None:
    parts = [changed(one)[0] for one in ("metrics-rbac", "prometheus", "network-policy", "high-availability")]
    come, gone, _ = changed("production")
    assert (come, gone) == (set().union(*parts), set())
    [endpoint] = rendered("overlays/production")["ServiceMonitor", SYSTEM, "aitask-operator"]["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
