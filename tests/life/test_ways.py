"""Install, upgrade, roll back, uninstall: by the chart and by kustomize, with one smoke suite after each step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

from tests.behaviour.scene import AITASK
from tests.life.site import MANAGER, SYSTEM, Site, task
from tests.roles.aitask_lab import ROOT
from tests.support.helm import CHART, NAME
from tests.support.kinds import CONFIG_MAP, CRD, DEPLOYMENT
from tests.support.released import released_tree
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.helm, pytest.mark.slow]

AITASKS = "aitasks.aiops.example.com"
CRDS = tuple(f"{plural}.aiops.example.com" for plural in ("aitasks", "aitaskbackups", "aitaskrestores"))
# What Kubernetes and the operator make in the namespace, and the namespace itself: no release has them.
OF_THE_NAMESPACE = (
    f"Namespace//{SYSTEM}",
    f"ConfigMap/{SYSTEM}/kube-root-ca.crt",
    f"ServiceAccount/{SYSTEM}/default",
    f"Lease/{SYSTEM}/{NAME}",
)


class Way(Protocol):
    """How the operator is installed; each step ends when the cluster has it."""

    def install(self) -> None: ...
    def upgrade(self) -> None:
        """To a version whose CRD has one more short name, `tk`."""

    def roll_back(self) -> None: ...
    def uninstall(self) -> None: ...


class Kustomize:
    """`kubectl apply` and `kubectl delete`, as `make deploy` and `make undeploy` do it."""

    def __init__(self, site: Site, directory: Path) -> None:
        self._site = site
        self._now, self._next = ROOT / "config", shutil.copytree(ROOT / "config", directory / "config")
        replace(self._next / "crd/bases/aiops.example.com_aitasks.yaml", "[at, ait]", "[at, ait, tk]")

    def install(self) -> None:
        self._apply(self._now)

    def upgrade(self) -> None:
        self._apply(self._next)

    def roll_back(self) -> None:
        self._apply(self._now)

    def uninstall(self) -> None:
        self._site.kubectl("delete", "-k", str(self._now / "default"), "--timeout=240s")

    def _apply(self, config: Path) -> None:
        self._site.apply(self._site.kubectl("kustomize", str(config / "default")))


class Chart:
    """Helm."""

    def __init__(self, site: Site, directory: Path, program: Path) -> None:
        self._site, self._program, self._home = site, program, directory / "helm-home"
        self._next = shutil.copytree(CHART, directory / "chart")
        replace(self._next / "templates/crds.yaml", "    - ait\n", "    - ait\n    - tk\n")
        about = yaml.safe_load((CHART / "Chart.yaml").read_text())
        (self._next / "Chart.yaml").write_text(yaml.safe_dump({**about, "version": "99.0.0"}))

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HELM_")}
        environment = {**inherited, "HOME": str(self._home), "KUBECONFIG": str(self._site.cluster.kubeconfig)}
        command = [str(self._program), *arguments, "--namespace", SYSTEM]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)

    def do(self, *arguments: str) -> str:
        done = self(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self) -> None:
        self.do("install", NAME, str(CHART), "--create-namespace")

    def upgrade(self) -> None:
        self.do("upgrade", NAME, str(self._next))

    def roll_back(self) -> None:
        self.do("rollback", NAME)

    def uninstall(self) -> None:
        self.do("uninstall", NAME)


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, (file, old)
    file.write_text(text.replace(old, new))


def way_of(kind: str, site: Site, request: pytest.FixtureRequest) -> Way:
    if kind == "kustomize":
        return Kustomize(site, site.directory)
    return Chart(site, site.directory, request.getfixturevalue("helm"))


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints the seconds: `make test-helm ARGS="-rP -k ways"` shows them."""
    begin = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - begin:.1f} s")


def smoke(site: Site, phase: str) -> None:
    """What an installed operator does: tasks act, those of before are looked at anew, the guard says no."""
    until(lambda: site.api.serves(AITASK), "the CRD is served", 180)
    operator, before = site.start(), site.api.list(AITASK, "shop")
    site.work("shop", (f"{phase}-adopted", f"{phase}-owned"))
    for one in before:
        edit(site, one["metadata"]["name"], intervalSeconds=10 + len(phase))
    until(lambda: "you may not patch deployment" in attempt(site, phase), "the guard refuses", 180)
    for name in ("adopted", "owned"):  # so that the tasks of all phases together are no storm
        edit(site, f"{phase}-{name}", suspend=True)
    assert operator.stop() == 0
    assert operator.complaints() == []


