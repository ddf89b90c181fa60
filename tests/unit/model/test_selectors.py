"""Label selectors: matching, and the text that the API server reads."""

from __future__ import annotations

import pytest

from ansible_operator.model.selectors import Requirement, Selector, is_label_value, is_qualified_name

GOLD = Requirement("tier", "In", ("gold",))


@pytest.mark.parametrize(
    ("requirement", "labels", "matches"),
    [
        (GOLD, {"tier": "gold"}, True),
        (GOLD, {"tier": "silver"}, False),
        (GOLD, {}, False),
        (Requirement("tier", "In", ("gold", "silver")), {"tier": "silver"}, True),
        (Requirement("tier", "NotIn", ("gold",)), {"tier": "silver"}, True),
        (Requirement("tier", "NotIn", ("gold",)), {"tier": "gold"}, False),
        (Requirement("tier", "NotIn", ("gold",)), {}, True),
        (Requirement("tier", "Exists"), {"tier": ""}, True),
        (Requirement("tier", "Exists"), {}, False),
        (Requirement("tier", "DoesNotExist"), {}, True),
        (Requirement("tier", "DoesNotExist"), {"tier": ""}, False),
    ],
    ids=str,
)
def test_a_requirement(requirement: Requirement, labels: dict[str, str], matches: bool) -> None:
    assert requirement.matches(labels) is matches


def test_an_empty_selector_selects_everything() -> None:
    assert Selector().matches({})
    assert str(Selector()) == ""


def test_all_requirements_must_hold() -> None:
    selector = Selector((GOLD, Requirement("paused", "DoesNotExist")))
    assert selector.matches({"tier": "gold"})
    assert not selector.matches({"tier": "gold", "paused": "true"})
    assert not selector.matches({"tier": "silver"})


def test_the_text_form() -> None:
    selector = Selector(
        (
            GOLD,
            Requirement("env", "NotIn", ("dev", "test")),
            Requirement("a.io/b", "Exists"),
            Requirement("paused", "DoesNotExist"),
        )
    )
    assert str(selector) == "tier in (gold),env notin (dev,test),a.io/b,!paused"


@pytest.mark.parametrize(
    ("key", "good"),
    [
        *(("tier", True), ("a", True), ("A_b.c-9", True), ("x" * 63, True), ("app.kubernetes.io/part-of", True)),
        *(("", False), ("x" * 64, False), ("-a", False), ("a-", False), ("/a", False), ("a/", False), ("a/b/c", False)),
        *(("Example.com/a", False), (f"{'a.' * 127}b/c", False), (f"{'a.' * 126}b/c", True), ("a b", False)),
        *(("tier\n", False), ("tïer", False)),
    ],
)
def test_a_key_that_a_label_may_have(key: str, good: bool) -> None:
    assert is_qualified_name(key) is good


@pytest.mark.parametrize(
    ("value", "good"),
    [("", True), ("gold", True), ("x" * 64, False), ("a b", False), ("a/b", False), ("gold\n", False)],
)
def test_a_value_that_a_label_may_have(value: str, good: bool) -> None:
    assert is_label_value(value) is good
