"""Fixtures of the tests on a real API server. They fail, never skip, where there is none."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster
from localcluster.pytest_plugin import cluster
from tests.support import properties
from tests.support.api import Api
from tests.support.course import Course
from tests.support.kinds import CRD, NAMESPACE, SHARED, Kind, definition
from tests.support.operator import OperatorProcess, Options, Start
from tests.support.project import Project
from tests.support.second_try import SecondTries
from tests.support.waiting import until

__all__ = ["cluster", "properties"]  # whose settings hold for every property, also of a file that runs alone

_OPERATORS = pytest.StashKey[list[OperatorProcess]]()


@pytest.fixture(scope="session")
def shared_kinds(cluster: Cluster) -> None:
    """The custom kinds that tests share, ready for use: a fresh CRD answers 404 and 429 for a while."""
    api = Api.of_administrator(cluster)

    def serve(kind: Kind) -> None:
        if api.get(CRD, f"{kind.plural}.test.example.com") is None:
            api.create(CRD, definition(kind))
        until(lambda: api.serves(kind), f"{kind.kind} is served")

    with ThreadPoolExecutor(len(SHARED)) as pool:
        list(pool.map(serve, SHARED))


@pytest.fixture
def api(cluster: Cluster, shared_kinds: None) -> Api:
    """A client with all rights, and the shared kinds."""
    return Api.of_administrator(cluster)


@pytest.fixture
def namespace(api: Api, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for this test alone, with the objects of shared kinds freed of finalizers at the end."""
    yield from _namespaces(api, request, "")


@pytest.fixture
def namespace2(api: Api, request: pytest.FixtureRequest) -> Iterator[str]:
    """Another one."""
    yield from _namespaces(api, request, "2-")


def _namespaces(api: Api, request: pytest.FixtureRequest, prefix: str) -> Iterator[str]:
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).removeprefix("test-")[:40].strip("-")
    which = (
        f"{request.node.nodeid}{getattr(request.node, 'execution_count', 1)}{request.config.stash.get(_SESSION, '')}"
    )
    unique = hashlib.sha256(which.encode()).hexdigest()[:6]
    name = f"t{prefix}{words}-{unique}"
    api.create(NAMESPACE, NAMESPACE.object(name))
    yield name
    for kind in SHARED:
        if kind.namespaced:
            for obj in api.list(kind, name):
                if obj["metadata"].get("finalizers"):
                    api.patch(kind, obj["metadata"]["name"], name, {"metadata": {"finalizers": None}})
    if api.get(NAMESPACE, name) is not None:  # a test may have deleted it
        api.delete(NAMESPACE, name)


_SESSION = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Names differ from session to session, so that a cluster can be used again (LOCALCLUSTER_DIR). What became of
    the tests is remembered for those that judge it."""
    config.stash[_SESSION] = uuid.uuid4().hex
    config.pluginmanager.register(SecondTries())
    config.pluginmanager.register(Course(), "course")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty operator project."""
    return Project(tmp_path / "project")


@pytest.fixture
def start(
    request: pytest.FixtureRequest, tmp_path: Path, project: Project, cluster: Cluster, api: Api, namespace: str
) -> Iterator[Start]:
    """Start an operator with the test's project, watching the test's namespace, with an administrator's rights.

    Those that still run at the end of the test are stopped; each must then end well, leave no process, and must not
    have logged a traceback.
    """
    operators: list[OperatorProcess] = []
    request.node.stash[_OPERATORS] = operators  # those of this try
    default_project = project

    def start(
        *flags: str,
        watch: str | None = None,
        project: Project | None = None,
        kubeconfig: Path | None = None,
        work_dir: Path | None = None,
        patience: float | None = None,
        preface: str = "",
        ready: bool = True,
        **environment: str,
    ) -> OperatorProcess:
        options = Options(
            kubeconfig=kubeconfig or cluster.kubeconfig,
            work_dir=work_dir or tmp_path / f"work{len(operators)}",
            flags=flags,
            environment={"WATCH_NAMESPACE": namespace if watch is None else watch, **environment},
            path=(cluster.kubectl.parent,),
            patience=patience,
            preface=preface,
        )
        operator = OperatorProcess((project or default_project).directory, options)
        operators.append(operator)
        if ready:
            operator.wait_ready()
            api.checks.append(operator.check_alive)
        return operator

    yield start
    api.checks.clear()
    running = [operator for operator in operators if operator.exit_status is None]
    try:
        with ThreadPoolExecutor(max(1, len(running))) as pool:
            statuses = list(pool.map(OperatorProcess.stop, running))
        for operator, status in zip(running, statuses, strict=True):
            assert status == 0 or not operator.was_ready, "an operator did not end well"
        for operator in operators:
            operator.assert_no_process_left()
            assert not operator.was_ready or operator.complaints() == []
    finally:
        for operator in operators:
            operator.clean_up()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows the logs of its operators."""
    report = yield
    if report.failed:
        for number, operator in enumerate(item.stash.get(_OPERATORS, [])):
            report.sections.append((f"operator {number}, pid {operator.pid}", operator.log_tail()))
    return report
