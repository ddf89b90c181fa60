"""The ledger of acts: what it admits, what it holds, and what it makes of a text that a person has written."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import aitask_ledger
import pytest
import yaml
from aitask_ledger import KEY, Ledger, LedgerError, find_storms, parse_ledger, render_ledger
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.properties import json_values
from tests.unit.roles.aitask_simulation import START, LedgerObject, LedgerRefusal, stamp

DEFAULTS: dict[str, Any] = {
    "seconds": 60,
    "hour": 3600,
    "concurrent": 3,
    "hourly": 30,
    "hourly_in_namespace": None,
    "storm_percent": 30,
    "storm_tasks": 5,
    "storm_seconds": 600,
    "check_seconds": 10,
}


def ask(ledger: LedgerObject, act: str, after: float = 0, task: str = "ns/t", **limits: Any) -> dict[str, Any]:
    now = stamp(START + timedelta(seconds=after))
    return aitask_ledger.ask(ledger, {**DEFAULTS, "act": act, "task": task, "now": now, **limits})


def held(answer: dict[str, Any]) -> tuple[str, float]:
    """Reason, and the seconds from the start to the time at which it ends."""
    assert answer["admitted"] is False
    return answer["reason"], (datetime.fromisoformat(answer["until"]) - START).total_seconds()


def test_an_act_is_written_down_before_it_is_admitted_and_admitted_again_without_a_write() -> None:
    ledger = LedgerObject()
    assert ask(ledger, "a")["admitted"] is True
    assert ledger.acts == [{"id": "a", "task": "ns/t", "until": stamp(START + timedelta(seconds=60))}]
    version = ledger.version
    again = ask(ledger, "a", 59, concurrent=1, hourly=1)
    assert (again["admitted"], again["changed"], ledger.version) == (True, False, version)


def test_places_are_free_again_when_their_time_is_over() -> None:
    ledger = LedgerObject()
    for number in range(3):
        assert ask(ledger, f"a{number}", number)["admitted"]
    answer = ask(ledger, "b", 10)
    assert held(answer) == ("GlobalLimit", 60)
    assert answer["message"] == "3 acts are under way, maxConcurrentActions is 3"
    assert ask(ledger, "b", 60)["admitted"]
    assert held(ask(ledger, "c", 60)) == ("GlobalLimit", 61)


def test_an_act_counts_for_the_hour_after_the_time_in_which_it_may_have_been_done() -> None:
    ledger = LedgerObject()
    limits = {"concurrent": 9, "hourly": 2}
    assert ask(ledger, "a", 0, **limits)["admitted"]
    assert ask(ledger, "b", 100, **limits)["admitted"]
    answer = ask(ledger, "c", 200, **limits)
    assert held(answer) == ("GlobalLimit", 3660)
    assert "2 acts in the last hour, the operator's maxActionsPerHour is 2" in answer["message"]
    assert ask(ledger, "c", 3660, **limits)["admitted"]
    assert [entry["id"] for entry in ledger.acts] == ["b", "c"]


def test_an_act_that_was_never_done_takes_its_place_anew() -> None:
    ledger = LedgerObject()
    ask(ledger, "a")
    for number in range(3):
        ask(ledger, f"b{number}", 100)
    assert held(ask(ledger, "a", 110))[0] == "GlobalLimit"
    assert ask(ledger, "a", 160)["admitted"]
    assert [entry["id"] for entry in ledger.acts] == ["b0", "b1", "b2", "a"]


def test_a_namespace_may_have_a_limit_of_its_own() -> None:
    ledger = LedgerObject()
    limits = {"concurrent": 9, "hourly_in_namespace": 1}
    assert ask(ledger, "a", task="shop/a", **limits)["admitted"]
    answer = ask(ledger, "b", task="shop/b", **limits)
    assert held(answer) == ("GlobalLimit", 3660)
    assert "1 acts in shop in the last hour, maxActionsPerNamespacePerHour is 1" in answer["message"]
    assert ask(ledger, "c", task="bank/c", **limits)["admitted"]


def test_who_is_late_asks_again_and_who_is_held_anyway_is_told_so() -> None:
    ledger = LedgerObject()

    def another() -> None:
        ledger.before_write = None
        ask(ledger, "other")

    ledger.before_write = another
    late = ask(ledger, "a")
    assert (late["admitted"], late["conflict"], [e["id"] for e in ledger.acts]) == (False, True, ["other"])
    ledger.before_write, ledger.data = another, None
    ledger.breached, ledger.tasks = {"x": 3, "y": 3}, 6
    answer = ask(ledger, "a")
    assert (held(answer)[0], answer["conflict"]) == ("Storm", False)


def test_a_write_that_took_long_admits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that stood still in between would act when its place is free again, and somebody else with it."""
    ledger, passed = LedgerObject(), iter([0.0, 31.0])
    monkeypatch.setattr(aitask_ledger, "monotonic", lambda: next(passed))
    late = ask(ledger, "a")
    assert (late["admitted"], late["conflict"]) == (False, True)


