"""A rolling upgrade by image, from the last release to what is here: two replicas, and tasks that act meanwhile."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

import pytest

from localnode import Node
from localnode.configuration import PAUSE
from tests.behaviour.scene import AITASK, POD
from tests.e2e.conftest import UPGRADE, Release
from tests.e2e.deploying import make
from tests.e2e.leaders import HandOver, hand_overs
from tests.e2e.site import SECONDS, Act, Site, acts
from tests.e2e.smoke import ACCOUNT
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.node, pytest.mark.slow]

OVERLAY = str(UPGRADE.relative_to(UPGRADE.parents[2]))
TASKS = 6
COOLDOWN, INTERVAL, MOST = 30, 10, 40
GAP_SECONDS = 5.0
ROUNDS = int(os.environ.get("E2E_UPGRADES", "1"))
"""How often it goes there and back; the last is always the upgrade."""


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
    log = site.cluster.audit_log
    load(site, "load")
    until(lambda: len(acts(log, ACCOUNT.format(site))) >= TASKS, "each task has acted", SECONDS)
    gaps: list[HandOver] = []
    for number in range(ROUNDS):
        if number:
            deploy(site, previous)
        gaps += upgrade(site, current)
    tell(gaps)
    assert max(one.seconds for one in gaps) < GAP_SECONDS
    after = len(acts(log, ACCOUNT.format(site)))
    until(lambda: len(acts(log, ACCOUNT.format(site))) >= after + TASKS, "each task acts again", SECONDS)
    judge(site, acts(log, ACCOUNT.format(site)))


def load(site: Site, namespace: str) -> None:
    """Tasks that never have enough: one act each cooldown."""
    site.space(namespace)
    for number in range(TASKS):
        site.workload(namespace, f"web-{number}", replicas=0)
        spec = {"targetDeployment": f"web-{number}", "intervalSeconds": INTERVAL}
        scale = {"minReplicas": 0, "maxReplicas": MOST}
        policy = {"cooldownSeconds": COOLDOWN, "maxActionsPerHour": 100, "maxIneffectiveActions": 100}
        site.task(namespace, f"web-{number}", **spec, scale=scale, policy=policy)


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


def judge(site: Site, done: list[Act]) -> None:
    """Each act once, each from where the one before it ended, none before its time, and each known to its task."""
    by_target: dict[str, list[Act]] = defaultdict(list)
    for act in done:
        by_target[act.target].append(act)
    assert len(by_target) == TASKS
    assert len({act.id for act in done}) == len(done), "an act was done twice"
    for target, own in by_target.items():
        numbers = [act.replicas for act in own]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), f"{target}: {numbers}"
        namespace, name = target.split("/")
        task = site.api.get(AITASK, name, namespace)
        assert task is not None
        until(lambda: known(site, namespace, name) == own[-1].id, f"{target}: its task knows of its last act", SECONDS)  # noqa: B023
        for one, two in pairwise(own):
            apart = time_of(two) - time_of(one)
            assert apart > COOLDOWN - 1, f"{target}: acts {apart:.1f} s apart"


def known(site: Site, namespace: str, name: str) -> str | None:
    found = site.api.get(AITASK, name, namespace) or {}
    identity: str | None = found.get("status", {}).get("lastAction", {}).get("id")
    return identity


def time_of(act: Act) -> float:
    return datetime.fromisoformat(act.time).timestamp()


def test_a_leader_that_is_deleted_hands_over(site: Site) -> None:
    since, old = site.cluster.audit_log.stat().st_size, site.leader()
    site.api.delete(POD, old, site.namespace)
    site.settled()
    until(lambda: site.leader() != old, "another leads", SECONDS)
    [found] = hand_overs(site, site.cluster.audit_log, since)
    assert (found.old, found.seconds < GAP_SECONDS) == (old, True), found
