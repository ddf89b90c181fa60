"""The pure half of ``operator_sdk.util.k8s_status``: which conditions it takes, and what a new status looks like."""

from __future__ import annotations

import importlib.util
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.model.durations import parse_duration
from tests.support.properties import json_values

PLUGINS = Path(__file__).parents[3] / "src/ansible_operator/collections/ansible_collections/operator_sdk/util/plugins"
T0, T1, NOW = "2026-01-31T11:00:00Z", "2026-01-31T11:30:00Z", "2026-01-31T12:00:00Z"


def plugin(name: str) -> ModuleType:
    """A file of the collection, which is no package that Python would find."""
    spec = importlib.util.spec_from_file_location(f"plugin_{Path(name).stem}", PLUGINS / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


status = plugin("module_utils/status.py")


def condition(kind: str, value: str = "True", time: str = T0, **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": value, "lastTransitionTime": time, **more}


# --- merging ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "changes", "new"),
    [
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"a": 3}, {"a": 3, "b": 2}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 3}}, {"a": {"x": 3, "y": 2}}),
        ({"a": {"x": 1}}, {"a": {"x": None}}, {"a": {}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"x": None, "y": 1}}, {"a": {"y": 1}}),
        ({"a": 1}, {}, {"a": 1}),
        ({"conditions": [condition("Ready")]}, {"conditions": None}, {}),
        ({"conditions": [condition("Ready")]}, {"conditions": []}, {"conditions": [condition("Ready")]}),
        ({"conditions": [condition("Ready")]}, {"a": 1}, {"conditions": [condition("Ready")], "a": 1}),
    ],
    ids=str,
)
def test_fields_are_a_merge_patch(old: dict[str, Any], changes: dict[str, Any], new: dict[str, Any]) -> None:
    assert status.merged(old, changes, NOW) == new


def test_conditions_are_merged_by_type_in_their_places_and_new_ones_come_last() -> None:
    old = {"conditions": [condition("A"), condition("B"), condition("C")]}
    changes = {"conditions": [condition("B", "False", T1), condition("D", time=T1)]}
    assert status.merged(old, changes, NOW)["conditions"] == [
        condition("A"),
        condition("B", "False", T1),
        condition("C"),
        condition("D", time=T1),
    ]


def test_conditions_of_others_are_kept_whole() -> None:
    foreign = condition("Running", ansibleResult={"ok": 1}, unknown=[1])
    new = status.merged({"conditions": [foreign, "odd"]}, {"conditions": [condition("Ready")]}, NOW)
    assert new["conditions"] == [foreign, "odd", condition("Ready")]


@pytest.mark.parametrize(
    ("old", "new", "time"),
    [
        ([], {"type": "A", "status": "True"}, NOW),
        ([condition("A")], {"type": "A", "status": "True", "message": "another"}, T0),
        ([condition("A")], {"type": "A", "status": "False"}, NOW),
        ([condition("A")], {"type": "A", "status": "True", "lastTransitionTime": T1}, T1),
        ([{"type": "A", "status": "True"}], {"type": "A", "status": "True"}, NOW),
        ([condition("B")], {"type": "A", "status": "True"}, NOW),
    ],
    ids=["new", "same status", "another status", "given", "had none", "another type"],
)
def test_the_time_moves_with_the_status(old: list[Any], new: dict[str, Any], time: str) -> None:
    merged = status.merged({"conditions": old}, {"conditions": [new]}, NOW)
    assert merged["conditions"][-1]["lastTransitionTime"] == time


def test_force_leaves_nothing_of_the_old_status_but_the_times() -> None:
    old = {"a": 1, "conditions": [condition("A"), condition("B")]}
    changes = {"b": 2, "conditions": [{"type": "B", "status": "True"}]}
    assert status.merged(old, changes, NOW, force=True) == {"b": 2, "conditions": [condition("B")]}


