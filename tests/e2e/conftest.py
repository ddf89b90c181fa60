"""The image of the session, built as `make image-rootfs` builds it, and a real node. Without root or the packages all
is skipped, with the reason."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from imagebuild import base
from imagebuild.archive import Image, read_image
from imagebuild.engines import Build, build_command
from localcluster import Cluster
from localcluster.layout import cache_directory, write_private
from localcluster.ports import free_port
from localnode import Node
from localnode.requirements import why_not
from olmbundle.previous import UnreachableError, unpack
from olmbundle.release import previous_commit
from tests.e2e.containers import Container, Store, missing

ROOT = Path(__file__).parents[2]
PROJECT = Path(__file__).parent / "project"
UPGRADE = Path(__file__).parent / "upgrade"
OPERATOR, PREVIOUS, RUNTIME, DERIVED = (
    f"localhost/e2e-{name}:1" for name in ("operator", "previous", "runtime", "project")
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reasons = {"e2e": missing(), "node": missing() or why_not()}
    for item in items:
        for name, reason in reasons.items():
            if reason is not None and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))


@dataclass(frozen=True)
class Built:
    """The operator's image and the base of other projects, in a store."""

    store: Store
    archive: Path
    image: Image
    log: str


@pytest.fixture(scope="session")
def built() -> Built:
    """Kept in the cache, or where E2E_STORE says: what did not change is not built again by the next session."""
    directory = _directory()
    store, archive = Store(directory), directory / "operator.tar"
    log = _build(store, ROOT, OPERATOR, archive)
    return Built(store, archive, read_image(archive), log)


@pytest.fixture(scope="session")
def runtime(built: Built) -> str:
    """The base of other projects."""
    built.store.call(*build_command("buildah", Build(ROOT, RUNTIME, "runtime", base.TAG)))
    return RUNTIME


def _directory() -> Path:
    return Path(os.environ.get("E2E_STORE") or cache_directory() / "e2e")


def _build(store: Store, tree: Path, tag: str, archive: Path) -> str:
    command = [sys.executable, "-m", "imagebuild", "rootfs", "--tag", tag, "--archive", str(archive)]
    environment = {**store.environment, "PYTHONPATH": str(tree / "tools")}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@dataclass(frozen=True)
class Release:
    """A tree with its manifests, and the archive of the image that was built from it."""

    tree: Path
    image: str
    archive: Path


@pytest.fixture(scope="session")
def current(built: Built) -> Release:
    """What is here."""
    return Release(ROOT, OPERATOR, built.archive)


@pytest.fixture(scope="session")
def previous(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The release before this one, by the record in releases/previous. Its image is built once, and kept."""
    commit = previous_commit(ROOT)
    tree, archive = tmp_path_factory.mktemp("previous"), _directory() / f"previous-{commit}.tar"
    try:
        unpack(ROOT, commit, ["."], tree)
    except UnreachableError as error:
        pytest.skip(f"the last release cannot be built: {error}")
    shutil.copytree(UPGRADE, tree / UPGRADE.relative_to(ROOT), dirs_exist_ok=True)
    if not archive.exists():
        _build(built.store, tree, PREVIOUS, archive)
    return Release(tree, PREVIOUS, archive)


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    """A node with a control plane of its own."""
    with Node.start() as node:
        yield node


@pytest.fixture(scope="session")
def derived(built: Built, runtime: str) -> str:
    """A project with the Dockerfile that operator-sdk made, as it stands; only the name behind FROM means our base."""
    command = ["buildah", "build", "--from", runtime, "--isolation=chroot", "--network=host", "--tag", DERIVED]
    built.store.call(*command, str(PROJECT))
    return DERIVED


Run = Callable[..., Container]


@pytest.fixture
def run(built: Built, cluster: Cluster, tmp_path: Path) -> Iterator[Run]:
    """Start an image against the cluster, with ports of its own."""
    containers: list[Container] = []

    def run(image: str, kubeconfig: Path = cluster.kubeconfig, **environment: str) -> Container:
        ports = [free_port() for _ in range(3)]
        flags = (
            f"--metrics-bind-address=127.0.0.1:{ports[0]}",
            f"--health-probe-bind-address=127.0.0.1:{ports[1]}",
            f"--proxy-port={ports[2]}",
            "--user-metrics-bind-address=0",
        )
        inside = with_contents(kubeconfig, tmp_path / f"kubeconfig{len(containers)}")
        container = Container(built.store, image, flags, inside, environment=environment)
        containers.append(container)
        return container

    yield run
    for container in containers:
        container.remove()


def with_contents(kubeconfig: Path, target: Path) -> Path:
    """The same kubeconfig without names of files, and readable by the user of a container alone."""
    found = yaml.safe_load(kubeconfig.read_text())
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    authority = Path(cluster.pop("certificate-authority")).read_bytes()
    cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    user["token"] = Path(user.pop("tokenFile")).read_text()
    write_private(target, yaml.safe_dump(found))  # it holds the administrator's token
    os.chown(target, *map(int, Container.user.split(":")))
    return target