def edit(site: Site, name: str, **spec: Any) -> None:
    """Change a task, and wait for the pass that has seen it."""
    wanted = site.api.patch(AITASK, name, "shop", {"spec": spec})["metadata"]["generation"]

    def seen(found: dict[str, Any]) -> bool:
        return bool(found.get("status", {}).get("observedGeneration") == wanted)

    site.api.wait(AITASK, name, "shop", seen, f"a pass has seen generation {wanted}", 180)


def attempt(site: Site, phase: str) -> str:
    """Somebody who may write tasks, and nothing else, writes one; what he is told."""
    role = "aitask-operator-aitask-editor-role"
    site.run("-n", "shop", "create", "rolebinding", "eve", f"--clusterrole={role}", "--user=eve")
    body = task("shop", f"{phase}-forbidden", targetDeployment=f"{phase}-adopted")
    return site.run("create", "--as=eve", "-f", "-", stdin=json.dumps(body)).stderr


def short_names(site: Site) -> list[str]:
    found = site.api.get(CRD, AITASKS)
    assert found is not None
    names: list[str] = found["spec"]["names"]["shortNames"]
    return names


@pytest.mark.parametrize("kind", ["chart", "kustomize"])
def test_a_way_there_and_back(kind: str, site: Site, request: pytest.FixtureRequest) -> None:
    way = way_of(kind, site, request)
    with timed(f"{kind}, install"):
        way.install()
    smoke(site, "installed")
    with timed(f"{kind}, upgrade"):
        way.upgrade()
    assert short_names(site) == ["at", "ait", "tk"]
    smoke(site, "upgraded")
    with timed(f"{kind}, roll back"):
        way.roll_back()
    assert short_names(site) == ["at", "ait"]
    smoke(site, "rolled-back")
    with timed(f"{kind}, uninstall"):
        way.uninstall()
    if isinstance(way, Chart):
        kept_and_taken_up_again(site, way)
    until(lambda: all_gone(site), "nothing of the operator is left but what is the namespace's", 180)


def kept_and_taken_up_again(site: Site, chart: Chart) -> None:
    """The CRDs outlive the release, and so do tasks; an install finds them; without `crds.keep` they go."""
    kept = {f"CustomResourceDefinition//{name}" for name in CRDS}
    until(lambda: foreign(site) == kept, "only CRDs are left", 180)
    assert len(site.api.list(AITASK, "shop")) == 6
    chart.install()
    smoke(site, "again")
    chart.do("upgrade", NAME, str(CHART), "--set", "crds.keep=false")
    chart.uninstall()


def foreign(site: Site) -> set[str]:
    return {one for one in site.left(NAME) if not one.startswith(OF_THE_NAMESPACE) and "/shop/" not in one}


def all_gone(site: Site) -> bool:
    return foreign(site) == set() and site.api.get(CRD, AITASKS) is None


def test_the_chart_takes_over_what_an_older_version_applied(site: Site, helm: Path) -> None:
    """0.1.0 had no chart: its manifests were applied. Nothing is made anew, tasks and the ledger of acts stay."""
    older = released_tree("config", site.directory / "older")
    replace(older / "crd/bases/aiops.example.com_aitasks.yaml", "[at, ait]", "[at]")  # as if there were a change since
    site.apply(site.kubectl("kustomize", str(older / "default")))
    smoke(site, "before")
    before, acts = identities(site), ledger(site)
    assert acts

    chart = Chart(site, site.directory, helm)
    refused = chart("install", NAME, str(CHART))
    assert refused.returncode != 0
    assert "cannot be imported into the current release" in refused.stderr
    with timed("chart, taking over"):
        chart.do("install", NAME, str(CHART), "--take-ownership")
    assert identities(site) == before
    assert short_names(site) == ["at", "ait"]
    assert ledger(site) == acts
    smoke(site, "after")
    chart.uninstall()
    until(lambda: foreign(site) == {f"CustomResourceDefinition//{name}" for name in CRDS}, "only CRDs are left", 180)


def identities(site: Site) -> dict[str, str]:
    """What must not be made anew."""
    found = [site.api.get(DEPLOYMENT, MANAGER, SYSTEM), *(site.api.get(CRD, name) for name in CRDS)]
    found += [site.api.get(AITASK, f"before-{name}", "shop") for name in ("adopted", "owned")]
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found if one is not None}


def ledger(site: Site) -> dict[str, str]:
    found = site.api.get(CONFIG_MAP, "aitask-ledger", SYSTEM)
    assert found is not None
    return dict(found.get("data", {}))
