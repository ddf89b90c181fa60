"""Each overlay of config/, as a real API server judges it: nothing is left of it afterwards."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.roles.aitask_lab import ROOT, Lab, wait_for

pytestmark = pytest.mark.apiserver

OVERLAYS = sorted(path.name for path in (ROOT / "config" / "overlays").iterdir())
GROUP = "monitoring.coreos.com"
KINDS = {"servicemonitors": "ServiceMonitor", "prometheusrules": "PrometheusRule"}


def any_kind(plural: str, kind: str) -> dict[str, Any]:
    """The definition of a kind of the Prometheus operator, without its schema."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.fixture
def prometheus_kinds(space: Lab) -> Iterator[None]:
    for plural, kind in KINDS.items():
        space.kubectl("apply", "--server-side", "-f", "-", manifest=any_kind(plural, kind))
    for plural in KINDS:
        wait_for(lambda name=f"{plural}.{GROUP}": served(space, name))  # type: ignore[misc]
    yield
    for plural in KINDS:
        space.kubectl("delete", "crd", f"{plural}.{GROUP}", "--wait=false")


def served(space: Lab, resource: str) -> bool:
    return "No resources found" in space.kubectl("get", resource, "-A", check=False)


@pytest.fixture(scope="module")
def overlays(cluster: Any) -> dict[str, list[dict[str, Any]]]:
    """What each renders, without the CRDs: they are those of config/default, and installed."""
    return {name: rendered(cluster, name) for name in OVERLAYS}


def rendered(cluster: Any, overlay: str) -> list[dict[str, Any]]:
    command = [str(cluster.kubectl), "kustomize", str(ROOT / "config" / "overlays" / overlay)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one and one["kind"] != "CustomResourceDefinition"]


def test_each_overlay_is_accepted(
    space: Lab, prometheus_kinds: None, overlays: dict[str, list[dict[str, Any]]]
) -> None:
    """In a namespace of the test where it is not the one of config/default: a dry run makes no namespace."""
    for overlay, wanted in overlays.items():
        moved = [moved_to(space.namespace, one) for one in wanted if one["kind"] != "Namespace"]
        said = dry_run(space, moved).splitlines()
        assert len(said) == len(moved), (overlay, said)
        assert all(line.endswith("serverside-applied (server dry run)") for line in said), (overlay, said)


def moved_to(namespace: str, manifest: dict[str, Any]) -> dict[str, Any]:
    found = copy.deepcopy(manifest)
    if "namespace" in found["metadata"]:
        found["metadata"]["namespace"] = namespace
    return found


def dry_run(space: Lab, manifests: list[dict[str, Any]]) -> str:
    listed = {"apiVersion": "v1", "kind": "List", "items": manifests}
    options = ("--server-side", "--dry-run=server", "--force-conflicts")
    return space.kubectl("apply", *options, "-f", "-", manifest=listed, check=False)


def test_the_pod_of_each_overlay_is_let_into_a_restricted_namespace(
    space: Lab, overlays: dict[str, list[dict[str, Any]]]
) -> None:
    space.kubectl("label", "namespace", space.namespace, "pod-security.kubernetes.io/enforce=restricted")
    wait_for(lambda: "default" in space.kubectl("get", "serviceaccounts", "-o", "name"))
    pods = [pod_of(one, name) for name, all_ in overlays.items() for one in all_ if one["kind"] == "Deployment"]
    assert len(pods) == len(OVERLAYS)
    greedy = copy.deepcopy(pods[0])
    greedy["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    assert dry_run(space, pods).count("serverside-applied (server dry run)") == len(pods)
    assert "violates PodSecurity" in dry_run(space, [greedy])


def pod_of(deployment: dict[str, Any], name: str) -> dict[str, Any]:
    template = copy.deepcopy(deployment["spec"]["template"])
    del template["spec"]["serviceAccountName"]  # that of the install is not in this namespace
    metadata = {**template["metadata"], "name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
