"""An operator behind a front that injects faults: whatever goes wrong on the way to the API server, nothing is lost."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster
from tests.support.api import Api, Object, conditions, state, succeeded_at_generation
from tests.support.faulty_front import FaultyFront, Seeded
from tests.support.kinds import CONFIG_MAP, THING
from tests.support.operator import OperatorProcess, Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

ENOUGH = 1000
SEED = int(os.environ.get("FAULT_SEED", "20261130"))
"""Which request meets which fault hangs on timing as well, so a seed narrows a failure down and does not repeat it."""

RATES = {
    "list": 0.5,
    "watch": 0.7,
    "list of definitions": 0.5,
    "watch of definitions": 0.7,
    "object read": 0.4,
    "status write": 0.4,
    "finalizer patch": 0.5,
    "lease": 0.1,
    "discovery": 0.3,
    "play GET": 0.1,
    "play POST": 0.2,
    "play PATCH": 0.2,
}
SHORT_WATCHES = "import ansible_operator.kube.informer as i; i.WATCH_SECONDS = 2; i.SILENCE_SECONDS = 3"
CHILD = """
    - name: The child
      kubernetes.core.k8s:
        state: present
        definition:
          apiVersion: v1
          kind: ConfigMap
          metadata:
            name: "child-{{ ansible_operator_meta.name }}"
            namespace: "{{ ansible_operator_meta.namespace }}"
          data:
            step: "step {{ step }}"
"""
FINALIZE = """
    - name: Something outside the cluster is cleaned up
      ansible.builtin.copy:
        dest: "{{ finalized }}/{{ ansible_operator_meta.name }}"
        content: done
