"""What is imported, told from the end of the table."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from ansible_operator.runner.worker.imports import Imports


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same order too."""
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def add(*names: str) -> None:
    sys.modules.update({name: ModuleType(name) for name in names})


def test_what_is_new_is_named() -> None:
    imports = Imports()
    then = imports.moment()
    assert imports.since(then) == []
    add("new_a", "new_b")
    later = imports.moment()
    add("new_c")
    assert sorted(imports.since(then)) == ["new_a", "new_b", "new_c"]
    assert imports.since(later) == ["new_c"]


def test_a_module_that_is_loaded_once_more_is_not_new() -> None:
    imports = Imports()
    then = imports.moment()
    import json.scanner as older

    importlib.reload(older)
    assert next(reversed(sys.modules)) == "json.scanner"
    assert imports.since(then) == []
    add("new_a")
    importlib.reload(older)
    assert imports.since(then) == ["new_a"]


@pytest.mark.parametrize("more", [(), ("new_b",), ("new_b", "new_c")])
def test_who_was_there_is_put_back_and_who_is_new_stays(more: tuple[str, ...]) -> None:
    imports = Imports()
    add("old_a", "old_b")
    old = sys.modules["old_a"]
    then = imports.moment()
    del sys.modules["old_a"]
    add("new_a", *more)
    imports.put_back(then)
    assert sys.modules["old_a"] is old
    assert set(more) <= set(sys.modules)
    assert sorted(imports.since(imports.moment())) == []


def test_a_module_that_was_replaced_with_another_gone_is_put_back() -> None:
    imports = Imports()
    add("old_a", "old_b")
    then, old = imports.moment(), sys.modules["old_b"]
    del sys.modules["old_a"]
    sys.modules["old_b"] = ModuleType("old_b")
    imports.put_back(then)
    assert sys.modules["old_b"] is old


def test_what_was_removed_is_not_put_back_by_an_earlier_moment() -> None:
    imports = Imports()
    then = imports.moment()
    add("plugin")
    imports.moment()  # that of a module in the same task
    imports.remove(imports.since(then))
    imports.put_back(then)
    assert "plugin" not in sys.modules
    add("plugin")
    assert imports.since(then) == ["plugin"]


def test_names_since_are_right_where_one_has_gone() -> None:
    imports = Imports()
    add("old_a")
    then = imports.moment()
    del sys.modules["old_a"]
    add("new_a", "new_b")
    assert sorted(imports.since(then)) == ["new_a", "new_b"]


@pytest.mark.parametrize("look", ["moment", "since"])
def test_who_was_missed_by_a_look_in_between_is_put_back_too(look: str) -> None:
    imports = Imports()
    add("old_a")
    then = imports.moment()
    del sys.modules["old_a"]
    if look == "moment":
        imports.moment()
    else:
        imports.since(then)
    imports.put_back(then)
    assert "old_a" in sys.modules
