"""The chart as Helm renders it: what each value changes, that its objects are those of config/, and what it refuses."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart.manifests import ROOT
from chart.manifests import rendered as kustomized
from tests.chart.rows import ABSENT, BAD, CONFIG, ROWS, WATCHED, Row, nested
from tests.support.helm import CHART, Key, Manifest, rendered, template

pytestmark = pytest.mark.helm

HELM_LABELS = {
    *(f"app.kubernetes.io/{name}" for name in ("name", "part-of", "managed-by", "instance", "version")),
    "helm.sh/chart",
}
SYSTEM = "aitask-operator-system"
AS_DEPLOYED = {"image.tag": "latest"}
MONITORED = {"metrics.serviceMonitor.enabled": True, "metrics.rules.enabled": True}
PRODUCTION = {**MONITORED, "metrics.requireRBAC": True, "networkPolicy.enabled": True, "replicas": 2}
BY_ADMINISTRATOR = {"crds.install": False, "guard.install": False, "rbac.clusterRights": "none"}

SAME: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "default": (SYSTEM, {}, ("default",)),
    "metrics-rbac": (SYSTEM, {"metrics.requireRBAC": True}, ("overlays/metrics-rbac",)),
    "prometheus": (SYSTEM, MONITORED, ("overlays/prometheus",)),
    "network-policy": (SYSTEM, {"networkPolicy.enabled": True}, ("overlays/network-policy",)),
    "high-availability": (SYSTEM, {"replicas": 2}, ("overlays/high-availability",)),
    "production": (SYSTEM, PRODUCTION, ("overlays/production",)),
    "single-namespace": (SYSTEM, {**WATCHED, "watchNamespace": "aiops-demo"}, ("overlays/single-namespace",)),
    "namespaced": (
        "aitask",
        {"scope": "namespaced"},
        ("overlays/namespaced", "overlays/namespaced/cluster"),
    ),
    "namespaced, the rest by an administrator": (
        "aitask",
        {"scope": "namespaced", **BY_ADMINISTRATOR},
        ("overlays/namespaced",),
    ),
}
"""What is installed, by the chart (namespace, values) and by kustomize (directories of config/)."""

_KEPT: dict[str, dict[Key, Manifest]] = {}


def objects(helm: Path, settings: Mapping[str, Any], namespace: str = "release-ns") -> dict[Key, Manifest]:
    """Rendered once each; the configuration, which is a text, can be looked into as `config`."""
    name = f"{namespace} {sorted(settings.items())}"
    if name not in _KEPT:
        _KEPT[name] = rendered(helm, nested(dict(settings)), namespace)
        config = _KEPT[name][CONFIG]
        config["config"] = yaml.safe_load(config["data"]["config.yaml"])
    return _KEPT[name]


def at(found: Mapping[Key, Manifest], key: Key, path: str) -> Any:
    """What stands there; names with dots are no part of any path. ABSENT where there is nothing."""
    value: Any = found.get(key, ABSENT)
    for name in path.split(".") if path else ():
        if value is ABSENT:
            break
        if isinstance(value, list):
            value = value[int(name)] if int(name) < len(value) else ABSENT
        else:
            value = value.get(name, ABSENT)
    return value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.path}-{row.field[-30:]}")
def test_a_value_changes(helm: Path, row: Row) -> None:
    beside = dict(row.beside)
    if row.path == "watchNamespace":  # not valid without
        before = at(objects(helm, {**beside, row.path: "other"}), row.where, row.field)
    else:
        before = at(objects(helm, beside), row.where, row.field)
    after = at(objects(helm, {**beside, row.path: row.value}), row.where, row.field)
    assert before != row.found
    assert after is ABSENT if row.found is ABSENT else after == row.found


@pytest.mark.parametrize(("settings", "word"), BAD, ids=lambda one: str(one)[:60])
def test_a_bad_value_is_refused_by_its_name(helm: Path, settings: dict[str, Any], word: str) -> None:
    done = template(helm, nested(settings))
    assert done.returncode != 0
    assert word in done.stderr
    assert "values don't meet the specifications of the schema" in done.stderr


@pytest.mark.parametrize("case", SAME)
def test_the_objects_are_those_of_kustomize(helm: Path, case: str) -> None:
    namespace, settings, directories = SAME[case]
    chart = {key: _bare(one) for key, one in objects(helm, {**AS_DEPLOYED, **settings}, namespace).items()}
    wanted: dict[Key, Manifest] = {}
    for directory in directories:
        wanted |= {key: _bare(one) for key, one in kustomized(ROOT / "config" / directory).items()}
    wanted = {key: one for key, one in wanted.items() if key[0] != "Namespace"}
    assert chart.keys() == wanted.keys()
    for key, one in wanted.items():
        assert chart[key] == one, key


def documented(beginning: str) -> tuple[list[str], dict[str, Any]]:
    """Of the command of docs/chart.md for scope namespaced: what it shows only, and what it sets."""
    text = (ROOT / "docs" / "chart.md").read_text().replace("\\\n", " ")
    [command] = re.findall(rf"^ *({beginning} .*scope=namespaced.*)$", text, re.MULTILINE)
    sets = dict(one.split("=") for one in re.findall(r"--set (\S+)", command))
    return re.findall(r"--show-only templates/(\S+)\.yaml", command), {
        name: yaml.safe_load(value) for name, value in sets.items()
    }


@pytest.mark.parametrize("secured", [False, True])
def test_an_administrator_and_the_owner_of_a_namespace_install_it_together(helm: Path, secured: bool) -> None:
    """As docs/chart.md has it: between them all of the release, and the owner no more than the built-in role `admin`
    may make (Kubernetes' bootstrap policy; it has no right that the operator's Roles could pass on)."""
    more = {"metrics.requireRBAC": secured, "networkPolicy.enabled": True, "replicas": 2}
    only, sets = documented("helm template")
    only += ["rbac-metrics"] if secured else []
    administrators = rendered(helm, nested({**more, **sets}), "aitask", only=only)
    _, sets = documented("helm install")
    owners = rendered(helm, nested({**more, **sets}), "aitask")
    sets = {"scope": "namespaced", "image.repository": sets["image.repository"]}
    assert {**administrators, **owners} == rendered(helm, nested({**more, **sets}), "aitask")
    assert not administrators.keys() & owners.keys()
    workload = {"Deployment", "ConfigMap", "Service", "ServiceAccount", "NetworkPolicy", "PodDisruptionBudget"}
    assert {kind for kind, _ in owners} == workload
    assert {one["metadata"]["namespace"] for one in owners.values()} == {"aitask"}


def test_what_is_of_no_namespace_is_that_of_kustomize(helm: Path) -> None:
    """With scope namespaced: config/overlays/namespaced/cluster."""
    only = ("crds", "guard", "rbac-cluster")
    chart = rendered(helm, {"scope": "namespaced", "crds": {"keep": False}}, "aitask", only=only)
    wanted = kustomized(ROOT / "config" / "overlays" / "namespaced" / "cluster")
    assert {key: _bare(one) for key, one in chart.items()} == {key: _bare(one) for key, one in wanted.items()}


def test_two_namespaced_releases_share_no_object(helm: Path) -> None:
    """Helm refuses a release whose object is another one's; the second one binds what the first one made."""
    several = {"scope": "namespaced", "metrics.requireRBAC": True}
    second = {**several, "crds.install": False, "guard.install": False, "rbac.clusterRights": "bind"}

    def in_cluster(found: Mapping[Key, Manifest]) -> set[Key]:
        return {key for key, one in found.items() if "namespace" not in one["metadata"]}

    one, other = in_cluster(objects(helm, several, "shop")), in_cluster(objects(helm, second, "bank"))
    assert other == {
        ("ClusterRoleBinding", f"aitask-operator-bank-{name}-rolebinding") for name in ("cluster", "metrics-auth")
    }
    assert not one & other


