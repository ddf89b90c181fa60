"""`make deploy` onto a real node: real pods of the built image, and what must work there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster.processes import MARK
from localnode import Node
from localnode.configuration import PAUSE
from tests.e2e import smoke
from tests.e2e.conftest import Release
from tests.e2e.deploying import make
from tests.e2e.site import SECONDS, Site
from tests.support.processes import processes_with
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.node, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(node: Node, current: Release) -> Iterator[Site]:
    """Installed by `make deploy`."""
    site = Site(node.cluster, PAUSE)
    node.load(current.archive)
    before = site.objects()
    make(node.cluster, "deploy", current.tree, image=current.image)
    site.settled()
    yield site
    site.clear()
    make(node.cluster, "undeploy", current.tree)
    until(lambda: not site.objects() - before, "make undeploy leaves nothing", SECONDS)


@pytest.mark.parametrize("check", smoke.CHECKS, ids=smoke.name)
def test_smoke(site: Site, check: smoke.Check) -> None:
    check(site, smoke.name(check))


def test_restart_of_the_api_server(site: Site) -> None:
    """Killed and started again on its data: the pod stays, and goes on.

    Its container may be started anew, where the server was away for longer than a leader may go without it.
    """
    pod = site.pod()
    [server] = [one for one in processes_with(f"{MARK}={site.cluster.directory}") if "/kube-apiserver" in one.command]
    command = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")[:-1]
    subprocess.run(["kill", "-KILL", str(server.pid)], check=True)
    until(lambda: not Path(f"/proc/{server.pid}/cwd").exists(), "it has ended")
    environment = dict(entry.split("=", 1) for entry in server.environment if "=" in entry)
    with (site.cluster.directory / "logs" / "kube-apiserver-2.log").open("wb") as log:
        again = ["setsid", "--fork", *command]
        subprocess.run(again, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)
    until(lambda: site.kubectl("get", "--raw=/readyz", check=False) == "ok", "it is ready again", SECONDS)
    site.works("restart-of-the-api-server")
    site.settled()
    assert site.pod() == pod
