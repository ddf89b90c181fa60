"""Every case, warm and cold: the same events in the same order, the same artifacts, the same exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_operator.runner.cold import ColdRunner
from ansible_operator.runner.interface import Access
from ansible_operator.runner.pool import WarmRunner
from localcluster import Cluster
from localcluster.pytest_plugin import cluster
from tests.warm.cases import CASES, Case
from tests.warm.compare import differences
from tests.warm.kubernetes_cases import KUBERNETES_CASES
from tests.warm.runs import Bench, Loop, environment

__all__ = ["cluster"]


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def warm(loop: Loop) -> Iterator[WarmRunner]:
    """One warm parent for all cases, so that what one leaves behind shows in the next."""
    runner = WarmRunner(environment(), capacity=1)
    loop(runner.start())
    yield runner
    loop(runner.stop())


def _compare(loop: Loop, warm: WarmRunner, bench: Bench, name: str, case: Case) -> None:
    chosen, cold = warm, ColdRunner(environment(), 1, case.arguments)
    if case.arguments:
        chosen = WarmRunner(environment(), 1, case.arguments)
        loop(chosen.start())
    try:
        there = json.loads(json.dumps(_warm_run(loop, chosen, bench, name, case)))
        here = json.loads(json.dumps(loop(bench.run(cold, name, case))))
    finally:
        loop(cold.stop())
        if chosen is not warm:
            loop(chosen.stop())
    assert differences(here, there) == []


def _warm_run(loop: Loop, runner: WarmRunner, bench: Bench, name: str, case: Case) -> object:
    """A run that went warm. On a busy machine a parent may fail to answer in time: it is replaced, and tried again."""
    for _ in range(3):
        before = runner.warm_runs
        shown = loop(bench.run(runner, name, case))
        if runner.warm_runs == before + 1:
            return shown
        loop(runner.parent().wait_ready(60))
    raise AssertionError("it did not run warm")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_case_shows_the_same_warm_and_cold(loop: Loop, warm: WarmRunner, tmp_path: Path, name: str) -> None:
    _compare(loop, warm, Bench(tmp_path), name, CASES[name])


@pytest.mark.slow
@pytest.mark.apiserver
@pytest.mark.parametrize("name", KUBERNETES_CASES)
def test_a_case_with_a_cluster_shows_the_same_warm_and_cold(
    loop: Loop, warm: WarmRunner, cluster: Cluster, tmp_path: Path, name: str
) -> None:
    token = (cluster.directory / "admin.token").read_text().strip()
    access = Access(cluster.server, cluster.ca_file, token, "default")
    _compare(loop, warm, Bench(tmp_path, access), name, KUBERNETES_CASES[name])
