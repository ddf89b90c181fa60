"""Every case, warm and cold: the same events in the same order, the same artifacts, the same exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ansible_operator.runner.cold import ColdRunner
from ansible_operator.runner.interface import Access
from ansible_operator.runner.pool import WarmRunner
from localcluster import Cluster
from localcluster.pytest_plugin import cluster
from tests.warm.cases import CASES
from tests.warm.compare import differences
from tests.warm.kubernetes_cases import KUBERNETES_CASES, SECOND_CLUSTER
from tests.warm.runs import PATIENT, Bench, Loop, environment

__all__ = ["cluster"]


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def warm(loop: Loop) -> Iterator[WarmRunner]:
    """One warm parent for all cases, so that what one leaves behind shows in the next."""
    runner = WarmRunner(environment(), capacity=1, limits=PATIENT)
    loop(runner.start())
    yield runner
    loop(runner.stop())


def _compare(loop: Loop, warm: WarmRunner, bench: Bench) -> None:
    """A difference that does not come again is chance, such as which of two processes was ready first.

    On a busy machine a run that is ended in its middle may not have come so far: it gets more time.
    """
    found: list[str] = []
    for bench.patience in (1.0, 3.0, 10.0):
        if not (found := _differences(loop, warm, bench)):
            return
    assert found == []


def _differences(loop: Loop, warm: WarmRunner, bench: Bench) -> list[str]:
    bench.prepare()
    chosen, cold = warm, ColdRunner(bench.environment, 1, bench.arguments)
    if bench.arguments or bench.environment != environment():
        chosen = WarmRunner(bench.environment, 1, bench.arguments, PATIENT)
        loop(chosen.start())
    try:
        there = json.loads(json.dumps(_warm_run(loop, chosen, bench)))
        here = json.loads(json.dumps(loop(bench.run(cold))))
    finally:
        loop(cold.stop())
        if chosen is not warm:
            loop(chosen.stop())
    return differences(here, there)


def _warm_run(loop: Loop, runner: WarmRunner, bench: Bench) -> object:
    """A run that went warm. On a busy machine a parent may fail to answer in time: it is replaced, and tried again."""
    for _ in range(5):
        before = runner.warm_runs
        shown = loop(bench.run(runner))
        if runner.warm_runs == before + 1:
            return shown
        loop(runner.parent().wait_ready(120))
    raise AssertionError("it did not run warm")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_case_shows_the_same_warm_and_cold(loop: Loop, warm: WarmRunner, tmp_path: Path, name: str) -> None:
    _compare(loop, warm, Bench(tmp_path, CASES[name]))


@pytest.mark.slow
@pytest.mark.apiserver
@pytest.mark.parametrize("name", KUBERNETES_CASES)
def test_a_case_with_a_cluster_shows_the_same_warm_and_cold(
    loop: Loop, warm: WarmRunner, cluster: Cluster, tmp_path: Path, name: str
) -> None:
    access = Access(cluster.server, cluster.ca_file, _token(cluster), "default")
    _compare(loop, warm, Bench(tmp_path, KUBERNETES_CASES[name], access))


@pytest.mark.slow
@pytest.mark.apiserver
def test_tasks_that_name_a_second_cluster_show_the_same(
    loop: Loop, warm: WarmRunner, cluster: Cluster, tmp_path: Path
) -> None:
    access = Access(cluster.server, cluster.ca_file, _token(cluster), "default")
    with Cluster.start(tmp_path / "second") as second:
        names = {
            "kubeconfig": str(second.kubeconfig),
            "server": second.server,
            "token": _token(second),
            "ca": str(second.ca_file),
            "context": yaml.safe_load(second.kubeconfig.read_text())["current-context"],
        }
        case = replace(SECOND_CLUSTER, variables={"second": names})
        _compare(loop, warm, Bench(tmp_path, case, access))


def _token(cluster: Cluster) -> str:
    return (cluster.directory / "admin.token").read_text().strip()
