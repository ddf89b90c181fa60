"""Which parent a configuration gets, and when: with parents that are no processes."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator.runner import parents as module
from ansible_operator.runner.configuration import COMMON, Configuration
from ansible_operator.runner.parents import Limits, Parents
from ansible_operator.runner.warm_parent import State

A, B, C = (Configuration(directory=f"/{name}") for name in "abc")


class FakeParent:
    """Is READY as soon as ``ready`` is called."""

    def __init__(self, configuration: Configuration, on_change: Any) -> None:
        self.configuration = configuration
        self._on_change = on_change
        self.state = State.STARTING
        self.runs = self.memory = 0
        self.age = 0.0
        self.failed = self.bound = False
        self.reason = ""
        self.stale: str | None = None
        self.silent = False
        self.patience: list[float | None] = []
        self.sources = self

    def start(self) -> None: ...

    def changed(self) -> str | None:
        return self.stale

    async def answers(self, seconds: float) -> bool:
        return not self.silent

    async def wait_ready(self, seconds: float) -> bool:
        return self.state is State.READY

    def retire(self, patience: float | None = None) -> None:
        self.patience.append(patience)
        self.to(State.RETIRED)

    async def stop(self) -> None:
        self.to(State.ENDED)

    def to(self, state: State) -> None:
        self.failed = self.state is State.STARTING and state is State.ENDED
        self.state = state
        self._on_change(self)


class Room:
    """Parents, all those ever made, and the time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **limits: Any) -> None:
        self.made: list[FakeParent] = []
        self.now = 1000.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        self.parents = Parents(self._make, Limits(**limits))  # type: ignore[arg-type]

    def _make(self, configuration: Configuration, on_change: Any) -> FakeParent:
        self.made.append(FakeParent(configuration, on_change))
        return self.made[-1]

    async def ask(self, configuration: Configuration = COMMON, ready: bool = True) -> Any:
        """Whom a run of a configuration gets; what starts is ready before the next one asks."""
        parent = await self.parents.ready(configuration)
        if ready and self.made and self.made[-1].state is State.STARTING:
            self.made[-1].to(State.READY)
        return parent


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    return Room(monkeypatch, parents=2)


async def test_a_run_goes_cold_while_its_parent_starts(room: Room) -> None:
    assert await room.ask(ready=False) is None
    assert await room.ask() is None
    assert await room.ask() is room.made[0]
    assert len(room.made) == 1


async def test_each_configuration_has_its_own(room: Room) -> None:
    for configuration in (COMMON, A):
        await room.ask(configuration)
    assert (await room.ask(COMMON)).configuration == COMMON
    assert (await room.ask(A)).configuration == A


async def test_the_one_unused_for_the_longest_time_goes(room: Room) -> None:
    for configuration in (COMMON, A, COMMON):
        await room.ask(configuration)
    common, a = room.made
    for _ in range(2):
        await room.ask(B)
    assert (common.state, a.state) == (State.READY, State.RETIRED)
    assert (await room.ask(B)).configuration == B


async def test_configurations_in_turn_do_not_start_parents_to_no_end(room: Room) -> None:
    for _ in range(10):
        for configuration in (COMMON, A, B, C):
            await room.ask(configuration)
    assert len(room.made) == 2
    assert await room.ask(COMMON) is room.made[0]


async def test_a_changed_ansible_cfg_takes_the_place_of_the_earlier_one(room: Room) -> None:
    before, after = (Configuration("/a", (1, 1, time, time, 1)) for time in (1, 2))
    await room.ask(COMMON)
    await room.ask(before)
    await room.ask(after)
    assert [parent.state for parent in room.made] == [State.READY, State.RETIRED, State.READY]
    assert room.made[2].configuration == after


async def test_one_that_is_stale_is_replaced(room: Room) -> None:
    await room.ask()
    room.made[0].stale = "/a/file"
    assert await room.ask() is None
    assert room.made[0].state is State.RETIRED
    assert await room.ask() is room.made[1]


async def test_where_something_changes_all_the_time_parents_are_not_started_all_the_time(room: Room) -> None:
    await room.ask()
    for _ in range(100):
        room.made[-1].stale = "/tmp"
        assert await room.ask() is None
        room.now += 1
    assert len(room.made) < 12


async def test_one_that_is_silent_is_replaced_and_gets_a_last_chance_for_its_runs(room: Room) -> None:
    await room.ask()
    room.made[0].silent = True
    assert await room.ask() is None
    assert room.made[0].patience == [10.0]
    assert await room.ask() is room.made[1]


async def test_a_successor_takes_over_when_it_is_ready(room: Room) -> None:
    await room.ask()
    room.made[0].runs = 2000
    assert await room.ask(ready=False) is room.made[0]
    assert await room.ask(ready=False) is room.made[0]
    assert len(room.made) == 2
    room.made[1].to(State.READY)
    assert await room.ask() is room.made[1]
    assert room.made[0].state is State.RETIRED


async def test_a_successor_that_fails_is_tried_again(room: Room) -> None:
    await room.ask()
    room.made[0].memory = 500 << 20
    await room.ask(ready=False)
    room.made[1].to(State.ENDED)
    assert await room.ask() is room.made[0]
    assert len(room.made) == 3


@pytest.mark.parametrize("state", [State.UNFIT, State.ENDED])
async def test_what_does_not_start_is_left_alone_for_a_while(room: Room, state: State) -> None:
    for _ in range(10):
        await room.ask(ready=False)
        if room.made[-1].state is State.STARTING:
            room.made[-1].to(state)
    assert len(room.made) == (1 if state is State.UNFIT else 3)
    room.now += 601
    assert await room.ask() is None
    assert await room.ask() is room.made[-1]


async def test_one_that_never_gets_ready_is_given_up(room: Room) -> None:
    await room.ask(ready=False)
    room.made[0].age = 121.0
    assert await room.ask(ready=False) is None
    assert room.made[0].state is State.RETIRED
    await room.ask()
    assert await room.ask() is room.made[1]


async def test_where_settings_are_bound_to_the_directory_the_common_one_serves_nobody(room: Room) -> None:
    assert await room.ask(ready=False) is None
    room.made[0].bound = True
    room.made[0].to(State.READY)
    assert room.parents.bound
    assert room.made[0].state is State.RETIRED


async def test_nothing_starts_after_the_end(room: Room) -> None:
    await room.ask()
    room.parents.close()
    assert await room.ask() is None
    await room.parents.stop()
    assert [parent.state for parent in room.made] == [State.ENDED]
