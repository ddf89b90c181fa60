"""What stays after an uninstall: the record of the last act on Deployments that a task adopted.

On a cluster of its own: everything of the install goes.
"""

from __future__ import annotations

import pytest

from tests.life.site import Site
from tests.roles.aitask_lab import ROOT
from tests.support.kinds import DEPLOYMENT
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]


def _are_records(left: list[str]) -> bool:
    foreign = [one for one in left if not one.startswith(("Deployment/shop/adopted", "ReplicaSet/shop/adopted-"))]
    print("left, but for records:", foreign)
    return foreign == [] and "Deployment/shop/adopted" in left


def test_an_uninstall_leaves_adopted_deployments_and_nothing_else(site: Site) -> None:
    """First a namespace is deleted while no operator runs: nothing of a task holds it. Then all of the install."""
    default = site.kubectl("kustomize", str(ROOT / "config" / "default"))
    site.apply(default)
    operator = site.start()
    for namespace in ("shop", "bank"):
        site.work(namespace)
    assert operator.stop() == 0
    site.kubectl("delete", "namespace", "bank", "--timeout=240s")
    site.kubectl("delete", "--ignore-not-found", "--timeout=240s", "-f", "-", stdin=default)
    gone = "the Deployment of a task goes with it"
    until(lambda: site.api.get(DEPLOYMENT, "owned", "shop") is None, gone, 180)
    # The annotations of the last act are its record; the Deployment controller copies them to the ReplicaSets.
    until(lambda: _are_records(site.left("aiops.example.com")), "only records of acts are left", 180)
    notes = (site.api.get(DEPLOYMENT, "adopted", "shop") or {})["metadata"]["annotations"]
    ours = {key for key in notes if "aiops" in key}
    assert ours == {"aiops.example.com/last-action", "aiops.example.com/last-action-time"}
    assert site.left("aitask-operator") == []
