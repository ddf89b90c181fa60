"""OLM and a real node: bundle images that its Job unpacks, the operator's pods, and the upgrade to another image."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from imagebuild.archive import read_image
from localcluster import build, pins
from localnode import Node
from localnode.configuration import PAUSE
from olmbundle import make
from olmbundle.catalog import Entry, catalog
from olmbundle.files import DOCKERFILE, bundle, parsed, write
from reference.fields import rows
from tests.behaviour.scene import AITASK
from tests.e2e import smoke
from tests.e2e.conftest import ROOT, Release
from tests.e2e.site import SECONDS, Site
from tests.olm.site import Site as Install
from tests.olm.site import always_left
from tests.olm.upgrading import check_kept, following_release, upgrade
from tests.support.api import Object
from tests.support.kinds import CONFIG_MAP, CRD, Kind
from tests.support.olm import NAMESPACE, Olm
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.node, pytest.mark.slow]

HOME, WORK = "olm-home", "olm-work"
GUARD = str(ROOT / "config" / "guard")
JOB = Kind("batch/v1", "Job", "jobs")
_UNPACK = Path(__file__).parent / "unpack" / "Containerfile"
_CODE = (" in /opt/venv", " in roles")
"""How the instructions of the Dockerfile end that put code into the image."""


@pytest.fixture(scope="module")
def last(node: Node, previous: Release, tmp_path_factory: pytest.TempPathFactory) -> Entry:
    """The release before this one, all of its images on the node."""
    node.load(previous.archive)
    return with_image(make.previous_entry(image=previous.image), node, tmp_path_factory.mktemp("last"))


@pytest.fixture(scope="module")
def following(node: Node, current: Release, tmp_path_factory: pytest.TempPathFactory) -> Entry:
    """What is here, as the release after it."""
    node.load(current.archive)
    release = following_release(current.image)
    entry = Entry(release, bundle(ROOT, make.kubectl(), release))
    return with_image(entry, node, tmp_path_factory.mktemp("following"))


def with_image(entry: Entry, node: Node, directory: Path) -> Entry:
    """The same with its bundle in an image on the node."""
    write(entry.files, directory)
    image = node.build(f"localhost/e2e-bundle:{entry.release.version}", directory / DOCKERFILE)
    return replace(entry, release=replace(entry.release, bundle=image))


@pytest.fixture(scope="module")
def olm(node: Node, last: Entry, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Olm]:
    site = Site(node.cluster, PAUSE)
    before = site.objects()
    unpacker = unpacking_image(node, tmp_path_factory.mktemp("unpack"))
    with Olm(node.cluster, tmp_path_factory.mktemp("olm"), catalog([last], inline=False), unpacker) as olm:
        yield olm
        olm.remove()
    until(lambda: not site.objects() - before, "nothing is left on a node that others go on with", SECONDS)


def unpacking_image(node: Node, context: Path) -> str:
    busybox = Path(shutil.which("busybox") or "busybox")
    for file in (_UNPACK, busybox, *(build.ensure_built(name, print) for name in pins.UNPACKING)):
        shutil.copy(file, context)
    return node.build("localhost/e2e-unpack:1", context / _UNPACK.name)


@pytest.fixture
def install(olm: Olm, tmp_path: Path) -> Iterator[Install]:
    """The guard stands, and nothing is installed."""
    olm.kubectl("apply", "--server-side", "-k", GUARD)
    install = Install(olm, tmp_path)
    yield install
    install.clean_up()
    olm.kubectl("delete", "-k", GUARD)


@pytest.fixture
def site(node: Node, install: Install) -> Iterator[Site]:
    site = Site(node.cluster, PAUSE, namespace=HOME)
    yield site
    site.clear()


def test_the_two_releases_differ(previous: Release, current: Release, last: Entry, following: Entry) -> None:
    """In each layer with code, and the new definition of a task has fields that the old one lacks: else an upgrade from
    one to the other would show nothing."""
    old, new = code_layers(previous), code_layers(current)
    assert len(old) == len(new) == len(_CODE)
    assert not old & new
    assert fields(definition(following)) - fields(definition(last))


def code_layers(release: Release) -> set[str]:
    """Digests of the unpacked layers."""
    image = read_image(release.archive)
    layers = zip(image.layers, image.config["rootfs"]["diff_ids"], strict=True)
    return {digest for layer, digest in layers if layer.made_by.endswith(_CODE)}


def definition(entry: Entry) -> Object:
    """Of a task."""
    [found] = [one for one in parsed(entry.files) if one["metadata"]["name"] == f"{AITASK.plural}.aiops.example.com"]
    return found


def fields(definition: Object) -> set[str]:
    return {row.path for one in definition["spec"]["versions"] for row in rows(one["schema"]["openAPIV3Schema"])}


def test_an_upgrade_by_image_keeps_tasks_and_nothing_acts_twice(
    install: Install, site: Site, last: Entry, following: Entry
) -> None:
    install.subscribe(HOME)
    print(f"\nSubscription to Succeeded: {install.installed(HOME, last.release.name):.0f} s")
    unpacked = {check_unpacked(install, last)}
    old = check_runs(site, last)
    smoke.main_job(site, WORK)
    owning_task(install, site)
    before, standing = statuses(site), stands(install)
    assert [target for _, target in install.acts(WORK)].count(f"{WORK}/web") == 1

    upgrade(install.olm, HOME, [last, following], inline=False)
    unpacked |= {check_unpacked(install, following)}
    assert check_runs(site, following) != old
    for name, status in statuses(site).items():
        check_kept(before[name], status)
    assert stands(install) == standing

    tasks = site.api.list(AITASK, WORK)
    uninstall(install, following, unpacked)
    assert site.api.list(AITASK, WORK) == tasks
    assert stands(install) == standing


def check_unpacked(install: Install, entry: Entry) -> str:
    """By a Job, from the image, into a ConfigMap that belongs to the catalog. What is left of it after an uninstall."""
    jobs = install.api.list(JOB, NAMESPACE)
    [job] = [one for one in jobs if entry.release.bundle_image in images(one["spec"]["template"]["spec"])]
    assert job["status"]["succeeded"] == 1
    [owner] = job["metadata"]["ownerReferences"]
    unpacked = install.api.get(CONFIG_MAP, owner["name"], NAMESPACE)
    assert unpacked is not None
    assert len(unpacked["binaryData"]) == len(parsed(entry.files))
    assert [one["kind"] for one in unpacked["metadata"]["ownerReferences"]] == ["CatalogSource"]
    return f"ConfigMap {NAMESPACE}/{owner['name']}"


def images(pod: Object) -> list[str]:
    return [one["image"] for one in (*pod["initContainers"], *pod["containers"])]


def check_runs(site: Site, entry: Entry) -> str:
    """One pod of the operator, of that release's image and definition; it leads. The digest of its image."""
    site.settled()
    [pod] = site.pods()
    assert pod["spec"]["containers"][0]["image"] == entry.release.operator_image
    assert site.leader() == pod["metadata"]["name"]
    served = site.api.get(CRD, definition(entry)["metadata"]["name"])
    assert served is not None
    assert fields(served) == fields(definition(entry))
    digest: str = site.container(pod["metadata"]["name"])["imageID"]
    return digest


def owning_task(install: Install, site: Site) -> None:
    """A task that has made its Deployment, and has acted on it."""
    template = site.spec("shop", 1)["template"]
    site.task(WORK, "owned", targetDeployment="shop", action="restart", template=template)
    install.wait_task(WORK, "owned", "acted")
    site.running(WORK, "shop", 1)


def statuses(site: Site) -> dict[str, Object]:
    """Of both tasks, evaluated just now."""
    return {name: site.evaluated(WORK, name) for name in ("t", "owned")}


def stands(install: Install) -> tuple[Any, ...]:
    """What the operator has changed of Deployments, these, and their pods."""
    return install.acts(WORK), install.operands(WORK), install.pods(WORK)


def uninstall(install: Install, entry: Entry, unpacked: set[str]) -> None:
    """What is left is what docs/olm.md says."""
    install.olm.unsubscribe(HOME)
    home = {f"ConfigMap {HOME}/aitask-operator-config", f"Lease {HOME}/aitask-operator"}
    beside = {f"Operator /aitask-operator.{HOME}", f"Deployment {WORK}/shop"}
    install.until_left(always_left(entry) | home | beside | unpacked)
