"""Probes that are honest: ready is who knows what there is, alive is who still makes progress."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcluster import Cluster
from tests.support.api import Api, succeeded
from tests.support.faulty_front import FaultyFront
from tests.support.kinds import THING
from tests.support.operator import OperatorProcess, Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

INFORMER = "import asyncio, time, ansible_operator.kube.informer as informer"
HURRIED = f"{INFORMER}; informer.WATCH_SECONDS, informer.SILENCE_SECONDS, informer._GRACE_SECONDS = 2, 4, 3"
CONTROLLER = "import time; from ansible_operator.controller.controller import Controller"


@pytest.fixture(autouse=True)
def things(project: Project) -> None:
    """A role that does nothing for each Thing."""
    project.watches({**THING.watch, "role": "nothing"})
    project.role("nothing", "- ansible.builtin.meta: noop")


def says(operator: OperatorProcess, path: str, *words: str) -> None:
    """Wait until a probe fails with these words."""

    def found() -> bool:
        status, text = operator.probe(path)
        return status == 500 and all(word in text for word in words)

    until(found, f"{path} says {words}", checks=[operator.check_alive])


def test_who_cannot_keep_up_with_the_api_server_is_alive_but_not_ready(
    api: Api, namespace: str, start: Start, cluster: Cluster, tmp_path: Path
) -> None:
    with FaultyFront(cluster.server, cluster.ca_file, tmp_path) as front:
        kubeconfig = front.kubeconfig(cluster.kubeconfig, tmp_path / "kubeconfig")
        operator = start(kubeconfig=kubeconfig, preface=HURRIED)
        front.plan = lambda call: "503" if call.where in ("list", "watch") else None
        says(operator, "/readyz", "things.test.example.com cannot be watched for", "503 ServiceUnavailable: injected")
        assert operator.probe("/healthz") == (200, "ok"), "a new start would not help"
        front.plan = lambda call: None
        operator.wait_ready()
        api.create(THING, THING.object("one", namespace))
        api.wait(THING, "one", namespace, succeeded)
        assert operator.probe("/healthz") == (200, "ok")
        operator.stop()


def test_a_watch_that_has_died_without_a_word_is_noticed(start: Start) -> None:
    hang = "informer.Informer._watch = lambda self: asyncio.Event().wait(); informer._REQUEST_SECONDS = 1"
    operator = start(preface=f"{HURRIED}; {hang}")
    says(operator, "/healthz", "the watch of things.test.example.com has made no progress")


def test_a_worker_that_has_died_is_noticed(api: Api, namespace: str, start: Start) -> None:
    operator = start(preface=f"{CONTROLLER}; Controller._settle = None")
    assert operator.probe("/healthz")[0] == 200
    api.create(THING, THING.object("one", namespace))
    says(operator, "/healthz/workers", "a worker has ended")
    operator.kill()


def test_a_loop_that_is_stuck_answers_no_probe(api: Api, namespace: str, start: Start) -> None:
    operator = start(preface=f"{CONTROLLER}; Controller.on_change = lambda self, change: time.sleep(3600)")
    assert operator.probe("/healthz")[0] == 200
    api.create(THING, THING.object("one", namespace))
    until(lambda: operator.probe("/healthz", seconds=5)[0] == 0, "nobody answers")
    operator.kill()
