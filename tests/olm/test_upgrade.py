"""OLM itself, from Subscription to uninstall: the last release, then this one, with tasks at work."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from crdcheck.stored import refused
from olmbundle.catalog import Entry
from olmbundle.release import ROOT
from tests.behaviour.scene import AITASK
from tests.olm.site import BACKUP, RESTORE, Site, always_left
from tests.olm.upgrading import check_kept, upgrade
from tests.support.olm import PATIENCE
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

HOME = "home"
NAMES = [f"aiops.example.com_{plural}" for plural in ("aitasks", "aitaskbackups", "aitaskrestores")]


def test_an_upgrade_keeps_tasks_and_nothing_acts_twice(
    site: Site, last: Entry, following: Entry, last_source: Path
) -> None:
    site.workplace("shop")
    site.subscribe(HOME)
    print(f"Subscription to Succeeded: {site.installed(HOME, last.release.name):.0f} s")
    old = site.operator(HOME, last_source)
    site.task("shop")
    site.owning_task("shop")
    for name in ("adopted", "owned"):
        site.wait_task("shop", name, "acted")
    site.back_up(HOME, "shop")
    ended_once = [site.api.get(kind, "b", "shop") for kind in (BACKUP, RESTORE)]
    before = {name: site.evaluations("shop", name)["status"] for name in ("adopted", "owned")}
    check_rights_of_an_admin(site, "shop")
    for name in NAMES:
        new_definition = yaml.safe_load((ROOT / "config" / "crd" / "bases" / f"{name}.yaml").read_text())
        objects = [one for kind in (AITASK, BACKUP, RESTORE) for one in site.api.list(kind, "shop")]
        assert refused(new_definition, objects) == []
    acts, operands, pods = site.acts("shop"), site.operands("shop"), site.pods("shop")
    assert sorted(acts).count(("patch", "shop/adopted")) == 1

    upgrade(site.olm, HOME, [last, following], inline=True)
    assert site.pod(HOME)["spec"]["containers"][0]["image"] == following.release.operator_image
    site.stop(old)
    new = site.operator(HOME, ROOT)
    after = {name: site.evaluations("shop", name)["status"] for name in ("adopted", "owned")}
    for name, status in before.items():
        check_kept(status, after[name])
    assert [site.api.get(kind, "b", "shop") for kind in (BACKUP, RESTORE)] == ended_once
    assert site.acts("shop") == acts
    assert (site.operands("shop"), site.pods("shop")) == (operands, pods)

    site.stop(new)
    stored = [site.api.list(kind, "shop") for kind in (AITASK, BACKUP, RESTORE)]
    site.olm.unsubscribe(HOME)
    people_made = {f"ConfigMap {HOME}/aitask-operator-config", "RoleBinding shop/aitask-backup-store"}
    work = {"Deployment shop/owned", f"Secret shop/{stored[1][0]['status']['storeName']}"}
    of_olm, of_the_operator = f"Operator /aitask-operator.{HOME}", f"Lease {HOME}/aitask-operator"
    site.until_left(always_left(following) | people_made | work | {of_olm, of_the_operator})
    assert [len(one) for one in stored] == [2, 1, 1]
    assert [site.api.list(kind, "shop") for kind in (AITASK, BACKUP, RESTORE)] == stored
    assert (site.operands("shop"), site.pods("shop")) == (operands, pods)


def check_rights_of_an_admin(site: Site, namespace: str) -> None:
    """Who has the role `admin` in a namespace may do all to tasks there, and not approve."""
    site.olm.kubectl("create", "rolebinding", "ann", "-n", namespace, "--clusterrole=admin", "--user=ann")

    def may(verb: str, *flags: str) -> str:
        asked = "auth", "can-i", verb, "aitasks.aiops.example.com", *flags, "-n", namespace, "--as=ann"
        return site.olm.kubectl(*asked, check=False).split()[0]

    until(lambda: may("deletecollection") == "yes", "OLM's role is part of admin", PATIENCE)
    assert may("approve", "--subresource=approval") == "no"
