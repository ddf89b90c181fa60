"""examples/website, with exactly the rights that it asks for, by the commands of the tutorial that explains it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from localcluster import Cluster
from tests.support import rights
from tests.support.api import Api
from tests.support.audit_log import entries
from tests.support.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE_ACCOUNT, Kind
from tests.support.operator import REPOSITORY, Start
from tests.support.project import Project
from tests.support.typist import Typist
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

EXAMPLE = REPOSITORY / "examples/website"
WEBSITE = Kind("sites.example.com/v1", "Website", "websites")
ACCOUNT = ("website-system", "website-operator")
PAGE = "docs/tutorial.md"


@pytest.fixture
def typist(cluster: Cluster, namespace: str, tmp_path: Path) -> Typist:
    """In the example's directory, as an administrator, with the test's namespace for the default one."""
    kubeconfig = shutil.copy(cluster.kubeconfig, tmp_path / "kubeconfig")
    kubectl = [cluster.kubectl, "--kubeconfig", kubeconfig]
    subprocess.run([*kubectl, "config", "set-context", "--current", f"--namespace={namespace}"], check=True)
    path = os.pathsep.join([str(cluster.kubectl.parent), os.environ["PATH"]])
    return Typist(PAGE, EXAMPLE, {"KUBECONFIG": str(kubeconfig), "PATH": path}, names={"default": namespace})


def test_the_tutorial_is_true(
    api: Api, namespace: str, project: Project, cluster: Cluster, typist: Typist, start: Start, tmp_path: Path
) -> None:
    begun = cluster.audit_log.stat().st_size
    for beginning in ("make venv collections cluster-up", "export KUBECONFIG", "cd examples/website"):  # the fixtures'
        typist.skip(beginning)
    typist.type("kubectl apply --server-side -f config/crd.yaml -f config/rbac.yaml")
    until(lambda: api.serves(WEBSITE), "Website is served")
    typist.skip("PYTHONPATH=../../tools python -m localcluster sa-kubeconfig website-system website-operator")
    robot = cluster.service_account_kubeconfig(*ACCOUNT, tmp_path / "robot.kubeconfig")
    shutil.copytree(EXAMPLE, project.directory, dirs_exist_ok=True)
    typist.skip("KUBECONFIG=/tmp/website.kubeconfig ANSIBLE_GATHERING=explicit ansible-operator run")
    operator = start(kubeconfig=robot)

    address = f"http://hello.{namespace}.svc"
    assert typist.upto("kubectl get websites").split()[4:7] == ["hello", "2/2", address]
    assert "{{ this is no template }}" in json.loads(typist.type("kubectl get configmap/hello"))["index.html"]
    assert json.loads(typist.type("kubectl -n website-system get configmap")) == {f"{namespace}.hello": address}

    typist.upto("kubectl wait deployment/hello --for=jsonpath='{.spec.replicas}'=2")
    before = api.get(DEPLOYMENT, "hello", namespace)
    typist.upto("kubectl wait website/hello --for=jsonpath='{.status.ready}'=3/3")
    assert "spec.pages: Invalid value: pages needs an index.html" in typist.type("kubectl patch website", status=1)
    other_pages_make_other_pods(api, namespace, before or {})

    typist.upto("kubectl wait website/hello --for=condition=Failure")
    message = typist.type("kubectl get website hello -o jsonpath=")
    assert "there is no ConfigMap website-system/website-directory; apply config/rbac.yaml" in message
    typist.upto("kubectl wait website/hello --for=condition=Failure=False")

    typist.upto("kubectl wait deployment/hello --for=delete")
    assert typist.type("kubectl -n website-system get configmap website-directory") in ("", "{}")
    until(lambda: api.get(CONFIG_MAP, "hello", namespace) is None, "its ConfigMap is gone")

    # What is left needs a registry and a node that runs pods.
    for beginning in ("make docker-build", "docker build", "docker push", "kubectl apply --server-side", "sed "):
        typist.skip(beginning)
    typist.done()
    operator.stop()  # a watch has its line in the audit log when it has ended
    exactly_the_rights_were_used(cluster, begun)


def other_pages_make_other_pods(api: Api, namespace: str, before: dict[str, object]) -> None:
    def digest(deployment: dict[str, object]) -> object:
        return deployment["spec"]["template"]["metadata"]["annotations"]  # type: ignore[index]

    api.patch(WEBSITE, "hello", namespace, {"spec": {"pages": {"aboutUs.html": "us"}}})
    api.wait(DEPLOYMENT, "hello", namespace, lambda found: digest(found) != digest(before))
    assert set((api.get(CONFIG_MAP, "hello", namespace) or {})["data"]) == {"index.html", "aboutUs.html"}


def exactly_the_rights_were_used(cluster: Cluster, begun: int) -> None:
    """By the audit log: nothing was refused, and no right was left unused. (Nothing here elects a leader.)"""
    user = "system:serviceaccount:" + ":".join(ACCOUNT)
    asked = [
        entry
        for entry in entries(cluster.audit_log, begun, containing=user)
        if entry["user"]["username"] == user and entry.get("objectRef")
    ]
    assert rights.refused(asked) == []
    manifests = list(yaml.safe_load_all((EXAMPLE / "config/rbac.yaml").read_text()))
    given = rights.granted(manifests, [("ClusterRole", "website-operator")])
    assert sorted(given - rights.used(asked, given)) == []


def test_the_server_takes_the_operators_deployment(cluster: Cluster, api: Api) -> None:
    apply = ["apply", "--server-side", "--filename", str(EXAMPLE / "config/rbac.yaml")]
    kubectl = [cluster.kubectl, "--kubeconfig", cluster.kubeconfig]
    subprocess.run([*kubectl, *apply], check=True)
    manifest = str(EXAMPLE / "config/operator.yaml")
    subprocess.run([*kubectl, "apply", "--server-side", "--dry-run=server", "-f", manifest], check=True)
    assert api.get(SERVICE_ACCOUNT, ACCOUNT[1], ACCOUNT[0])
