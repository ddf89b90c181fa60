"""examples/helm-hybrid, played with exactly the rights that it asks for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ansible_operator.config.watches import load_watches
from ansible_operator.model.errors import ConfigError
from localcluster import Cluster
from tests.support.api import Api, Object, conditions, failed, succeeded_at_generation
from tests.support.charts import records
from tests.support.kinds import CONFIG_MAP, DEPLOYMENT, Kind
from tests.support.operator import REPOSITORY, Start
from tests.support.project import Project
from tests.support.waiting import until

EXAMPLE = REPOSITORY / "examples/helm-hybrid"
SHOP = Kind("hybrid.example.com/v1", "Shop", "shops")
SALE = Kind("hybrid.example.com/v1", "Sale", "sales")
LONG = 600.0


def test_a_chart_that_is_not_there_is_told_at_start(tmp_path: Path) -> None:
    example = shutil.copytree(EXAMPLE, tmp_path / "example")
    shutil.rmtree(example / "charts")
    (example / "helm").touch(mode=0o755)
    with pytest.raises(ConfigError, match=r"chart: no chart in .*/charts/shop; give a directory with a Chart\.yaml"):
        load_watches(example / "watches.yaml", {"PATH": str(example)}, example)


@pytest.fixture
def robot(cluster: Cluster, api: Api, tmp_path: Path) -> Path:
    """The kubeconfig of the example's ServiceAccount, with the example's CRDs and RBAC in place."""
    files = [f"--filename={EXAMPLE / 'config' / name}.yaml" for name in ("crd", "rbac")]
    kubectl = [cluster.kubectl, "--kubeconfig", cluster.kubeconfig]
    subprocess.run([*kubectl, "apply", "--server-side", *files], check=True, capture_output=True)
    for kind in (SHOP, SALE):
        until(lambda kind=kind: api.serves(kind), f"{kind.kind} is served", LONG)
    return cluster.service_account_kubeconfig("hybrid-system", "hybrid-operator", tmp_path / "robot.kubeconfig")


def released(api: Api, namespace: str, revision: int) -> Object:
    def there(obj: Object) -> bool:
        release = (obj.get("status") or {}).get("deployedRelease") or {}
        return release.get("revision") == revision and succeeded_at_generation(obj)

    return api.wait(SHOP, "corner", namespace, there, seconds=LONG)


@pytest.mark.apiserver
@pytest.mark.helm
def test_the_example_with_its_own_rights(
    api: Api, namespace: str, project: Project, cluster: Cluster, helm: Path, robot: Path, start: Start
) -> None:
    shutil.copytree(EXAMPLE, project.directory, dirs_exist_ok=True)
    path = os.pathsep.join([str(helm.parent), str(cluster.kubectl.parent), os.environ["PATH"]])
    start(kubeconfig=robot, PATH=path)
    shop, sale = yaml.safe_load_all((EXAMPLE / "config/sample.yaml").read_text())
    for kind, obj in ((SHOP, shop), (SALE, sale)):
        obj["metadata"]["namespace"] = namespace
        api.create(kind, obj)

    # Both are made, each its own way.
    notes = released(api, namespace, 1)["status"]["deployedRelease"]["notes"]
    assert notes == "The shop corner says Hello, 2 times."
    api.wait(SALE, "summer", namespace, succeeded_at_generation, seconds=LONG)
    assert (api.get(CONFIG_MAP, "corner-sale", namespace) or {})["data"] == {"banner": "20 % off"}

    # Drift, of what the chart has made and of what the role has made.
    for kind, name in ((DEPLOYMENT, "corner"), (CONFIG_MAP, "corner-sale")):
        before = api.get(kind, name, namespace)
        assert before is not None
        api.delete(kind, name, namespace)
        until(lambda kind=kind, name=name: api.get(kind, name, namespace), f"{kind.kind} {name} is there again", LONG)

    # An upgrade that the chart refuses, and one that it does not.
    api.patch(SHOP, "corner", namespace, {"spec": {"replicas": 99}})
    refused = api.wait(SHOP, "corner", namespace, failed, seconds=LONG)
    message = conditions(refused)["Failure"]["message"]
    assert message.startswith("release corner: upgrade failed: ")
    assert "replicas" in message
    assert message.endswith("; correct the spec of the object")
    api.patch(SHOP, "corner", namespace, {"spec": {"replicas": 3, "image": {"repository": "example.com/evil"}}})
    released(api, namespace, 2)
    deployment = api.get(DEPLOYMENT, "corner", namespace)
    assert deployment is not None
    assert deployment["spec"]["replicas"] == 3
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "example.com/shop:1.0"

    api.delete(SHOP, "corner", namespace)
    api.wait_gone(SHOP, "corner", namespace, LONG)
    assert records(api, namespace, "corner") == []
    assert api.get(CONFIG_MAP, "corner", namespace) is None
