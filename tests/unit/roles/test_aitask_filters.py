"""The door between the role's tasks and its rules."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

FILE = Path(__file__).parents[3] / "roles" / "aitask" / "filter_plugins" / "aitask.py"
TOLD = {"status": {"message": "{{ lookup('env', 'HOME') }}"}}


@pytest.fixture
def door() -> ModuleType:
    spec = spec_from_file_location("aitask_filters", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "given"),
    [("aitask_plan", ({}, "now", {"model": {"body": "{{ x }}"}})), ("aitask_failure", ({}, "now", "task", "{{ x }}"))],
)
def test_what_the_rules_say_is_marked_as_no_template(
    name: str, given: tuple[Any, ...], door: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From ansible-core 2.19 on nothing that a filter returns is one, so the mark is looked for, not what it does."""
    rules = SimpleNamespace(plan_pass=lambda world: TOLD, report_failure=lambda world, where, message: TOLD)
    monkeypatch.setattr(door, "_rules", lambda: rules)
    monkeypatch.setattr(door, "wrap_var", lambda value: {"marked": value}, raising=False)
    assert door.FilterModule().filters()[name](*given) == {"marked": TOLD}
