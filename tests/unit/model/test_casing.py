"""What holds for any key; the golden table is in tests/contract."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.model.casing import clashes, snake_keys, to_snake
from tests.support.properties import json_values

KEYS = st.text() | st.text("abAB019_- .HTPURLIs")
WITHOUT_DIGITS = KEYS.filter(lambda key: not any(char.isdigit() for char in key))


@given(KEYS)
def test_every_key_gets_a_name(key: str) -> None:
    assert bool(to_snake(key)) == bool(key)


@given(KEYS.filter(str.strip))
def test_a_name_has_no_capitals_blanks_or_hyphens(key: str) -> None:
    assert not set(to_snake(key)) & set("ABCDEFGHIJKLMNOPQRSTUVWXYZ -")


@given(WITHOUT_DIGITS)
def test_a_name_without_digits_is_its_own_name(key: str) -> None:
    assert to_snake(to_snake(key)) == to_snake(key)


@given(st.text("abcxyz_", min_size=1))
def test_snake_case_stays_as_it_is(key: str) -> None:
    assert to_snake(key) == key


@given(json_values)
def test_the_shape_and_the_values_stay(value: Any) -> None:
    if not clashes(value):
        assert leaves(snake_keys(value)) == leaves(value)


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*sorted(leaf for item in value.values() for leaf in leaves(item)), f"map of {len(value)}"]
    if isinstance(value, list):
        return [f"list of {len(value)}", *(leaf for item in value for leaf in leaves(item))]
    return [repr(value)]


@given(json_values)
def test_the_value_that_comes_in_is_not_changed(value: Any) -> None:
    before = repr(value)
    snake_keys(value)
    assert repr(value) == before


@pytest.mark.parametrize("order", list(permutations(["fooBar", "foo-bar", "foo bar"])), ids=" ".join)
def test_without_a_literal_key_the_winner_does_not_depend_on_the_order(order: tuple[str, ...]) -> None:
    assert snake_keys({key: key for key in order}) == {"foo_bar": "fooBar"}


def test_clashes_are_named_by_their_path_through_maps_and_lists() -> None:
    spec = {"a": {"fooBar": 1, "foo_bar": 1}, "list": [{}, {"xY z": 1, "xy_z": 2}], "fine": {"foo": 1, "bar": 2}}
    assert clashes(spec) == ["a.foo_bar", "list[1].xy_z"]


@pytest.mark.parametrize("value", [None, "text", 3, [], {}, [1, "two"]], ids=repr)
def test_what_has_no_keys_has_no_clashes(value: Any) -> None:
    assert clashes(value) == []
