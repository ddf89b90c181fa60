"""Clusters of their own: everything of an install comes and goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster
from tests.life.site import Site
from tests.support.helm import helm

__all__ = ["helm"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """An empty cluster."""
    with Cluster.start(tmp_path / "cluster", progress=lambda text: None) as cluster:
        site = Site(cluster, tmp_path)
        try:
            yield site
        finally:
            site.clean_up()