"""


@dataclass
class Scene:
    """An operator behind a front: what its tests share."""

    api: Api
    namespace: str
    project: Project
    front: FaultyFront
    begin: Callable[..., OperatorProcess]
    operators: list[OperatorProcess] = field(default_factory=list)

    @property
    def operator(self) -> OperatorProcess:
        """The one that runs now."""
        return self.operators[-1]

    def keep(self, *flags: str, **options: Any) -> None:
        """Start an operator, and again whenever it has lost its lease, as the kubelet does."""
        begin, self.begin = self.begin, lambda **more: begin(*flags, **{**options, **more})
        self.operators.append(self.begin())

    def check(self) -> None:
        """An operator that has ended must have lost its lease, which is the one reason for which it may."""
        status = self.operator.exit_status
        if status is not None:
            last = self.operator.stderr.splitlines()[-1]
            assert (status, "lease was lost" in last) == (1, True), self.operator.log_tail()
            self.operator.wait_exit()
            self.operators.append(self.begin(work_dir=self.operator.work_dir))

    def until(self, condition: Callable[[], Any], what: str, seconds: float = 600.0) -> None:
        """Wait, and keep it running."""
        until(condition, f"{what} ({self.front.injected} faults so far, seed {SEED})", seconds, [self.check])

    def alive(self) -> list[Object]:
        """The objects that nobody has deleted."""
        things = self.api.list(THING, self.namespace)
        return [obj for obj in things if "deletionTimestamp" not in obj["metadata"]]

    def set_step(self, step: int) -> None:
        """Change all objects."""
        for obj in self.alive():
            self.api.patch(THING, obj["metadata"]["name"], self.namespace, {"spec": {"step": step}})

    def done(self) -> list[Object]:
        """The objects that stand as they should."""
        return [obj for obj in self.alive() if succeeded_at_generation(obj)]

    def children(self) -> dict[str, Object]:
        """What runs have made, by name."""
        maps = {obj["metadata"]["name"]: obj for obj in self.api.list(CONFIG_MAP, self.namespace)}
        return {name: obj for name, obj in maps.items() if name.startswith("child-")}


@pytest.fixture
def scene(
    api: Api, namespace: str, project: Project, start: Start, cluster: Cluster, tmp_path: Path
) -> Iterator[Scene]:
    with FaultyFront(cluster.server, cluster.ca_file, tmp_path) as front:
        kubeconfig = front.kubeconfig(cluster.kubeconfig, tmp_path / "kubeconfig")
        yield Scene(api, namespace, project, front, partial(start, kubeconfig=kubeconfig))


def test_a_thousand_faults_and_nothing_is_lost(
    scene: Scene, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    finalized = tmp_path / "finalized"
    finalized.mkdir()
    finalizer = {"name": "test.example.com/clean", "role": "finalize", "vars": {"finalized": str(finalized)}}
    scene.project.watches({**THING.watch, "role": "child", "finalizer": finalizer})
    scene.project.role("child", CHILD)
    scene.project.role("finalize", FINALIZE)
    names = [f"thing-{number:02}" for number in range(30)]
    for name in names:
        scene.api.create(THING, THING.object(name, scene.namespace, spec={"step": 1}))
    misfortunes = Misfortunes(scene, doomed=names[:10])
    misfortunes.happen()
    check_that_nothing_is_lost(scene, names[10:], misfortunes.step)
    assert sorted(path.name for path in finalized.iterdir()) == names[:10]
    front, restarts = scene.front, len(scene.operators) - 1
    told = f"seed {SEED}: {front.injected} faults injected, {restarts} restarts, nothing lost\n{front.table()}"
    record_property("faults", told)
    print(told)


class Misfortunes:
    """What goes wrong in that test, one thing after the other."""

    def __init__(self, scene: Scene, doomed: list[str]) -> None:
        self._scene = scene
        self._doomed = doomed
        self._seeded = Seeded(SEED, RATES)
        self.step = 1

    def happen(self) -> None:
        """From the start of the operator to the last fault."""
        scene, dice = self._scene, random.Random(SEED)
        scene.front.delay = lambda: dice.uniform(0.0, 0.5)
        scene.front.plan = self._seeded
        election = ("--leader-elect", "--leader-election-id=kept", f"--leader-election-namespace={scene.namespace}")
        flags = (*election, "--max-concurrent-reconciles=4", "--max-concurrent-runs=2")
        scene.keep(*flags, preface=SHORT_WATCHES, ready=False)
        scene.until(lambda: all(obj.get("status") for obj in scene.alive()), "every object was begun with")
        self._change()
        for name in self._doomed:
            scene.api.delete(THING, name, scene.namespace)
        self._lose_the_lease()
        while scene.front.injected < ENOUGH:
            self._change()
            scene.until(lambda: len(scene.done()) >= 10, f"half of all are at step {self.step}")
        self._change()
        scene.front.plan = lambda call: None

    def _change(self) -> None:
        self.step += 1
        self._scene.set_step(self.step)

    def _lose_the_lease(self) -> None:
        scene = self._scene
        before = len(scene.operators)
        scene.front.plan = lambda call: "503" if call.where == "lease" else self._seeded(call)
        scene.until(lambda: len(scene.operators) > before, "the lease is lost, and the operator starts again")
        scene.front.plan = self._seeded
        scene.until(lambda: scene.operator.records("started"), "it leads again")


def check_that_nothing_is_lost(scene: Scene, names: list[str], step: int) -> None:
    """Objects, children and the operator itself are as if there had been no fault."""
    scene.until(
        lambda: len(scene.done()) == len(scene.api.list(THING, scene.namespace)) == len(names),
        "all are at their latest generation, and the deleted ones are gone",
    )
    expected = [f"child-{name}" for name in names]
    scene.until(lambda: sorted(scene.children()) == expected, "children are where their owners are, and nowhere else")
    children = scene.children()
    for obj in scene.alive():
        child = children[f"child-{obj['metadata']['name']}"]
        assert child["data"] == {"step": f"step {step}"}
        assert [owner["uid"] for owner in child["metadata"]["ownerReferences"]] == [obj["metadata"]["uid"]]
        assert "Failure" not in conditions(obj) or state(obj, "Failure") == "False"
    scene.operator.wait_ready()
    assert scene.operator.probe("/healthz")[0] == 200
    assert [complaint for operator in scene.operators for complaint in operator.complaints()] == []
