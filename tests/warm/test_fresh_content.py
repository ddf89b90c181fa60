"""A run that begins after a change is complete plays what was written, not what was in memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.model.events import RunEnd
from ansible_operator.model.watch import Content
from ansible_operator.runner.pool import WarmRunner
from tests.support.waiting import until
from tests.warm.player import Player, messages, warm
from tests.warm.runs import PATIENT, environment

pytestmark = pytest.mark.slow

MODULE = """
from ansible.module_utils.basic import AnsibleModule
{import_}
AnsibleModule({{}}).exit_json(msg={word})
"""
FILTER = """
class FilterModule:
    def filters(self):
        return {{"word": lambda _: "{word}"}}
"""
Run = tuple[RunEnd, list[Any]]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def module(path: Path, word: str, import_: str = "") -> None:
    write(path, MODULE.format(word=word, import_=import_))


def role(path: Path, tasks: str) -> None:
    write(path / "tasks/main.yml", tasks)


async def said(runner: WarmRunner, play: Player, content: Content) -> list[str]:
    """What the next run of the content says, and, as that may have been a cold one, the next warm run as well."""

    async def run() -> list[str]:
        end, events = await play.run(runner, content)
        assert end.exit_code == 0, end.output_tail
        return messages(events)

    first = await run()
    assert await warm(runner, run) == first
    return first


async def test_an_edited_role(runner: WarmRunner, play: Player, tmp_path: Path) -> None:
    content = Content(role=tmp_path / "roles/mine")
    for word in ("one", "two"):
        role(tmp_path / "roles/mine", f"- debug: {{msg: {word}}}")
        assert await said(runner, play, content) == [word]


async def test_a_role_behind_a_link_that_is_set_anew(runner: WarmRunner, play: Player, tmp_path: Path) -> None:
    for word in ("one", "two"):
        role(tmp_path / f"versions/{word}", f"- debug: {{msg: {word}}}")
    link = tmp_path / "roles/mine"
    link.parent.mkdir()
    for word in ("one", "two"):
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / "versions" / word)
        assert await said(runner, play, Content(role=link)) == [word]


async def test_the_data_link_of_a_config_map_is_swapped(runner: WarmRunner, play: Player, tmp_path: Path) -> None:
    """With a role's tasks and a module of it in the volume."""
    volume, place = tmp_path / "volume", tmp_path / "roles/mine"
    for path, key in (("tasks/main.yml", "tasks.yml"), ("library/hello.py", "hello.py")):
        (place / path).parent.mkdir(parents=True)
        (place / path).symlink_to(volume / "..data" / key)
    for word in ("one", "two"):
        write(volume / f"..{word}/tasks.yml", f"- hello:\n- debug: {{msg: {word}}}")
        module(volume / f"..{word}/hello.py", f"'module {word}'")
        (volume / "..new").symlink_to(f"..{word}")
        (volume / "..new").rename(volume / "..data")
        assert await said(runner, play, Content(role=place)) == [f"module {word}", word]


async def test_plugins_appear_and_are_edited_beside_a_role(runner: WarmRunner, play: Player, tmp_path: Path) -> None:
    place = tmp_path / "roles/mine"
    role(place, "- debug: {msg: nothing yet}")
    assert await said(runner, play, Content(role=place)) == ["nothing yet"]
    role(place, '- hello:\n- debug: {msg: "{{ 0 | word }}"}')
    utils = "from ansible.module_utils.mine import WORD"
    for word in ("one", "two"):
        write(place / "filter_plugins/words.py", FILTER.format(word=word))
        write(place / "module_utils/mine.py", f"WORD = 'util {word}'")
        module(place / "library/hello.py", "WORD", utils)
        assert await said(runner, play, Content(role=place)) == [f"util {word}", word]


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[WarmRunner]:
    """Has directories of its own for collections (two, in order), modules, module utilities and filters."""
    paths = {
        "ANSIBLE_COLLECTIONS_PATH": f"{tmp_path}/first:{tmp_path}/second:{os.environ['ANSIBLE_COLLECTIONS_PATH']}",
        "ANSIBLE_LIBRARY": f"{tmp_path}/library",
        "ANSIBLE_MODULE_UTILS": f"{tmp_path}/module_utils",
        "ANSIBLE_FILTER_PLUGINS": f"{tmp_path}/filters",
    }
    for name in ("library", "module_utils", "filters"):
        (tmp_path / name).mkdir()
    runner = WarmRunner(environment(**paths), capacity=1, limits=PATIENT)
    await runner.start()
    try:
        assert await runner.parent().wait_ready(120)
        yield runner
    finally:
        await runner.stop()


