"""The runtime's own conditions: types, order, reasons, texts and times (contract 4.6)."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.model import conditions
from ansible_operator.model.events import Outcome, Stats
from tests.support.properties import json_values

T0, T1, T2 = "2026-01-31T12:00:00Z", "2026-01-31T12:00:05Z", "2026-01-31T12:01:00Z"
AT_T1 = datetime(2026, 1, 31, 12, 0, 5, 250000, tzinfo=UTC)
AT_T2 = datetime(2026, 1, 31, 12, 1, tzinfo=UTC)
GOOD = Outcome(True, "", Stats(ok=5, changed=2, skipped=1), None, loaded=True)
BAD = Outcome(False, "no such thing", Stats(ok=1, failures=1), None, loaded=True)

Conditions = list[dict[str, Any]]


def of(found: Any, kind: str) -> dict[str, Any]:
    (condition,) = [condition for condition in found if condition["type"] == kind]
    return dict(condition)


def types(found: Any) -> list[str]:
    return [condition["type"] for condition in found]


def test_a_first_run_begins() -> None:
    assert conditions.started([], T0, 1) == [
        {
            "type": "Running",
            "status": "True",
            "reason": "Running",
            "message": "Running reconciliation",
            "observedGeneration": 1,
            "lastTransitionTime": T0,
        }
    ]


def test_a_run_ends_well() -> None:
    before = conditions.started([], T0, 1)
    assert conditions.ended(before, GOOD, AT_T1, 1) == [
        {
            "type": "Running",
            "status": "True",
            "reason": "Successful",
            "message": "Awaiting next reconciliation",
            "observedGeneration": 1,
            "ansibleResult": {
                "ok": 5,
                "changed": 2,
                "skipped": 1,
                "failures": 0,
                "completion": "2026-01-31T12:00:05.25+00:00",
            },
            "lastTransitionTime": T0,
        },
        {
            "type": "Successful",
            "status": "True",
            "reason": "Successful",
            "message": "Last reconciliation succeeded",
            "observedGeneration": 1,
            "lastTransitionTime": T1,
        },
        {
            "type": "Failure",
            "status": "False",
            "reason": "Failed",
            "message": "",
            "observedGeneration": 1,
            "lastTransitionTime": T1,
        },
    ]


def test_a_run_fails() -> None:
    before = conditions.started([], T0, 1)
    after = conditions.ended(before, BAD, AT_T1, 1)
    assert types(after) == ["Running", "Failure", "Successful"]
    assert of(after, "Running") == {
        "type": "Running",
        "status": "False",
        "reason": "Running",
        "message": "Running reconciliation",
        "observedGeneration": 1,
        "lastTransitionTime": T1,
    }
    assert of(after, "Failure") == {
        "type": "Failure",
        "status": "True",
        "reason": "Failed",
        "message": "no such thing",
        "observedGeneration": 1,
        "ansibleResult": {
            "ok": 1,
            "changed": 0,
            "skipped": 0,
            "failures": 1,
            "completion": "2026-01-31T12:00:05.25+00:00",
        },
        "lastTransitionTime": T1,
    }
    assert of(after, "Successful") == {
        "type": "Successful",
        "status": "False",
        "reason": "Successful",
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": T1,
    }


def test_a_run_that_could_not_start_fails_without_a_result() -> None:
    after = conditions.failed([], "bad period", T0, 1)
    assert (of(after, "Failure")["status"], of(after, "Failure")["message"]) == ("True", "bad period")
    assert all("ansibleResult" not in condition for condition in after)


@pytest.mark.parametrize("outcome", [GOOD, BAD], ids=["good", "bad"])
def test_while_a_run_goes_on_the_verdict_on_the_last_one_stays(outcome: Outcome) -> None:
    before = conditions.ended([], outcome, AT_T1, 1)
    during = conditions.started(before, T2, 2)
    assert of(during, "Successful") == of(before, "Successful")
    assert of(during, "Failure") == of(before, "Failure")
    assert (of(during, "Running")["status"], of(during, "Running")["reason"]) == ("True", "Running")


def test_a_time_moves_only_with_its_status() -> None:
    first = conditions.ended(conditions.started([], T0, 1), GOOD, AT_T1, 1)
    second = conditions.ended(conditions.started(first, T2, 2), GOOD, AT_T2, 2)
    assert [condition["lastTransitionTime"] for condition in second] == [T0, T1, T1]
    failed = conditions.ended(second, BAD, AT_T2, 2)
    assert {condition["lastTransitionTime"] for condition in failed} == {T2}


def test_a_second_failure_keeps_the_time_and_brings_the_new_message() -> None:
    first = conditions.ended([], BAD, AT_T1, 1)
    second = conditions.failed(first, "another reason", T2, 1)
    assert of(second, "Failure")["lastTransitionTime"] == T1
    assert of(second, "Failure")["message"] == "another reason"


def test_a_condition_without_a_time_gets_one() -> None:
    assert of(conditions.started([{"type": "Running", "status": "True"}], T0, 1), "Running")["lastTransitionTime"] == T0


def test_the_result_moves_from_running_to_failure_and_back() -> None:
    good = conditions.ended([], GOOD, AT_T1, 1)
    assert ["ansibleResult" in condition for condition in good] == [True, False, False]
    bad = conditions.ended(good, BAD, AT_T2, 1)
    assert {condition["type"] for condition in bad if "ansibleResult" in condition} == {"Failure"}


def test_an_object_without_generations_gets_none() -> None:
    assert "observedGeneration" not in of(conditions.started([], T0, 0), "Running")


def test_every_reason_and_time_is_there_as_the_conventions_ask() -> None:
    for change in (
        conditions.ended([], GOOD, AT_T1, 1),
        conditions.ended([], BAD, AT_T1, 1),
        conditions.started([], T0, 1),
    ):
        assert all(condition["reason"] and condition["lastTransitionTime"] for condition in change)


OWN = {"Running", "Successful", "Failure"}
FOREIGN = st.fixed_dictionaries(
    {"type": st.text(min_size=1).filter(lambda kind: kind not in OWN), "status": st.sampled_from(["True", "False"])},
    optional={"reason": st.text(), "observedGeneration": st.integers(), "extra": json_values},
)
CHANGES = [
    lambda before: conditions.started(before, T0, 1),
    lambda before: conditions.ended(before, GOOD, AT_T1, 1),
    lambda before: conditions.ended(before, BAD, AT_T1, 1),
    lambda before: conditions.failed(before, "why", T0, 1),
    lambda before: conditions.only_failure(before, "why", T0, 1),
    conditions.without_failure,
]


@given(st.lists(FOREIGN, max_size=4), st.lists(st.sampled_from(CHANGES), max_size=4))
def test_foreign_conditions_are_kept_whole_and_in_order(foreign: Conditions, changes: list[Any]) -> None:
    found: Any = deepcopy(foreign)
    for change in changes:
        found = change(found)
        assert len(types(found)) == len(set(types(found))) or len(types(foreign)) != len(set(types(foreign)))
    assert [condition for condition in found if condition["type"] not in OWN] == foreign


@pytest.mark.parametrize("odd", [{"status": "True", "note": "who am I"}, "text", None], ids=repr)
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_no_condition_stays_as_well(change: Any, odd: Any) -> None:
    assert odd in change([odd])
    assert not conditions.has_failure([odd])


@pytest.mark.parametrize("change", CHANGES)
def test_what_comes_in_is_not_changed(change: Any) -> None:
    before = conditions.ended([{"type": "Ready", "status": "True"}], BAD, AT_T1, 1)
    copy = deepcopy(before)
    change(before)
    assert before == copy


@pytest.mark.parametrize("change", CHANGES[:5])
def test_the_same_change_again_changes_nothing(change: Any) -> None:
    once = change([{"type": "Ready", "status": "True"}])
    assert change(once) == once


def test_a_role_that_owns_the_status_gets_only_the_failure_it_cannot_report_itself() -> None:
    ready = {"type": "Ready", "status": "False"}
    after = conditions.only_failure([ready], "load error", T0, 3)
    assert types(after) == ["Ready", "Failure"]
    assert conditions.has_failure(after)
    assert conditions.without_failure(after) == [ready]
    assert not conditions.has_failure([ready])


@pytest.mark.parametrize(
    ("microsecond", "text"),
    [
        (0, "2026-01-31T12:00:05+00:00"),
        (250000, "2026-01-31T12:00:05.25+00:00"),
        (1, "2026-01-31T12:00:05.000001+00:00"),
        (123456, "2026-01-31T12:00:05.123456+00:00"),
        (100, "2026-01-31T12:00:05.0001+00:00"),
    ],
)
def test_the_completion_has_the_go_operators_layout(microsecond: int, text: str) -> None:
    assert conditions.completion(datetime(2026, 1, 31, 12, 0, 5, microsecond, tzinfo=UTC)) == text


def test_other_times_are_rfc_3339_to_the_second() -> None:
    assert conditions.rfc3339(AT_T1) == "2026-01-31T12:00:05Z"
