"""A rolling upgrade by image, from the last release to what is here: two replicas, and tasks that act meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise

import pytest

from localnode import Node
from localnode.configuration import PAUSE
from tests.behaviour.scene import AITASK, POD
from tests.e2e.conftest import UPGRADE, Release
from tests.e2e.deploying import make
from tests.e2e.leaders import HandOver, hand_overs
from tests.e2e.site import LAST_ACTION, SECONDS, Act, Site, acts
from tests.e2e.smoke import ACCOUNT
from tests.support.api import state
from tests.support.kinds import DEPLOYMENT
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.node, pytest.mark.slow]

OVERLAY = str(UPGRADE.relative_to(UPGRADE.parents[2]))
NAMES = tuple(f"web-{number}" for number in range(6))
NAMESPACE = "load"
GAP_SECONDS = 5.0
ROUNDS = int(os.environ.get("E2E_UPGRADES", "1"))
"""How often it goes there and back; the last is always the upgrade."""
# A node takes 110 pods, and each act adds one.
COOLDOWN, MOST = 30 * max(1, ROUNDS // 2), 16


@pytest.fixture(scope="module")
def site(node: Node, previous: Release, current: Release) -> Iterator[Site]:
    """The last release, at work."""
    site = Site(node.cluster, PAUSE)
    for release in (previous, current):
        node.load(release.archive)
    deploy(site, previous)
    site.leader()
    yield site
    site.clear()
    make(node.cluster, "undeploy", current.tree, OVERLAY)
    until(lambda: not [one for one in site.objects() if "aitask" in " ".join(one)], "nothing is left", SECONDS)


def deploy(site: Site, release: Release) -> None:
    make(site.cluster, "deploy", release.tree, OVERLAY, release.image)
    site.settled()


def test_no_act_is_lost_or_doubled(site: Site, previous: Release, current: Release) -> None:
    load(site)
    until(lambda: len(done(site)) >= len(NAMES), "each task has acted", SECONDS)
    gaps: list[HandOver] = []
    for number in range(ROUNDS):
        if number:
            deploy(site, previous)
        gaps += upgrade(site, current)
    tell(gaps)
    assert max(one.seconds for one in gaps) < GAP_SECONDS
    so_far = {act.target: act.id for act in done(site)}
    until(lambda: all(acted_since(site, *one) for one in so_far.items()), "each task acts again", SECONDS)
    suspend(site)
    judge(site)


def load(site: Site) -> None:
    """Tasks that never have enough: one act each cooldown."""
    site.space(NAMESPACE)
    for name in NAMES:
        site.workload(NAMESPACE, name)
        scale = {"maxReplicas": MOST}
        policy = {"cooldownSeconds": COOLDOWN, "maxActionsPerHour": 60, "maxIneffectiveActions": 20}
        site.task(NAMESPACE, name, targetDeployment=name, scale=scale, policy=policy)


def done(site: Site) -> list[Act]:
    found = acts(site.cluster.audit_log, ACCOUNT.format(site))
    return [act for act in found if act.target.startswith(f"{NAMESPACE}/")]


def acted_since(site: Site, target: str, identity: str) -> bool:
    return [act.id for act in done(site) if act.target == target][-1] != identity


def suspend(site: Site) -> None:
    """What was begun has ended by then."""
    for name in NAMES:
        site.api.patch(AITASK, name, NAMESPACE, {"spec": {"suspend": True}})
    for name in NAMES:
        site.api.wait(AITASK, name, NAMESPACE, lambda task: state(task, "Suspended") == "True", "suspended", SECONDS)


def upgrade(site: Site, release: Release) -> list[HandOver]:
    """All hand-overs of one."""
    since = site.cluster.audit_log.stat().st_size
    deploy(site, release)
    site.leader()
    found = hand_overs(site, site.cluster.audit_log, since)
    assert found, "nobody handed over"
    return found


def tell(gaps: list[HandOver]) -> None:
    seconds = sorted(one.seconds for one in gaps)
    text = " ".join(f"{one:.2f}" for one in seconds)
    print(f"\n{ROUNDS} upgrades, {len(gaps)} hand-overs, seconds without a leader: {text}")


def judge(site: Site) -> None:
    """Each act was done once, from where the one before it ended, not before its time; task and target know of it."""
    everything = done(site)
    assert len({act.id for act in everything}) == len(everything), "an act was done twice"
    for name in NAMES:
        own = [act for act in everything if act.target == f"{NAMESPACE}/{name}"]
        assert [act.replicas for act in own] == list(range(2, 2 + len(own))), name
        assert min((two.decided - one.decided).total_seconds() for one, two in pairwise(own)) >= COOLDOWN, name
        task, target = site.api.get(AITASK, name, NAMESPACE), site.api.get(DEPLOYMENT, name, NAMESPACE)
        assert task is not None
        assert target is not None
        assert task["status"]["lastAction"]["id"] == own[-1].id
        assert (target["metadata"]["annotations"][LAST_ACTION], target["spec"]["replicas"]) == (
            own[-1].id,
            1 + len(own),
        )


def test_a_leader_that_is_deleted_hands_over(site: Site) -> None:
    since, old = site.cluster.audit_log.stat().st_size, site.leader()
    site.api.delete(POD, old, site.namespace)
    site.settled()
    until(lambda: site.leader() != old, "another leads", SECONDS)
    [found] = hand_overs(site, site.cluster.audit_log, since)
    assert (found.old, found.seconds < GAP_SECONDS) == (old, True), found