async def test_a_collection_installed_at_run_time_and_one_that_comes_before_it(
    shared: WarmRunner, play: Player, tmp_path: Path
) -> None:
    """In a namespace that is in memory already, so that a parent which knew nothing of them could not find them."""
    content = play.book("site.yml", "- kubernetes.mine.hello:\n  register: r\n- debug: {msg: '{{ r.msg }}'}")
    for place in ("second", "first"):
        module(tmp_path / place / "ansible_collections/kubernetes/mine/plugins/modules/hello.py", f"'{place}'")
        assert (await said(shared, play, content))[-1] == place


async def test_shared_plugins_are_edited(shared: WarmRunner, play: Player, tmp_path: Path) -> None:
    content = play.book("site.yml", '- hello:\n  register: r\n- debug: {msg: "{{ r.msg }} {{ 0 | word }}"}')
    module(tmp_path / "library/hello.py", "WORD", "from ansible.module_utils.mine import WORD")
    for word in ("one", "two"):
        write(tmp_path / "module_utils/mine.py", f"WORD = '{word}'")
        write(tmp_path / "filters/words.py", FILTER.format(word=word))
        assert (await said(shared, play, content))[-1] == f"{word} {word}"


async def test_an_edit_that_keeps_size_and_time(shared: WarmRunner, play: Player, tmp_path: Path) -> None:
    content = play.book("site.yml", '- debug: {msg: "{{ 0 | word }}"}')
    file = tmp_path / "filters/words.py"
    write(file, FILTER.format(word="one"))
    assert await said(shared, play, content) == ["one"]
    before = file.stat()
    file.write_text(FILTER.format(word="two"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for cached in file.parent.glob("__pycache__/*"):
        cached.unlink()  # Python itself goes by size and time
    assert await said(shared, play, content) == ["two"]


async def test_an_ansible_cfg_appears_in_the_home(play: Player, tmp_path: Path) -> None:
    runner = WarmRunner(environment(HOME=str(tmp_path / "home")), capacity=1, limits=PATIENT)
    (tmp_path / "home").mkdir()
    await runner.start()
    try:
        assert await runner.parent().wait_ready(120)
        content = play.book("site.yml", "- debug: {msg: \"{{ lookup('config', 'DEFAULT_FORKS') }}\"}")
        assert await said(runner, play, content) == ["5"]
        write(tmp_path / "home/.ansible.cfg", "[defaults]\nforks = 9\n")
        assert await said(runner, play, content) == ["9"]
    finally:
        await runner.stop()


SLOW = """
import pathlib, time
here = pathlib.Path({directory!r})
(here / "read").touch()
deadline = time.monotonic() + 100
while not (here / "go").exists() and time.monotonic() < deadline:
    time.sleep(0.01)
"""


async def test_a_file_that_changes_after_a_starting_parent_has_read_it(tmp_path: Path, play: Player) -> None:
    file = tmp_path / "filters/words.py"
    write(file, SLOW.format(directory=str(tmp_path)) + FILTER.format(word="one"))
    runner = WarmRunner(environment(ANSIBLE_FILTER_PLUGINS=str(file.parent)), capacity=1, limits=PATIENT)
    content = play.book("site.yml", '- debug: {msg: "{{ 0 | word }}"}')
    await runner.start()
    first = runner.parent()
    try:
        await asyncio.to_thread(until, (tmp_path / "read").exists, "the parent has read the file", 120)
        file.write_text(FILTER.format(word="two"))
        (tmp_path / "go").touch()
        assert await first.wait_ready(120)
        assert await said(runner, play, content) == ["two"]
        assert runner.parent() is not first
    finally:
        await runner.stop()
