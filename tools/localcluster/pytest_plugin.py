"""A session-wide cluster for tests: `pytest -p localcluster.pytest_plugin`, or name it in `pytest_plugins`.

With LOCALCLUSTER_DIR set, tests use the cluster that runs in that directory (`python -m localcluster up`) and leave it
running: seconds less per test run while developing. Tests must therefore make their own namespaces.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster.cluster import Cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if directory := os.environ.get("LOCALCLUSTER_DIR"):
        yield Cluster.attach(Path(directory))
        return
    with Cluster.start(tmp_path_factory.mktemp("localcluster")) as started:
        yield started
