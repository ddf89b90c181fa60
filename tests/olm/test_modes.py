"""The install modes that the ClusterServiceVersion claims, a pinned version, and uninstalls in the wrong order."""

from __future__ import annotations

import pytest

from olmbundle.catalog import Entry, catalog
from olmbundle.release import ROOT
from tests.behaviour.scene import AITASK
from tests.olm.site import Site, always_left
from tests.support.kinds import DEPLOYMENT
from tests.support.olm import PATIENCE, SERVICE_VERSION
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]


def test_several_namespaces_and_the_namespace_of_the_operator_goes_first(site: Site, last: Entry) -> None:
    home = "several"
    for namespace in ("shop", "bank", "other"):
        site.workplace(namespace)
    site.subscribe(home, ["shop", "bank"])
    site.installed(home, last.release.name)
    operator = site.operator(home)
    for namespace in ("other", "shop", "bank"):
        site.task(namespace)
    for namespace in ("shop", "bank"):
        site.wait_task(namespace, "adopted", "acted")
    assert "status" not in (site.api.get(AITASK, "adopted", "other") or {})
    site.stop(operator)
    site.olm.kubectl("delete", "namespace", home, "--timeout=240s")
    site.until_left(always_left(last) | {f"Operator /aitask-operator.{home}"})
    assert len(site.api.list(AITASK)) == 3


def test_one_namespace_at_a_pinned_version_and_the_definitions_go_first(
    site: Site, last: Entry, following: Entry
) -> None:
    home = "single"
    site.olm.serve(catalog([last, following], inline=True))
    site.workplace("shop")
    pinned = {"installPlanApproval": "Manual", "startingCSV": last.release.name}
    site.subscribe(home, ["shop"], **pinned)
    site.approve(home, last.release.name)
    site.olm.succeeded(home, last.release.name)
    upgrade = site.plan(home, following.release.name)
    assert upgrade["status"]["phase"] == "RequiresApproval"
    operator = site.operator(home)
    site.owning_task("shop")
    site.wait_task("shop", "owned", "acted")
    assert {one["metadata"]["name"] for one in site.api.list(SERVICE_VERSION, home)} == {last.release.name}

    site.stop(operator)
    site.olm.kubectl("delete", "crd", "aitasks.aiops.example.com", "--timeout=240s")
    gone = "the Deployment of a task goes with it"
    until(lambda: site.api.get(DEPLOYMENT, "owned", "shop") is None, gone, PATIENCE)
    assert site.api.get(DEPLOYMENT, "adopted", "shop") is not None
    missing = site.api.wait(SERVICE_VERSION, last.release.name, home, _lacks_a_requirement, "Pending", PATIENCE)
    assert missing["status"]["reason"] == "RequirementsNotMet"
    assert site.api.get(DEPLOYMENT, "aitask-operator-controller-manager", home) is not None
    site.olm.unsubscribe(home)
    until(lambda: site.api.get(DEPLOYMENT, "aitask-operator-controller-manager", home) is None, "gone", PATIENCE)
    made = {f"ConfigMap {home}/aitask-operator-config", f"Lease {home}/aitask-operator"}
    gone_before = {"CustomResourceDefinition /aitasks.aiops.example.com"}
    site.until_left(always_left(last) - gone_before | made | {f"Operator /aitask-operator.{home}"})


def test_every_manifest_of_the_bundle_is_accepted(site: Site) -> None:
    """By the API server, in a dry run; OLM's own kinds are there."""
    directory = ROOT / "bundle" / "manifests"
    said = site.olm.kubectl("apply", "--server-side", "--dry-run=server", "-n", "default", "-f", str(directory))
    print(said)
    assert len(said.splitlines()) == len(list(directory.iterdir()))
    assert all(line.endswith("serverside-applied (server dry run)") for line in said.splitlines())


def test_its_own_namespace_is_refused(site: Site, last: Entry) -> None:
    site.subscribe("own", ["own"])
    found = site.api.wait(SERVICE_VERSION, last.release.name, "own", _has_failed, "Failed", PATIENCE)
    assert found["status"]["reason"] == "UnsupportedOperatorGroup"


def _has_failed(found: dict[str, dict[str, str]]) -> bool:
    return found.get("status", {}).get("phase") == "Failed"


def _lacks_a_requirement(found: dict[str, dict[str, str]]) -> bool:
    return found.get("status", {}).get("phase") in ("Pending", "Failed")