def test_check_mode_writes_nothing() -> None:
    ledger = LedgerObject()
    asked = {**DEFAULTS, "act": "a", "task": "ns/t", "now": stamp(START)}
    done = aitask_ledger.ask(ledger, asked, check_mode=True)
    assert (done["admitted"], done["changed"], ledger.data) == (True, True, None)


@pytest.mark.parametrize(
    ("breached", "tasks", "everywhere", "places"),
    [
        ({}, 0, False, []),
        ({"a": 2, "b": 2}, 4, False, []),
        ({"a": 2, "b": 2, "c": 1}, 5, True, []),
        ({"a": 3, "b": 3}, 20, False, []),
        ({"a": 3, "b": 4}, 20, False, ["b"]),
        ({"a": 4, "b": 4}, 20, True, []),
        ({"a": 7}, 20, False, ["a"]),
        ({"a": 6}, 20, False, []),
        ({"a": 10, "b": 9}, 30, False, ["a"]),
        ({"a": 11, "b": 5, "c": 5}, 30, True, ["a"]),
        ({"a": 20, "b": 12}, 30, False, ["a", "b"]),
        ({"a": 5, "b": 5}, 10, True, []),
    ],
)
def test_a_storm_is_a_large_share_and_one_namespace_is_its_own_trouble(
    breached: dict[str, int], tasks: int, everywhere: bool, places: list[str]
) -> None:
    assert find_storms(breached, tasks, 30, 5) == (everywhere, places)


def test_a_storm_holds_all_until_it_was_not_seen_for_long_enough() -> None:
    ledger = LedgerObject()
    ledger.breached, ledger.tasks = {"a": 4, "b": 4}, 10
    answer = ask(ledger, "x")
    assert held(answer) == ("Storm", 600)
    assert answer["message"] == "storm: 8 of 10 tasks were breached when last counted"
    assert held(ask(ledger, "x", 10)) == ("Storm", 600)
    assert ledger.counts == 1
    assert held(ask(ledger, "x", 11)) == ("Storm", 611)
    ledger.breached = {"a": 1}
    assert held(ask(ledger, "x", 610)) == ("Storm", 611)
    assert ask(ledger, "x", 611)["admitted"]


def test_a_storm_in_one_namespace_holds_its_own_tasks_only() -> None:
    ledger = LedgerObject()
    ledger.breached, ledger.tasks = {"shop": 8, "bank": 2}, 20
    answer = ask(ledger, "x", task="shop/t")
    assert (held(answer), "in namespace shop" in answer["message"]) == (("Storm", 600), True)
    assert ask(ledger, "y", task="bank/t")["admitted"]


def test_times_that_lie_ahead_are_corrected_once() -> None:
    ledger = LedgerObject()
    day = stamp(START + timedelta(days=1))
    acts = [{"id": f"a{n}", "task": "ns/t", "until": day} for n in range(3)]
    ledger.data = {KEY: json.dumps({"acts": acts, "stormUntil": day, "storms": {"ns": day}, "checkedAt": day})}
    assert held(ask(ledger, "b")) == ("Storm", 600)
    assert {entry["until"] for entry in ledger.acts} == {stamp(START + timedelta(seconds=60))}
    assert held(ask(ledger, "b", 30)) == ("Storm", 600), "a time that was corrected must not move on"
    assert ask(ledger, "b", 600)["admitted"]


