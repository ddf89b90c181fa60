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
    monkeypatch.setattr(door, "wrap_var", lambda value: ("marked", value))
    assert door.FilterModule().filters()[name](*given) == {"status": {"message": ("marked", TOLD["status"]["message"])}}


class Lazy(list[Any]):
    """As Ansible's own lists from 2.19 on: nobody but Ansible makes one."""

    def __new__(cls, *_: Any) -> "Lazy":
        raise TypeError("direct construction is not supported")

    @classmethod
    def of(cls, *values: Any) -> "Lazy":
        found: Lazy = list.__new__(cls)
        list.extend(found, values)
        return found


def test_lists_of_ansible_in_a_plan_are_made_plain(door: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"definition": {"containers": Lazy.of({"name": "web"})}}
    monkeypatch.setattr(door, "_rules", lambda: SimpleNamespace(plan_pass=lambda world: told))
    plan = door.FilterModule().filters()["aitask_plan"]({}, "now", {})
    assert plan == {"definition": {"containers": [{"name": "web"}]}}
    assert type(plan["definition"]["containers"]) is list
