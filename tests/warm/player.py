"""Plays for runners with warm parents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_operator.model.events import RunEnd
from ansible_operator.model.watch import Content
from ansible_operator.runner.interface import RunRequest
from ansible_operator.runner.pool import WarmRunner
from ansible_operator.runner.processes import processes_of
from tests.warm.runs import IDENTS, NO_CLUSTER, OWNER

DEBUG = "- debug: {msg: hello}"
_PATIENCE = 120.0


class Player:
    """Plays tasks, or a file, or a role; each run has a directory of its own but where one is named."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.last = ""

    def request(self, content: Content, directory: str = "", **more: Any) -> RunRequest:
        self.last = next(IDENTS)
        place = self.root / (directory or f"run{self.last}")
        return RunRequest(place, self.last, OWNER, content, more.pop("variables", {}), NO_CLUSTER, **more)

    async def run(self, runner: WarmRunner, content: Content, **more: Any) -> tuple[RunEnd, list[Any]]:
        events: list[Any] = []
        request = self.request(content, **more)
        end = await runner.run(request, events.append)
        assert processes_of(request.ident) == []
        return end, events

    async def __call__(self, runner: WarmRunner, tasks: str = DEBUG, **more: Any) -> tuple[RunEnd, list[Any]]:
        return await self.run(runner, self.book(f"play{next(IDENTS)}.yml", tasks), **more)

    def book(self, path: str, tasks: str) -> Content:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"    {line}\n" for line in tasks.splitlines())
        file.write_text(f"- hosts: localhost\n  gather_facts: false\n  tasks:\n{lines}")
        return Content(playbook=file)


async def warm(runner: WarmRunner, attempt: Callable[[], Any]) -> Any:
    """The first result of ``attempt`` that came of a warm run; a parent may have to be started for it first."""
    for _ in range(6):
        for place in list(runner._parents._places.values()):
            if place.parent is not None:
                await place.parent.wait_ready(_PATIENCE)
        before = runner.warm_runs
        result = await attempt()
        if runner.warm_runs > before:
            return result
    raise AssertionError("no run went warm")


def lose_patience(runner: WarmRunner) -> None:
    """From now on a parent must answer within a second, as in an operator."""
    runner._parents.limits = replace(runner._parents.limits, answer=1.0)


def messages(events: list[Any]) -> list[str]:
    """What the debug tasks of a run said."""
    results = [event["event_data"]["res"] for event in events if event["event"] == "runner_on_ok"]
    return [str(result["msg"]) for result in results if "msg" in result]