ENTRY = {"id": "a", "task": "ns/t", "until": stamp(START)}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"other": "{}"}, "it has no key ledger.json"),
        ({KEY: ""}, "is no JSON"),
        ({KEY: "{"}, "is no JSON"),
        ({KEY: "[" * 100_000}, "is no JSON"),
        ({KEY: "[]"}, "must be a mapping"),
        ({KEY: '{"act": []}'}, "no other fields than acts, breached"),
        ({KEY: '{"acts": {}}'}, "acts must be a list"),
        ({KEY: '{"acts": [1]}'}, "acts[0] must have id, task and until"),
        ({KEY: json.dumps({"acts": [ENTRY, {**ENTRY, "until": "soon"}]})}, "acts[1].until must be a time"),
        ({KEY: json.dumps({"acts": [{**ENTRY, "id": ""}]})}, "acts[0] must have"),
        ({KEY: json.dumps({"acts": [{**ENTRY, "more": "x"}]})}, "acts[0] must have"),
        ({KEY: '{"stormUntil": 5}'}, "stormUntil must be a time"),
        ({KEY: '{"storms": {"ns": "never"}}'}, "storms.ns must be a time"),
        ({KEY: '{"checkedAt": "x"}'}, "checkedAt must be a time"),
        ({KEY: '{"tasks": NaN}'}, "tasks must be a whole number"),
        ({KEY: " " * 600_000}, "is longer than"),
    ],
)
def test_a_text_that_is_none_of_a_ledger_admits_nothing_and_heals_when_it_is_mended(data: Any, words: str) -> None:
    ledger = LedgerObject()
    ledger.data = data
    with pytest.raises(LedgerError) as fault:
        ask(ledger, "a")
    assert words in str(fault.value)
    ledger.data = None
    assert ask(ledger, "a")["admitted"]


@given(json_values | st.text())
def test_any_text_is_a_ledger_or_is_refused(value: Any) -> None:
    for text in (str(value), json.dumps(value), json.dumps({"acts": [value], "storms": value, "stormUntil": value})):
        try:
            found = parse_ledger({KEY: text}, DEFAULTS, START)
        except LedgerError as error:
            assert str(error)
        else:
            assert parse_ledger({KEY: render_ledger(found)}, DEFAULTS, START) == found
    assert parse_ledger({}, DEFAULTS, START) == Ledger()


# --- however many passes, crashes and lost answers ---


@dataclass
class Done:
    """One act that was really done."""

    time: datetime
    namespace: str


class Passes:
    """Tasks that all want to act, step by step: a pass reads, writes and acts, and anything may come between."""

    def __init__(self, concurrent: int, hourly: int, local: int | None) -> None:
        self.limits = {"concurrent": concurrent, "hourly": hourly, "hourly_in_namespace": local}
        self.ledger, self.now = LedgerObject(), START
        self.done: list[Done] = []
        self.numbers: dict[int, int] = {}
        self.under_way: dict[int, Generator[None]] = {}
        self.loses = False

    def step(self, task: int) -> None:
        """One step further in the pass of this task; a new one where none is under way."""
        running = self.under_way.setdefault(task, self._pass(task))
        try:
            next(running)
        except StopIteration:
            del self.under_way[task]

    def crash(self, task: int) -> None:
        self.under_way.pop(task, None)

    def _pass(self, task: int) -> Generator[None]:
        namespace = f"ns{task % 2}"
        identity = f"{task}-{self.numbers.get(task, 0)}"
        asked = {**DEFAULTS, **self.limits, "act": identity, "task": f"{namespace}/t{task}", "now": stamp(self.now)}
        cluster = Stepwise(self.ledger)
        end = self.now + timedelta(seconds=60)
        answer = aitask_ledger.decide(
            parse_ledger(cluster.read()["data"], asked, self.now), asked, self.now, self.ledger.count
        )
        yield  # somebody else may write now
        if answer.ledger is not None:
            written = self.ledger.write({**cluster.seen, "data": {KEY: render_ledger(answer.ledger)}})
            if self.loses or not written or self.now > end - timedelta(seconds=30):
                self.loses = False
                return
        else:
            entry = next(entry for entry in self.ledger.acts if entry["id"] == identity)
            end = datetime.fromisoformat(entry["until"])
        if not answer.admitted:
            return
        yield  # the intent is written; a crash here leaves it to the next pass
        if self.now >= end or identity != f"{task}-{self.numbers.get(task, 0)}":
            return  # a pass does not take as long as an act has its place
        self.done.append(Done(self.now, namespace))
        self.numbers[task] = self.numbers.get(task, 0) + 1  # the target has another generation now
        yield  # the result is not written yet


