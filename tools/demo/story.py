"""The story: what is done, in which order, and what must be seen before it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from demo.errors import DemoError
from demo.kubectl import Kubectl
from demo.metrics import Load, SimulatedMetrics
from demo.operator import ROOT
from demo.view import View
from demo.world import NAMESPACE, World, look

CALM = Load(cpu_percent=45, memory_percent=70)
BUSY = Load(cpu_percent=93, memory_percent=70)
EASED = Load(cpu_percent=55, memory_percent=70)
LEAKING = Load(cpu_percent=30, memory_percent=150)

WORKLOADS = "Deployments web and worker run"
EVALUATED = "AITask web-scale-up is evaluated, and all is well"
SCALED = "load rises: the threshold is breached, web is scaled up"
CLEARED = "load falls: the breach is over"
RESTARTED = "memory of worker leaks: AITask worker-restart restarts it"
DELETED = "deleting a task removes the task, and nothing that it did not own"
TITLES = [WORKLOADS, EVALUATED, SCALED, CLEARED, RESTARTED, DELETED]

_LOOK_SECONDS = 1.0


class Watched(Protocol):
    """What the story needs to know of the operator: ``check`` raises DemoError when it is no longer there."""

    def check(self) -> None: ...


class Story:
    """Tells it on one cluster. ``patience`` is the longest that any step may take, in seconds."""

    def __init__(self, kubectl: Kubectl, operator: Watched, view: View, patience: float) -> None:
        self._kubectl = kubectl
        self._operator = operator
        self._view = view
        self._patience = patience
        self.acts: list[str] = []

    def tell(self) -> None:
        """From calm to calm. DemoError where something is not seen in time."""
        with SimulatedMetrics(self._kubectl, NAMESPACE) as metrics:
            self._workloads(metrics)
            self._evaluated()
            self._scaled(metrics)
            self._cleared(metrics)
            self._restarted(metrics)
            self._deleted()

    def _workloads(self, metrics: SimulatedMetrics) -> None:
        with self._view.step(WORKLOADS) as step:
            self._apply("demo-workloads.yaml")
            metrics.set("web", CALM)
            metrics.set("worker", CALM)
            self._until("both Deployments are available", lambda w: all(_settled(w, n) for n in ("web", "worker")))
            step.detail = "simulated metrics: 45 % CPU, 70 % memory"

    def _evaluated(self) -> None:
        with self._view.step(EVALUATED) as step:
            self._apply("aiops_v1_aitask.yaml", "aiops_v1_aitask_scale_up.yaml")
            step.detail = "pods count once they are 60 s old"
            self._until(
                "the status of web-scale-up shows 45 and no breach",
                lambda w: _value(w, "web-scale-up") == "45" and _condition(w, "web-scale-up", "Ready") == "True",
            )
            step.detail = "status: observedValue 45, threshold 80, Ready"

    def _scaled(self, metrics: SimulatedMetrics) -> None:
        with self._view.step(SCALED) as step:
            before = look(self._kubectl).deployments["web"].wanted
            metrics.set("web", BUSY)
            world = self._until(
                "web-scale-up has scaled web up by one",
                lambda w: w.deployments["web"].wanted == before + 1 and _acted(w, "web-scale-up"),
            )
            step.detail = self._act(world, "web-scale-up")

    def _cleared(self, metrics: SimulatedMetrics) -> None:
        with self._view.step(CLEARED) as step:
            metrics.set("web", EASED)
            self._until(
                "web-scale-up counts as healthy again and web is available",
                lambda w: _condition(w, "web-scale-up", "ThresholdBreached") == "False" and _settled(w, "web"),
            )
            step.detail = "below clearThreshold 60"

    def _restarted(self, metrics: SimulatedMetrics) -> None:
        with self._view.step(RESTARTED) as step:
            self._apply("aiops_v1_aitask_restart.yaml")
            metrics.set("worker", LEAKING)
            self._until("worker is restarted", lambda w: bool(w.deployments["worker"].restarted_at))
            metrics.set("worker", CALM)
            world = self._until(
                "worker is available again", lambda w: _acted(w, "worker-restart") and _settled(w, "worker")
            )
            step.detail = self._act(world, "worker-restart")

    def _deleted(self) -> None:
        with self._view.step(DELETED) as step:
            before = look(self._kubectl).deployments["web"]
            self._kubectl("delete", "aitask", "web-scale-up", "-n", NAMESPACE)
            world = self._until("web-scale-up is gone", lambda w: "web-scale-up" not in w.tasks)
            after = world.deployments.get("web")
            if after is None or (after.uid, after.wanted) != (before.uid, before.wanted):
                raise DemoError("web is no longer what it was before its task was deleted")
            step.detail = f"web stays as it is, with {after.wanted} replicas"

    def _apply(self, *samples: str) -> None:
        for sample in samples:
            self._kubectl("apply", "-f", str(ROOT / "config/samples" / sample))

    def _act(self, world: World, task: str) -> str:
        """Note the last act of a task for the summary."""
        action = world.tasks[task].last_action
        text = str(action.get("message") or f"{action.get('type')} {action.get('from')} -> {action.get('to')}")
        self.acts.append(f"{task}: {text}")
        return text

    def _until(self, what: str, seen: Callable[[World], bool]) -> World:
        """Look again and again until it is seen."""
        deadline = time.monotonic() + self._patience
        while True:
            self._operator.check()
            world = look(self._kubectl)
            self._view.saw(world)
            if seen(world):
                return world
            if time.monotonic() > deadline:
                raise DemoError(f"not seen within {self._patience:.0f} s: {what}\n{_described(world)}")
            time.sleep(_LOOK_SECONDS)  # the interval of looking, with a deadline; nothing is assumed to happen in it


def _settled(world: World, name: str) -> bool:
    deployment = world.deployments.get(name)
    return deployment is not None and deployment.settled


def _value(world: World, task: str) -> str:
    return str(world.tasks[task].status.get("observedValue", "")) if task in world.tasks else ""


def _condition(world: World, task: str, kind: str) -> str:
    return str(world.tasks[task].condition(kind).get("status", "")) if task in world.tasks else ""


def _acted(world: World, task: str) -> bool:
    return task in world.tasks and world.tasks[task].last_action.get("result") == "Succeeded"


def _described(world: World) -> str:
    """What was there instead."""
    lines = [f"  AITask {task.name}: {task.status or 'no status'}" for task in world.tasks.values()]
    lines += [f"  Deployment {name}: {d.available}/{d.wanted} available" for name, d in world.deployments.items()]
    return "\n".join(lines)