@pytest.mark.parametrize("force", [False, True], ids=["merge", "force"])
def test_the_same_again_changes_nothing_however_late_it_is(force: bool) -> None:
    changes = {"phase": "Up", "conditions": [{"type": "A", "status": "True"}]}
    once = status.merged({}, changes, T0, force)
    assert status.merged(once, changes, NOW, force) == once


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ({"type": "A"}, "status.conditions is not a list"),
        ("A", "status.conditions is not a list"),
        (["A"], r"status.conditions\[0\] is not a condition"),
        ([{"status": "True"}], r"status.conditions\[0\] is not a condition"),
        ([condition("A"), {"type": "B"}], r"status.conditions\[1\] is not a condition; give it a type and a status"),
    ],
    ids=str,
)
def test_conditions_within_the_status_have_to_be_some(conditions: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        status.merged({}, {"conditions": conditions}, NOW)


OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "phase"]), json_values, max_size=3)


@given(OBJECTS, OBJECTS)
def test_what_comes_in_is_not_changed(old: dict[str, Any], changes: dict[str, Any]) -> None:
    before = deepcopy((old, changes))
    status.merged(old, changes, NOW)
    assert (old, changes) == before


@given(OBJECTS, OBJECTS)
def test_merging_twice_is_merging_once(old: dict[str, Any], changes: dict[str, Any]) -> None:
    once = status.merged(old, changes, T0)
    assert status.merged(once, changes, NOW) == once


# --- checking --------------------------------------------------------------------------------------------------------


def test_a_condition_with_every_field_is_taken() -> None:
    full = condition("Ready", reason="AllGood", message="so it is", observedGeneration=3, lastHeartbeatTime=T1)
    assert status.check_conditions([full]) == [full]


@pytest.mark.parametrize(("value", "word"), [(True, "True"), (False, "False"), ("Unknown", "Unknown")])
def test_booleans_become_words(value: Any, word: str) -> None:
    assert status.check_conditions([{"type": "A", "status": value}]) == [{"type": "A", "status": word}]


@pytest.mark.parametrize("reason", ["Ready", "R", "Reason1", "With_Underscore", "A:b", "A,b"])
def test_a_reason_is_one_word(reason: str) -> None:
    status.check_conditions([{"type": "A", "status": "True", "reason": reason}])


@pytest.mark.parametrize("time", [T0, "2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00+01:00", "2026-01-31T12:00Z"])
def test_a_time_is_rfc_3339(time: str) -> None:
    status.check_conditions([{"type": "A", "status": "True", "lastTransitionTime": time}])


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"type": ""}, r"conditions\[1\].type is missing"),
        ({"status": "true"}, r"conditions\[1\].status is 'true'; write one of True, False, Unknown"),
        ({"status": None}, r"conditions\[1\].status is None"),
        ({"reason": "two words"}, r"conditions\[1\].reason is 'two words'; write one CamelCase word"),
        ({"reason": "1st"}, "reason is '1st'"),
        ({"reason": "Ends:"}, "reason is 'Ends:'"),
        ({"reason": "Line\n"}, "reason is"),
        ({"reason": 5}, "reason is 5"),
        ({"lastTransitionTime": "yesterday"}, r"lastTransitionTime is 'yesterday'; write an RFC 3339 time"),
        ({"lastTransitionTime": T0 + "\n"}, "lastTransitionTime is"),
        ({"lastHeartbeatTime": "2026-01-31"}, "lastHeartbeatTime is '2026-01-31'"),
        ({"reasn": "x"}, "reasn is not a field of a condition; use .*reason"),
    ],
    ids=str,
)
def test_what_breaks_the_conventions_is_refused_with_its_place_and_the_cure(wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        status.check_conditions([condition("Fine"), {**condition("A"), **wrong}])


# --- requeue_after ---------------------------------------------------------------------------------------------------


@given(st.text() | st.text("0123456789.hmsnuµμ"))
def test_requeue_after_takes_what_the_operator_can_read_and_nothing_else(text: str) -> None:
    try:
        readable = parse_duration(text) >= 0
    except ValueError:
        readable = False
    if not text.startswith(("+", "-")) and not too_long(text):
        assert bool(requeue_after.DURATION.fullmatch(text)) == readable


def too_long(text: str) -> bool:
    """More than Go's int64 holds is well-formed all the same."""
    return len(text) > 7


requeue_after = plugin("modules/requeue_after.py")