class Stepwise:
    """Remembers what was read."""

    def __init__(self, ledger: LedgerObject) -> None:
        self.seen = ledger.read()

    def read(self) -> dict[str, Any]:
        return self.seen


happenings = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(
            ["step"] * 12 + ["round"] * 3 + ["crash", "crash all", "lose", "wait 1", "wait 20", "wait 61", "wait 1800"]
        ),
    ),
    min_size=20,
    max_size=80,
)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 3), st.integers(1, 6), st.none() | st.integers(1, 3), happenings)
def test_however_passes_are_interrupted_no_limit_is_exceeded(
    concurrent: int, hourly: int, local: int | None, happened: list[tuple[int, str]]
) -> None:
    world = Passes(concurrent, hourly, local)
    for task, what in happened:
        if what == "step":
            world.step(task)
        elif what == "round":
            for each in [*range(task, 6), *range(task)] * 4:
                world.step(each)
        elif what == "crash":
            world.crash(task)
        elif what == "crash all":
            world.under_way.clear()
        elif what == "lose":
            world.loses = True
        else:
            world.now += timedelta(seconds=int(what.split()[1]))
        under_way = [e for e in world.ledger.acts if datetime.fromisoformat(e["until"]) > world.now]
        assert len(under_way) <= concurrent
        check_hour(world, hourly, local)


def check_hour(world: Passes, hourly: int, local: int | None) -> None:
    recent = [done for done in world.done if done.time > world.now - timedelta(hours=1)]
    assert len(recent) <= hourly
    for namespace in {done.namespace for done in recent} if local is not None else ():
        assert sum(done.namespace == namespace for done in recent) <= local


def test_the_model_does_act_and_is_held() -> None:
    """The property above would hold as well if nothing ever came of a pass."""
    world = Passes(3, 30, None)
    for _ in range(4):
        for task in range(6):
            world.step(task)
    assert len(world.done) >= 1
    world.now += timedelta(seconds=61)
    for _ in range(40):
        for task in range(6):
            world.step(task)
    assert 3 <= len(world.done) <= 6


def test_the_documentation_of_options_is_what_the_module_takes() -> None:
    told = yaml.safe_load(aitask_ledger.DOCUMENTATION)["options"]
    assert set(told) == set(aitask_ledger._OPTIONS)
    for name, option in aitask_ledger._OPTIONS.items():
        assert told[name].pop("description")
        assert told[name] == option, name


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"action": "scale-up"}, True),
        ({"action": "Restart", "suspend": False, "dryRun": False}, True),
        ({"action": "restart", "dryRun": True}, False),
        ({"action": "restart", "suspend": True}, False),
        ({"action": "Notify"}, False),
        ({"action": "none"}, False),
        ({"action": "diagnose"}, False),
        ({"action": "Diagnose", "diagnose": {"fallbackAction": "restart"}}, True),
        ({"action": "diagnose", "diagnose": {"allowedActions": ["notify"]}}, False),
        ({"action": "diagnose", "diagnose": {"allowedActions": ["notify", "scale"]}}, True),
        ({"action": "diagnose", "diagnose": {"fallbackAction": "restart"}, "dryRun": True}, False),
    ],
)
def test_only_what_would_change_something_counts_for_a_storm(spec: dict[str, Any], counts: bool) -> None:
    assert aitask_ledger._is_counted({"spec": spec}) is counts


def test_a_missing_ledger_is_no_empty_one() -> None:
    ledger = LedgerObject()
    ledger.exists = False
    with pytest.raises(LedgerRefusal):
        ask(ledger, "a")
