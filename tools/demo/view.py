"""How the demo looks: on a terminal a picture that is kept up to date, elsewhere a line for each thing that happens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from demo.world import Task, World

_MARKS = {"waiting": " ", "working": "…", "done": "✔", "failed": "✘"}
_STYLES = {"waiting": "dim", "working": "bold", "done": "green", "failed": "bold red"}


@dataclass
class Step:
    """One step of the story and how far it is."""

    title: str
    state: str = "waiting"
    detail: str = ""
    seconds: float = 0.0


class View:
    """Shows the steps, and what the API server says meanwhile."""

    def __init__(self, titles: list[str], console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.steps = [Step(title) for title in titles]
        self._world = World()
        self._said: dict[str, str] = {}
        self._live: Live | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Keep the picture up while the body runs."""
        if not self.console.is_terminal:
            yield
            return
        with Live(self._picture(), console=self.console, refresh_per_second=8, get_renderable=self._picture) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """One step: working until the body ends, then done, or failed where it raises."""
        step = next(step for step in self.steps if step.title == title)
        step.state = "working"
        started = time.monotonic()
        self._line(f"{self._number(step)} {title} …")
        try:
            yield step
        except BaseException:
            step.state = "failed"
            raise
        else:
            step.state = "done"
        finally:
            step.seconds = time.monotonic() - started
            self._line(f"{self._number(step)} {step.state} in {step.seconds:.1f} s. {step.detail}")

    def progress(self, text: str) -> None:
        """Something happened within the step that is being worked on."""
        working = next((step for step in self.steps if step.state == "working"), None)
        if working is not None:
            working.detail = text
        self._line(f"      {text}")

    def saw(self, world: World) -> None:
        """The latest look at the cluster; changes are told."""
        self._world = world
        for task in world.tasks.values():
            self._tell(f"AITask {task.name}", _told(task))
        for name, deployment in world.deployments.items():
            self._tell(f"Deployment {name}", f"{deployment.available}/{deployment.wanted} available")

    def _tell(self, name: str, text: str) -> None:
        if self._said.get(name) != text:
            self._said[name] = text
            self._line(f"      {name}: {text}")

    def _line(self, text: str) -> None:
        if self._live is None:
            self.console.print(text, soft_wrap=True)

    def _number(self, step: Step) -> str:
        return f"[{self.steps.index(step) + 1}/{len(self.steps)}]"

    def _picture(self) -> RenderableType:
        return Group(self._list(), Panel(self._tables(), title="kubectl would show", border_style="dim"))

    def _list(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for step in self.steps:
            style = _STYLES[step.state]
            mark: RenderableType = Text(_MARKS[step.state], style)
            if step.state == "working":
                mark = Spinner("dots", style=style)
            seconds = f"{step.seconds:.0f} s" if step.state in ("done", "failed") else ""
            table.add_row(mark, Text(step.title, style), Text(seconds, "dim"), Text(step.detail, "dim"))
        return table

    def _tables(self) -> RenderableType:
        tasks = Table("AITask", "Target", "Action", "Value / threshold", "Phase", "Says", box=None, pad_edge=False)
        for task in self._world.tasks.values():
            value = f"{task.status.get('observedValue', '-')} / {task.spec['threshold']}"
            phase = task.status.get("phase", "-")
            tasks.add_row(task.name, task.spec["targetDeployment"], task.spec["action"], value, phase, task.says())
        deployments = Table("Deployment", "Available", "Restarted at", box=None, pad_edge=False)
        for name, deployment in self._world.deployments.items():
            deployments.add_row(name, f"{deployment.available}/{deployment.wanted}", deployment.restarted_at or "-")
        note = Text("Metrics are simulated (PodMetrics set through the API).", "dim italic")
        return Group(tasks, Text(), deployments, note)


def _told(task: Task) -> str:
    status = task.status
    if not status:
        return "no status yet"
    value = f"value {status.get('observedValue', '-')}, threshold {task.spec['threshold']}"
    return f"{value}, {status.get('phase')}: {task.says()}"
