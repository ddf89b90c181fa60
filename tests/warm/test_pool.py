"""The life of warm parents: replaced when dead, stale or old, without losing a run; and what runs inherit: nothing."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_operator.runner.freshness import Sources
from ansible_operator.runner.pool import WarmRunner
from ansible_operator.runner.warm_parent import State
from tests.support.waiting import PATIENCE
from tests.warm.player import Player, lose_patience
from tests.warm.runs import PATIENT, environment

pytestmark = pytest.mark.slow


async def test_a_run_is_warm(runner: WarmRunner, play: Player) -> None:
    end, events = await play(runner)
    assert (end.exit_code, runner.warm_runs) == (0, 1)
    assert events[-1]["event"] == "playbook_on_stats"


async def test_runs_overlap(runner: WarmRunner, play: Player) -> None:
    """Each waits for all the others."""
    there = play.root / "there"
    there.mkdir()
    wait = f'- shell: "touch {there}/$$; while [ $(ls {there} | wc -l) -lt 4 ]; do sleep 0.1; done"'
    ends = await asyncio.gather(*(play(runner, wait, timeout=600.0) for _ in range(4)))
    assert [end.exit_code for end, _ in ends] == [0] * 4
    assert runner.warm_runs == 4


async def test_a_dead_parent_is_replaced_and_no_run_is_lost(runner: WarmRunner, play: Player) -> None:
    first = runner.parent()
    os.kill(first.pid, signal.SIGKILL)
    end, _ = await play(runner)
    assert end.exit_code == 0
    assert await runner.parent().wait_ready(120)
    end, _ = await play(runner)
    assert (end.exit_code, runner.warm_runs) == (0, 1)
    assert runner.parent() is not first


async def test_a_parent_that_does_not_answer_is_replaced(runner: WarmRunner, play: Player) -> None:
    first = runner.parent()
    lose_patience(runner)
    os.kill(first.pid, signal.SIGSTOP)
    end, _ = await play(runner)
    assert (end.exit_code, runner.warm_runs) == (0, 0)
    assert runner.parent() is not first


async def test_who_waits_for_an_answer_is_told_when_there_will_be_none(runner: WarmRunner) -> None:
    parent = runner.parent()
    os.kill(parent.pid, signal.SIGSTOP)
    asking = asyncio.create_task(parent.answers(3600))
    await asyncio.sleep(0)
    os.kill(parent.pid, signal.SIGKILL)
    assert not await asyncio.wait_for(asking, PATIENCE)


async def test_a_change_of_what_is_in_memory_starts_a_fresh_parent(
    runner: WarmRunner, play: Player, tmp_path: Path
) -> None:
    file = tmp_path / "loaded.py"
    file.write_text("a")
    first = runner.parent()
    first.sources = Sources([str(file)])
    await play(runner)
    assert runner.warm_runs == 1
    file.write_text("b, longer")
    end, _ = await play(runner)
    assert (end.exit_code, runner.warm_runs) == (0, 1)
    assert runner.parent() is not first
    assert first.state in {State.RETIRED, State.ENDED}


async def test_a_parent_is_recycled_after_enough_runs(play: Player) -> None:
    runner = WarmRunner(environment(), 1, limits=replace(PATIENT, runs=1))
    await runner.start()
    first = runner.parent()
    try:
        for _ in range(40):
            await play(runner)
            if runner.parent() is not first:
                break
            await asyncio.sleep(0.5)
        assert runner.parent() is not first
        warm = runner.warm_runs
        await play(runner)
        assert runner.warm_runs == warm + 1
    finally:
        await runner.stop()


async def test_a_run_that_takes_too_long_is_ended_with_all_it_started(
    runner: WarmRunner, play: Player, tmp_path: Path
) -> None:
    end, _ = await play(runner, "- shell: sleep 600 & sleep 600\n", timeout=3.0)
    assert end.timed_out
    assert end.exit_code == 254
    assert (tmp_path / f"run{play.last}/artifacts/{play.last}/status").read_text() == "canceled"


async def test_a_killed_run_says_so(runner: WarmRunner, play: Player) -> None:
    end, _ = await play(runner, "- debug: {msg: \"{{ lookup('pipe', 'kill -9 $PPID') }}\"}\n")
    assert end.exit_code == -signal.SIGKILL
    assert "killed" in end.output_tail


async def test_nothing_goes_from_run_to_run(runner: WarmRunner, play: Player) -> None:
    canary = "canary-of-an-earlier-run"
    await play(runner, f"- set_fact: {{x: {canary}, cacheable: true}}\n  environment: {{CANARY: {canary}}}\n")
    text = "- shell: env; ls -a $TMPDIR .\n" + "- debug: {msg: '{{ x | default(0) }} {{ vars }}'}\n"
    _, events = await play(runner, text)
    assert canary not in str(events)
    assert canary not in _environment_of(runner.parent().pid)


def _environment_of(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")


async def test_task_uuids_differ_between_runs(runner: WarmRunner, play: Player) -> None:
    (_, one), (_, two) = await play(runner), await play(runner)
    assert not {event["uuid"] for event in one} & {event["uuid"] for event in two}


async def test_another_version_of_ansible_runs_cold(play: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = WarmRunner(environment(ANSIBLE_CALLBACKS_ENABLED="x", PATH="/usr/bin:/bin"), 1)
    monkeypatch.setitem(runner._common, "PATH", "/nonexistent")
    await runner.start()
    assert not await runner.parent().wait_ready(120)
    end, _ = await play(runner)
    assert (end.exit_code, runner.warm_runs) == (0, 0)
    await runner.stop()
