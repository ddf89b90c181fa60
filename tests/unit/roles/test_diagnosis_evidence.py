"""The evidence of a diagnosis: exactly what it says, what it never says, and how much at most."""

import json
from dataclasses import replace
from typing import Any

import pytest
from aitask_rules.diagnosis import Facts, collect, log_source, redactor_for
from aitask_rules.diagnosis.evidence import MAX_BYTES, MAX_ITEMS
from hypothesis import given

from tests.support.properties import json_values
from tests.unit.roles.breach_cases import DIRECTORY, NAMES, load, make_facts

HIDDEN = ("env-canary", "arg-canary", "note-canary", "task-uid")


def evidence(facts: Facts) -> tuple[str, ...]:
    return collect(facts, redactor_for(facts))


def test_there_are_twenty_breaches_and_each_has_its_evidence() -> None:
    assert len(NAMES) >= 20
    assert {path.stem for path in DIRECTORY.glob("*.txt")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_breach_gives_its_evidence_to_the_letter(name: str) -> None:
    case = load(name)
    assert "\n".join(case.evidence) + "\n" == (DIRECTORY / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_no_name_and_no_secret_is_in_it(name: str) -> None:
    case = load(name)
    told = "\n".join(case.evidence)
    assert [canary for canary in (*case.canaries, *HIDDEN) if canary in told] == []
    planted = json.dumps(case.facts.reads, ensure_ascii=False)
    absent = [c for c in case.canaries if c not in planted and json.dumps(c)[1:-1] not in planted]
    known = ("canary-job", "http_requests_total")  # in the query of the spec, which is not read from the cluster
    assert [c for c in absent if c not in known and c.isascii()] == [], "a canary that was never there proves nothing"


@pytest.mark.parametrize("name", NAMES)
def test_it_is_bounded_and_numbered(name: str) -> None:
    lines = load(name).evidence
    assert [line.partition(" ")[0] for line in lines] == [f"e{n}" for n in range(1, len(lines) + 1)]
    assert len(lines) <= MAX_ITEMS
    assert sum(len(line.encode()) + 1 for line in lines) <= MAX_BYTES
    assert not any("\n" in line for line in lines)


def test_a_flood_is_cut_and_of_logs_the_newest_lines_stay() -> None:
    raw = {
        "pods": [{"times": 200, "ready": False, "message": "ä" * 5000}],
        "events": [{"times": 300, "reason": "R", "message": "NUMBER " + "many words " * 500}],
        "logs": "\n".join(f"line {number} of the log" for number in range(5000)),
    }
    lines = evidence(make_facts(raw))
    assert sum(len(line.encode()) + 1 for line in lines) <= MAX_BYTES
    few = evidence(make_facts({"logs": raw["logs"]}))
    logs = [line for line in few if "log: " in line]
    assert (len(logs), logs[-1].partition(" ")[2]) == (50, "log: line 4999 of the log")


@pytest.mark.parametrize("kind", ["containerStatuses", "initContainerStatuses"])
@pytest.mark.parametrize("when", ["state", "lastState"])
def test_what_a_container_said_as_it_ended_is_told_only_with_its_logs(when: str, kind: str) -> None:
    """It is the end of the log, with terminationMessagePolicy FallbackToLogsOnError."""
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": "last words"}}
    pods = [{"ready": False, "containers": [], kind.removesuffix("Statuses") + "s": [{"name": "app", when: ended}]}]
    silent, told = make_facts({"pods": pods}), make_facts({"pods": pods, "logs": ""})
    assert ["last words" in "\n".join(evidence(facts)) for facts in (silent, told)] == [False, True]
    assert "exit code 1, Error" in "\n".join(evidence(silent)), "how it ended is no log"


def test_times_counts_and_the_order_of_what_was_read_change_nothing() -> None:
    """What would change the evidence would be asked about again."""
    case = load("one-of-many-events").facts
    later = json.loads(json.dumps(dict(case.reads)).replace("T09:", "T11:"))
    later["events"]["resources"].reverse()
    for event in later["events"]["resources"]:
        event["count"] += event["count"] == 11
    moved = replace(case, reads=later, state=replace(case.state, observed_value="88.9"))
    assert evidence(moved) == evidence(case)


@pytest.mark.parametrize(
    ("values", "told"),
    [(("86", "93", "94.4"), "about 90 percent"), (("151", "204.7"), "about 200 percent"), (("7",), "about 7 percent")],
)
def test_a_value_that_moves_a_little_is_the_same_evidence(values: tuple[str, ...], told: str) -> None:
    """Else each sample of a load would be asked about anew."""
    found = {evidence(make_facts({"value": value})) for value in values}
    assert len(found) == 1
    assert told in found.pop()[0]


def test_another_task_gives_other_pseudonyms() -> None:
    facts = load("cpu-busy").facts
    other = replace(facts, task=replace(facts.task, uid="another"))
    assert evidence(other) != evidence(facts)


@given(json_values)
def test_whatever_was_read_gives_evidence(value: Any) -> None:
    """An API server sends no such objects, but an aggregated one or a custom controller may."""
    facts = load("cpu-busy").facts
    names = ("deployment", "pods", "history", "events", "logs")
    for reads in (dict.fromkeys(names, value), {name: {"resources": [value]} for name in names}):
        assert evidence(replace(facts, reads=reads))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu-busy", {}),
        ("memory-killed", {"pod": "checkout-7d9f8c6b5d-x00z9", "container": "app", "previous": True}),
        ("liveness-timeout", {"pod": "checkout-7d9f8c6b5d-x00z9", "container": "app", "previous": False}),
        ("init-fails", {"pod": "checkout-7d9f8c6b5d-x00z9", "container": "migrate", "previous": True}),
        ("sidecar-restarts", {"pod": "checkout-7d9f8c6b5d-x00z9", "container": "proxy", "previous": False}),
        ("slow-dependency", {"pod": "checkout-7d9f8c6b5d-x00z9", "container": "app", "previous": False}),
        ("unschedulable", {}),
    ],
)
def test_logs_are_those_of_the_first_container_in_trouble(name: str, expected: dict[str, Any]) -> None:
    facts = load(name).facts
    assert log_source(facts.target, facts.reads["pods"]) == expected
