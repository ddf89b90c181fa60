"""The image of the session, built as `make image-rootfs` builds it. Without root or the packages all is skipped."""

from __future__ import annotations

import base64
import os
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
from localcluster.layout import cache_directory
from localcluster.ports import free_port
from tests.e2e.containers import Container, Store, missing

ROOT = Path(__file__).parents[2]
PROJECT = Path(__file__).parent / "project"
OPERATOR, RUNTIME, DERIVED = (f"localhost/e2e-{name}:1" for name in ("operator", "runtime", "project"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = missing()
    if reason is None:
        return
    for item in items:
        if item.get_closest_marker("e2e"):
            item.add_marker(pytest.mark.skip(reason=reason))


@dataclass(frozen=True)
class Built:
    """The operator's image and the base of other projects, in a store."""

    store: Store
    image: Image
    log: str


@pytest.fixture(scope="session")
def built() -> Built:
    """Kept in the cache, or where E2E_STORE says: what did not change is not built again by the next session."""
    directory = Path(os.environ.get("E2E_STORE") or cache_directory() / "e2e")
    store, archive = Store(directory), directory / "operator.tar"
    log = _build(store, "rootfs", "--tag", OPERATOR, "--archive", str(archive))
    store.call(*build_command("buildah", Build(ROOT, RUNTIME, "runtime", base.TAG)))
    return Built(store, read_image(archive), log)


def _build(store: Store, *arguments: str) -> str:
    command = [sys.executable, "-m", "imagebuild", *arguments]
    environment = {**store.environment, "PYTHONPATH": str(ROOT / "tools")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def derived(built: Built) -> str:
    """A project with the Dockerfile that operator-sdk made, as it stands; only the name behind FROM means our base."""
    command = ["buildah", "build", "--from", RUNTIME, "--isolation=chroot", "--network=host", "--tag", DERIVED]
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
    """The same kubeconfig without names of files, and readable by the user of a container, who is nobody here."""
    found = yaml.safe_load(kubeconfig.read_text())
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    authority = Path(cluster.pop("certificate-authority")).read_bytes()
    cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    user["token"] = Path(user.pop("tokenFile")).read_text()
    target.write_text(yaml.safe_dump(found))
    target.chmod(0o644)
    return target
