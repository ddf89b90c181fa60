"""How runs and warm parents end, and that nothing is left of them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_operator.model.watch import Content
from ansible_operator.runner import parents
from ansible_operator.runner.memory import OutOfMemory, oom_kills
from ansible_operator.runner.pool import WarmRunner
from ansible_operator.runner.warm_parent import State
from tests.support.memory_group import memory_group
from tests.support.waiting import until
from tests.warm.player import Player, lose_patience
from tests.warm.runs import environment

pytestmark = pytest.mark.slow

GREEDY = "- debug: {msg: \"{{ ('x' * 900000000) | length }}\"}"
KILLED = "- debug: {msg: \"{{ lookup('pipe', 'kill -9 $PPID') }}\"}"

OPERATOR = """
import asyncio, os
from ansible_operator.runner.pool import WarmRunner

async def main():
    runner = WarmRunner(dict(os.environ), 1)
    await runner.start()
    assert await runner.parent().wait_ready(120)
    print("scratch", runner._guard.scratch, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def scratch_of(runner: WarmRunner) -> Path:
    return runner._guard.scratch


async def gone(path: Path) -> None:
    await asyncio.to_thread(until, lambda: not path.exists(), f"{path} is removed")


async def test_a_killed_parent_leaves_no_directory(runner: WarmRunner) -> None:
    scratch = scratch_of(runner)
    await asyncio.to_thread(until, lambda: len(list(scratch.iterdir())) == 1, "earlier parents are gone")
    (directory,) = scratch.iterdir()
    os.kill(runner.parent().pid, signal.SIGKILL)
    await gone(directory)


async def test_a_stopped_runner_leaves_no_directory() -> None:
    runner = WarmRunner(environment(), 1)
    await runner.start()
    assert await runner.parent().wait_ready(120)
    assert scratch_of(runner).stat().st_mode & 0o777 == 0o700
    await runner.stop()
    assert not scratch_of(runner).exists()


async def test_a_runner_that_is_stopped_while_its_parent_starts_leaves_nothing() -> None:
    runner = WarmRunner(environment(), 1)
    await runner.start()
    parent = runner.parent()
    await asyncio.sleep(0)
    await runner.stop()
    assert parent.state is State.ENDED
    assert not scratch_of(runner).exists()


def test_a_killed_operator_leaves_no_directory() -> None:
    command = [sys.executable, "-c", OPERATOR]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as operator:
        try:
            assert operator.stdout is not None
            words = next(line for line in operator.stdout if line.startswith("scratch ")).split()
            scratch = Path(words[1])
            assert list(scratch.iterdir())
        finally:
            operator.kill()
    until(lambda: not scratch.exists(), f"{scratch} is removed")


async def test_runs_of_a_parent_that_is_silent_for_a_while_are_not_lost(runner: WarmRunner, play: Player) -> None:
    first = runner.parent()
    going, go = play.root / "going", play.root / "go"
    run = asyncio.create_task(play(runner, f"- shell: touch {going}\n- wait_for: {{path: {go}}}"))
    await asyncio.to_thread(until, going.exists, "the run is going", 180)
    lose_patience(runner)
    os.kill(first.pid, signal.SIGSTOP)
    other = asyncio.create_task(play(runner))
    await asyncio.to_thread(until, lambda: first.state is State.RETIRED, "it is taken out of service")
    os.kill(first.pid, signal.SIGCONT)
    go.touch()
    ends = [end for end, _ in await asyncio.gather(run, other)]
    assert [end.exit_code for end in ends] == [0, 0], [end.output_tail for end in ends]
    assert runner.warm_runs == 1, "while it is silent, runs go cold"
    await asyncio.to_thread(until, lambda: first.state is State.ENDED, "the old parent has ended")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds, to be sure, takes less."""
    monkeypatch.setattr(parents, "_BEAT_SECONDS", 0.5)
    monkeypatch.setattr(parents, "_LAST_PING_SECONDS", 2.0)


async def test_runs_of_a_parent_that_hangs_end_and_leave_their_room_to_others(
    impatient: None, runner: WarmRunner, play: Player
) -> None:
    first = runner.parent()
    going = [play.root / f"going{number}" for number in range(4)]
    runs = [asyncio.create_task(play(runner, f"- shell: touch {file}; sleep 600", timeout=600.0)) for file in going]
    for file in going:
        await asyncio.to_thread(until, file.exists, "the run is going", 180)
    lose_patience(runner)
    os.kill(first.pid, signal.SIGSTOP)
    ends = [end for end, _ in await asyncio.wait_for(asyncio.gather(*runs), 300)]
    assert {end.exit_code for end in ends} == {-signal.SIGKILL}
    assert first.state is State.ENDED
    end, _ = await play(runner)
    assert end.exit_code == 0


async def test_a_stop_does_not_wait_for_a_parent_that_hangs(impatient: None, runner: WarmRunner, play: Player) -> None:
    going = play.root / "going"
    run = asyncio.create_task(play(runner, f"- shell: touch {going}; sleep 600"))
    await asyncio.to_thread(until, going.exists, "the run is going", 180)
    lose_patience(runner)
    os.kill(runner.parent().pid, signal.SIGSTOP)
    await asyncio.wait_for(runner.stop(), 300)
    end, _ = await run
    assert end.cancelled


async def test_a_killed_run_of_a_role_leaves_no_playbook(runner: WarmRunner, play: Player) -> None:
    tasks = play.root / "roles/mine/tasks/main.yml"
    tasks.parent.mkdir(parents=True)
    tasks.write_text(KILLED)
    end, _ = await play.run(runner, Content(role=tasks.parents[1]), directory="own")
    assert end.exit_code == -signal.SIGKILL
    assert list((play.root / "own/project").iterdir()) == []


async def test_a_run_killed_for_memory_says_so_and_others_do_not(runner: WarmRunner, play: Player) -> None:
    with memory_group() as group:
        runner._memory = OutOfMemory(lambda: oom_kills(group.events))
        group.limit(700)
        group.add(runner.parent().pid)
        ends = await asyncio.gather(play(runner, GREEDY), play(runner), play(runner, GREEDY))
        assert [end.exit_code for end, _ in ends] == [-signal.SIGKILL, 0, -signal.SIGKILL]
        assert ["out of memory" in end.output_tail for end, _ in ends] == [True, False, True]
        end, _ = await play(runner, KILLED)
        assert "killed by signal 9" in end.output_tail
        assert "out of memory" not in end.output_tail
        await runner.stop()


async def test_a_cold_run_whose_process_is_killed_for_memory_says_so(play: Player) -> None:
    with memory_group() as group:
        group.limit(700)
        runner = WarmRunner(environment(), 1)
        runner._parents.close()
        runner._memory = OutOfMemory(lambda: oom_kills(group.events))
        with group.joined():
            end, _ = await play(runner, GREEDY)
        await runner.stop()
    assert end.exit_code > 0
    assert "killed by the kernel: out of memory" in end.output_tail
