"""Label selectors: matching, and the text that the API server reads."""

from __future__ import annotations

import pytest

from ansible_operator.model.selectors import Requirement, Selector

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