def test_without_cluster_rights_a_namespaced_release_is_of_its_namespace_alone(helm: Path) -> None:
    found = objects(helm, {"scope": "namespaced", "metrics.requireRBAC": True, **BY_ADMINISTRATOR}, "shop")
    assert {one["metadata"].get("namespace") for one in found.values()} == {"shop"}


def _bare(manifest: Manifest) -> Manifest:
    """Without Helm's labels, what keeps CRDs, and how the configuration is written."""
    found = copy.deepcopy(manifest)
    found.pop("config", None)
    for metadata in (found["metadata"], found.get("spec", {}).get("template", {}).get("metadata", {})):
        labels = {name: text for name, text in metadata.pop("labels", {}).items() if name not in HELM_LABELS}
        metadata.update({"labels": labels} if labels else {})
    if found["kind"] == "CustomResourceDefinition":
        found["metadata"].pop("annotations", None)
    if (found["kind"], found["metadata"]["name"]) == CONFIG:
        config = yaml.safe_load(found["data"]["config.yaml"])
        found["data"] = {"config.yaml": {name: one for name, one in config.items() if one != {}}}
    return found


def test_kustomize_labels_stay_but_for_who_manages(helm: Path) -> None:
    """What selects these objects, and the pods, selects them still."""
    chart = objects(helm, AS_DEPLOYED, SYSTEM)
    for key, one in kustomized(ROOT / "config" / "default").items():
        if key[0] != "Namespace":
            labels = {**one["metadata"].get("labels", {}), "app.kubernetes.io/managed-by": "Helm"}
            assert labels.items() <= chart[key]["metadata"]["labels"].items(), key


def test_definitions_stay_when_the_release_goes(helm: Path) -> None:
    definitions = [one for key, one in objects(helm, {}).items() if key[0] == "CustomResourceDefinition"]
    assert len(definitions) == 3
    assert all(one["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"} for one in definitions)


@pytest.mark.parametrize("case", SAME)
def test_lint(helm: Path, case: str, tmp_path: Path) -> None:
    namespace, settings, _ = SAME[case]
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(nested(settings)))
    command = [helm, "lint", "--strict", CHART, "-n", namespace, "-f", values]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, ["watches all namespaces", "set image.repository", "keeps the CRDs and so every AITask"]),
        ({"scope": "namespaced"}, ["watches namespace release-ns"]),
        ({**WATCHED, "config.mode": "Off"}, ["watches namespace shop", "Its mode is Off"]),
        ({"crds.keep": False}, ["EVERY AITask", "set crds.keep=true by an upgrade of its own"]),
        ({"crds.install": False, "guard.install": False}, ["GuardAbsent", "leaves the CRDs"]),
    ],
    ids=str,
)
def test_the_notes_say(helm: Path, settings: dict[str, Any], words: list[str], tmp_path: Path) -> None:
    """Without a cluster Helm does not show them: here they stand in an object."""
    chart = shutil.copytree(CHART, tmp_path / "chart")
    text = (chart / "templates" / "NOTES.txt").read_text()
    (chart / "templates" / "_notes.tpl").write_text(f'{{{{ define "notes" }}}}{text}{{{{ end }}}}')
    told = 'kind: Notes\nmetadata: {name: notes}\ntext: {{ include "notes" . | toJson }}\n'
    (chart / "templates" / "notes.yaml").write_text(told)
    notes = rendered(helm, nested(settings), chart=chart)["Notes", "notes"]["text"]
    assert all(word in notes for word in words), notes
