"""Runs whose configuration is their own: each has its warm parent, and never another's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.model.events import RunEnd
from ansible_operator.model.watch import Content
from ansible_operator.runner.pool import WarmRunner
from ansible_operator.runner.warm_parent import State
from tests.warm.player import Player, messages, warm
from tests.warm.runs import PATIENT, environment

pytestmark = pytest.mark.slow

FORKS = "- debug: {msg: \"{{ lookup('config', 'DEFAULT_FORKS') }}\"}"
MODULE = """
from ansible.module_utils.basic import AnsibleModule
AnsibleModule({}).exit_json(msg="%s")
"""


def configure(play: Player, directory: str, forks: int) -> None:
    project = play.root / directory / "project"
    project.mkdir(parents=True, exist_ok=True)
    (project / "ansible.cfg").write_text(f"[defaults]\nforks = {forks}\n")


async def forks(runner: WarmRunner, play: Player, directory: str) -> list[str]:
    end, events = await play(runner, FORKS, directory=directory)
    assert end.exit_code == 0
    return messages(events)


async def test_an_ansible_cfg_of_its_own_gets_a_warm_parent_of_its_own(runner: WarmRunner, play: Player) -> None:
    configure(play, "own", 7)
    common = runner.parent()
    assert await warm(runner, lambda: forks(runner, play, "own")) == ["7"]
    assert await warm(runner, lambda: forks(runner, play, "another")) == ["5"]
    assert runner.parent() is common
    assert common.runs == 1


async def test_a_changed_ansible_cfg_of_its_own_is_used_at_once(runner: WarmRunner, play: Player) -> None:
    configure(play, "own", 7)
    assert await warm(runner, lambda: forks(runner, play, "own")) == ["7"]
    configure(play, "own", 8)
    assert await forks(runner, play, "own") == ["8"]
    assert await warm(runner, lambda: forks(runner, play, "own")) == ["8"]
    (play.root / "own/project/ansible.cfg").unlink()
    assert await forks(runner, play, "own") == ["5"]


@pytest.fixture
async def narrow() -> AsyncIterator[WarmRunner]:
    """Has room for one parent."""
    runner = WarmRunner(environment(), capacity=4, limits=replace(PATIENT, parents=1))
    await runner.start()
    try:
        assert await runner.parent().wait_ready(120)
        yield runner
    finally:
        await runner.stop()


async def test_the_least_used_parent_goes_when_there_is_no_room(narrow: WarmRunner, play: Player) -> None:
    configure(play, "own", 7)
    common = narrow.parent()
    assert await warm(narrow, lambda: forks(narrow, play, "own")) == ["7"]
    assert common.state in {State.RETIRED, State.ENDED}
    assert await warm(narrow, lambda: forks(narrow, play, "another")) == ["5"]


@pytest.fixture
async def relative(tmp_path: Path) -> AsyncIterator[WarmRunner]:
    """Has a setting that is another in each directory."""
    runner = WarmRunner(environment(ANSIBLE_ROLES_PATH="my_roles"), capacity=1, limits=PATIENT)
    await runner.start()
    yield runner
    await runner.stop()


async def test_a_relative_path_in_a_variable_means_the_directory_of_the_play(
    relative: WarmRunner, play: Player
) -> None:
    async def greet(name: str) -> list[str]:
        tasks = play.root / name / "project/my_roles/greet/tasks"
        tasks.mkdir(parents=True, exist_ok=True)
        (tasks / "main.yml").write_text(f"- debug: {{msg: {name}}}")
        end, events = await play(relative, "- include_role: {name: greet}", directory=name)
        assert end.exit_code == 0, end.output_tail
        return messages(events)

    for name in ("one", "two"):
        assert await warm(relative, lambda name=name: greet(name)) == [name]


def collection(root: Path, namespace: str, word: str) -> None:
    """A collection ``NAMESPACE.mine`` with one module."""
    modules = root / f"ansible_collections/{namespace}/mine/plugins/modules"
    modules.mkdir(parents=True, exist_ok=True)
    (modules / "hello.py").write_text(MODULE % word)


@pytest.mark.parametrize("namespace", ["fresh", "kubernetes"])
async def test_collections_beside_a_playbook(runner: WarmRunner, play: Player, namespace: str) -> None:
    """One whose namespace is in memory already included."""

    async def hello(content: Content) -> tuple[RunEnd, list[Any]]:
        return await play.run(runner, content)

    for place in ("here", "there"):
        collection(play.root / place / "collections", namespace, place)
        content = play.book(
            f"{place}/site.yml", f"- {namespace}.mine.hello:\n  register: r\n- debug: {{msg: '{{{{ r.msg }}}}'}}"
        )
        end, events = await warm(runner, lambda content=content: hello(content))
        assert (end.exit_code, messages(events)[-1:]) == (0, [place]), end.output_tail
