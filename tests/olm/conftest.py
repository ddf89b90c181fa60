"""A cluster with OLM on it, a catalog of the last release, and what an administrator does besides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster
from olmbundle import make
from olmbundle.catalog import Entry, catalog
from olmbundle.files import bundle
from olmbundle.previous import UnreachableError, unpack
from olmbundle.release import ROOT, previous_commit
from tests.olm.site import Site
from tests.olm.upgrading import following_release
from tests.support.olm import Olm


@pytest.fixture(scope="package")
def last_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the last release runs, from its commit."""
    target = tmp_path_factory.mktemp("last-release")
    try:
        unpack(ROOT, previous_commit(), ["src", "roles", "playbooks", "watches.yaml", "config/crd"], target)
    except UnreachableError as error:
        pytest.skip(str(error))
    return target


@pytest.fixture(scope="package")
def last(last_source: Path) -> Entry:
    return make.previous_entry()


@pytest.fixture(scope="package")
def following(last: Entry) -> Entry:
    """The work tree as the release after the last one, also while it still has the last one's version."""
    release = following_release()
    return Entry(release, bundle(ROOT, make.kubectl(), release))


@pytest.fixture(scope="package")
def olm(last: Entry, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Olm]:
    directory = tmp_path_factory.mktemp("olm")
    with (
        Cluster.start(directory / "cluster", progress=lambda text: None) as cluster,
        Olm(cluster, directory, catalog([last], inline=True)) as olm,
    ):
        yield olm


@pytest.fixture
def site(olm: Olm, last: Entry, tmp_path: Path) -> Iterator[Site]:
    """The guard stands, and the catalog has the last release alone; nothing is installed. Nothing is left of it."""
    olm.serve(catalog([last], inline=True))
    olm.kubectl("apply", "--server-side", "-k", str(ROOT / "config" / "guard"))
    site = Site(olm, tmp_path)
    yield site
    site.clean_up()
