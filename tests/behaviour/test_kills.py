"""Killed in the middle of its writes, the operator has acted exactly once all the same.

A front before the API server holds one write of each task's pass, before it arrives or before its answer does; then the
whole operator is killed, and another one takes its place. There is a task for each write and each side of it, and all
of them are in the middle of it when the one SIGKILL comes. Acts are counted in the audit log.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster
from tests.behaviour.conftest import start_operator, wait_warm
from tests.behaviour.scene import AITASK, ALWAYS, AuditLog, Scene
from tests.roles.aitask_lab import ACCOUNT, Lab
from tests.support.api import Api
from tests.support.faulty_front import ANSWER_HELD, HELD, Call, FaultyFront
from tests.support.holding import Holding
from tests.support.kinds import DEPLOYMENT, NAMESPACE
from tests.support.operator import OperatorProcess
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

INTENT, ACT, FIRST_EVENT, SECOND_EVENT, RESULT = "intent", "act", "Event of the task", "Event of the target", "result"
STEPS = {
    "scale-up": (INTENT, ACT, FIRST_EVENT, SECOND_EVENT, RESULT),
    "restart": (INTENT, ACT, FIRST_EVENT, SECOND_EVENT, RESULT),
    "notify": (INTENT, FIRST_EVENT, SECOND_EVENT, RESULT),
}
"""The writes of a pass that acts, in their order; a pass that nobody stops is compared with it."""
SIDES = {"before": HELD, "after": ANSWER_HELD}
CASES = [(action, step, side) for action, steps in STEPS.items() for step in steps for side in SIDES]
INTERVAL = 150
"""Long enough for the machine to look at all tasks in an interval (scaled: 15 s)."""
AT_ONCE = 3
"""So many runs are on their way to the write at which they are held; more would be slower for a small machine."""
ONCE = {"policy": {"cooldownSeconds": 86400}}
"""No machine is so busy that a second act would be due (scaled: 2.4 hours)."""
BUSY = (f"--max-concurrent-reconciles={len(CASES) + len(STEPS)}", f"--max-concurrent-runs={len(CASES) + len(STEPS)}")
ELECTION = (
    *("--leader-elect", f"--leader-election-namespace={ACCOUNT[0]}", "--leader-elect-lease-duration=10s"),
    "--leader-elect-renew-deadline=8s",  # a busy machine must not lose it
)


@dataclass
class Experiment:
    """What came of one kill: a scene for each case, and one for each action that nobody stopped."""

    scenes: dict[tuple[str, str, str], Scene]
    unstopped: dict[str, list[str]]
    held: int


def prepare(cluster: Cluster, api: Api, audit: AuditLog, name: str, label: str, directory: Path) -> Scene:
    """A namespace with a Deployment of three."""
    api.create(NAMESPACE, NAMESPACE.object(name))
    scene = Scene(Lab(cluster, name, directory, directory), api, audit, label)
    scene.patience = 300
    scene.web(settle=False)
    return scene


def step_of(call: Call) -> str:
    """What a write of a pass is; both writes of the status are the `intent`, both Events that of the task."""
    kinds = {"/status": INTENT, "/deployments/web": ACT, "/events": FIRST_EVENT}
    return next(step for end, step in kinds.items() if call.path.endswith(end))


@pytest.fixture(scope="module")
def experiment(
    cluster: Cluster, installed: Path, audit: AuditLog, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Experiment]:
    """All cases at once: hold, kill, start anew, and wait until each task has come to its end."""
    directory = tmp_path_factory.mktemp("killed")
    label = f"{directory.name}-{uuid.uuid4().hex[:6]}"  # names differ from those of other sessions on the same cluster
    api = Api.of_administrator(cluster)
    cases = [*CASES, *((action, "", "") for action in STEPS)]
    names = [f"{label}-{number}-{case[0]}".replace("_", "-") for number, case in enumerate(cases)]
    with ThreadPoolExecutor(4) as pool:
        scenes = list(pool.map(lambda name: prepare(cluster, api, audit, name, label, directory), names))
        list(pool.map(Scene.settled, scenes))
    started: list[OperatorProcess] = []

    def start(kubeconfig: Path, *flags: str) -> OperatorProcess:
        started.append(start_operator(cluster, directory, kubeconfig, *flags, label=label))
        return started[-1]

    try:
        with FaultyFront(cluster.server, cluster.ca_file, directory) as front:
            yield run(front, start, installed, dict(zip(cases, scenes, strict=True)))
        assert started[-1].stop() == 0
        assert started[-1].complaints() == []
    finally:
        for operator in started:
            operator.clean_up()
        for name in names:
            api.delete(NAMESPACE, name)


def run(front: FaultyFront, start: Any, account: Path, scenes: dict[tuple[str, str, str], Scene]) -> Experiment:
    front.plan = holding = Holding()
    for action, step, side in CASES:
        holding.hold(scenes[action, step, side].namespace, STEPS[action].index(step) + 1, SIDES[side])
    killed = wait_warm(start(front.kubeconfig(account, front.work_dir / "kubeconfig"), *BUSY))
    writes = {action: unstopped(scenes[action, "", ""], action, holding) for action in STEPS}
    for case in CASES:
        scenes[case].task(action=case[0], intervalSeconds=INTERVAL, **ALWAYS, **ONCE)
        begun = CASES.index(case) + 1
        until(lambda least=begun - AT_ONCE: len(front.held) > least, f"{begun} are on their way", 300)
    until(lambda: len(front.held) == len(CASES), "all writes are held", 300, [killed.check_alive])
    killed.kill()
    successor = start(account)
    successor.wait_ready()
    stopped = {case: scenes[case] for case in CASES}
    until_all_are_over(list(stopped.values()), successor)
    return Experiment(stopped, writes, len(front.held))


def unstopped(scene: Scene, action: str, holding: Holding) -> list[str]:
    """The writes of a pass that nobody stops."""
    scene.task(action=action, intervalSeconds=INTERVAL, **ALWAYS, **ONCE)
    scene.wait(is_done, "it is done")
    leave(scene)
    return [step_of(call) for call in holding.writes(scene.namespace)]


def until_all_are_over(scenes: list[Scene], operator: OperatorProcess) -> None:
    """Until each task is done, and was evaluated once more; in any order, so that none waits for passes over others."""
    waiting = {scene.namespace: scene for scene in scenes}
    done_at: dict[str, str] = {}

    def nobody_waits() -> bool:
        for task in scenes[0].api.list(AITASK):
            namespace = task["metadata"]["namespace"]
            if namespace in waiting and is_done(task):
                time = task["status"]["lastExecutionTime"]
                if done_at.setdefault(namespace, time) != time:
                    leave(waiting.pop(namespace))
        return not waiting

    try:
        until(nobody_waits, "each is done and was evaluated again", 1200, [operator.check_alive])
    except AssertionError as error:
        raise AssertionError(f"{error}\nnot yet: {sorted(waiting)}; done: {sorted(done_at)}") from None


def leave(scene: Scene) -> None:
    """Its operator looks at the task no longer: the machine is for those that have not come to their end."""
    scene.api.patch(AITASK, "t", scene.namespace, {"metadata": {"labels": None}})


def is_done(task: dict[str, Any]) -> bool:
    """its last act succeeded"""
    return bool(task.get("status", {}).get("lastAction", {}).get("result") == "Succeeded")


def test_the_steps_are_those_of_a_pass_that_nobody_stops(experiment: Experiment) -> None:
    alike = {SECOND_EVENT: FIRST_EVENT, RESULT: INTENT}
    for action, steps in STEPS.items():
        assert experiment.unstopped[action][: len(steps)] == [alike.get(step, step) for step in steps]
    assert experiment.held == len(CASES)


@pytest.mark.behaviour(
    case="killed at any write of a pass that acts",
    sees="after the next start lastAction is Succeeded; one act, whichever write was under way and whether it had "
    "arrived: replicas from 3 to 4, one restartedAt; an Event at least for a notification",
)
@pytest.mark.parametrize(("action", "step", "side"), CASES)
def test_an_operator_killed_at_any_write_has_acted_once(
    experiment: Experiment, action: str, step: str, side: str
) -> None:
    scene = experiment.scenes[action, step, side]
    acts = scene.acts()
    status = scene.status()
    assert status["lastAction"]["result"] == "Succeeded"
    if action == "notify":
        assert {("AITask", "ThresholdBreached"), ("Deployment", "ThresholdBreached")} <= set(scene.events())
        assert acts == []
        return
    assert len(acts) == 1, acts
    notes = acts[0]["metadata"]["annotations"]
    assert notes["aiops.example.com/last-action"] == status["lastAction"]["id"]
    assert len(status["state"]["actTimes"]) == 1
    if action == "restart":
        template = scene.deployment()["spec"]["template"]["metadata"]["annotations"]
        assert template == acts[0]["spec"]["template"]["metadata"]["annotations"]
    assert scene.replicas() == (4 if action == "scale-up" else 3)
    assert {kind for kind, _ in scene.events()} == {"AITask", "Deployment"}


def test_the_kills_are_told(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    """For whoever reads the output: the kills of each step, and the acts counted."""
    with capsys.disabled():
        print("\n| action | write | killed | acts | Events |\n|---|---|---|---|---|")
        for (action, step, side), scene in experiment.scenes.items():
            print(f"| {action} | {step} | {side} it arrived | {len(scene.acts())} | {len(scene.events())} |")
        print(f"{len(experiment.scenes)} tasks killed in the middle of a write")


@pytest.mark.behaviour(
    case="operator upgraded / two replicas",
    sees="of two operators one works; killed in the middle of an act it is followed by the other, which finds the act "
    "done: one act",
)
@pytest.mark.behaviour(
    case="operator-sdk#1513: namespace stuck",
    sees="tasks have no finalizer: with the operator gone a namespace with tasks goes as well",
)
def test_the_second_operator_finds_what_the_first_has_done_and_the_namespace_goes_without_both(
    cluster: Cluster, space: Lab, api: Api, audit: AuditLog, installed: Path, tmp_path: Path
) -> None:
    scene = Scene(space, api, audit, space.namespace)
    scene.web()
    election = (*ELECTION, f"--leader-election-id={space.namespace}")
    operators: list[OperatorProcess] = []
    with FaultyFront(cluster.server, cluster.ca_file, tmp_path) as front:
        front.plan = holding = Holding()
        holding.hold(scene.namespace, 2, ANSWER_HELD)
        kubeconfig = front.kubeconfig(installed, tmp_path / "kubeconfig")
        try:
            for number in range(2):
                directory = tmp_path / str(number)
                operators.append(
                    start_operator(
                        cluster, directory, kubeconfig, *election, label=scene.label, namespaces=scene.namespace
                    )
                )
            leader = until(lambda: [o for o in operators if o.records("became leader")], "there is a leader", 300)[0]
            for operator in operators:
                wait_warm(operator)
            scene.task(**ALWAYS)
            until(lambda: front.held, "the act is done and its answer is held", 300, [leader.check_alive])
            leader.kill()
            (other,) = [operator for operator in operators if operator is not leader]
            scene.sees("ActionPermitted", "False", "Cooldown", "next action not before")
            status = scene.evaluated()
            assert (status["lastAction"]["result"], scene.replicas(), len(scene.acts())) == ("Succeeded", 4, 1)
            assert "found done after an interruption" in status["lastAction"]["message"]
            assert other.stop() == 0
        finally:
            for operator in operators:
                operator.clean_up()
    (task,) = api.list(AITASK, scene.namespace)
    assert "finalizers" not in task["metadata"]
    api.delete(NAMESPACE, scene.namespace)
    api.wait_gone(NAMESPACE, scene.namespace)
    assert (api.list(AITASK, scene.namespace), api.list(DEPLOYMENT, scene.namespace)) == ([], [])


@pytest.mark.behaviour(
    case="the answer to an act is lost",
    sees="the next pass finds the act done: one act, lastAction Succeeded, the cooldown counts from it",
)
@pytest.mark.parametrize("action", ["scale-up", "restart"])
def test_an_act_whose_answer_is_lost_is_done_once(
    web: Scene, front: FaultyFront, holding: Holding, action: str
) -> None:
    holding.hold(web.namespace, 2, "answer lost")
    web.task(action=action, **ALWAYS)
    web.wait(is_done, "it is found done")
    web.sees("ActionPermitted", "False", "Cooldown", "next action not before")
    status = web.evaluated()
    assert (len(web.acts()), len(status["state"]["actTimes"])) == (1, 1)
    assert "found done after an interruption" in status["lastAction"]["message"]
