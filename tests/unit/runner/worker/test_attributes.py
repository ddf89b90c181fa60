"""Attributes of tasks and blocks, worked out by Ansible and by what stands in for it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from ansible._internal._datatag._tags import Origin, TrustedAsTemplate
from ansible._internal._templating._engine import TemplateEngine
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.attribute import Attribute, FieldAttribute
from ansible.playbook.base import FieldAttributeBase
from ansible.playbook.block import Block
from ansible.playbook.play import Play
from ansible.playbook.play_context import PlayContext
from ansible.playbook.role_include import IncludeRole
from ansible.playbook.task import Task

from ansible_operator.runner.worker.private import attributes, insides

_REPLACED = [(Attribute, "__get__"), (FieldAttribute, "__get__")] + [
    (FieldAttributeBase, name) for name in ("copy", "load_data", "post_validate", "squash", "validate")
]
VALUES: dict[str, list[Any]] = {
    "name": ["plain", "with {{ word }}", "", None, 5],
    "no_log": [True, False, "{{ true }}", "yes", "maybe", "{{ omit }}", None],
    "ignore_errors": [True, "{{ omit }}", "{{ gone }}"],
    "retries": [1, "2", "{{ 3 }}", "x", 1.5, None],
    "delay": [0, 1.5, "2", "x", "{{ omit }}"],
    "timeout": [0, "5", 1.5, "{{ omit }}"],
    "remote_user": ["a", "{{ word }}", "#jinja2: a", "{ a", 5, ["a"], "{{ omit }}"],
    "connection": ["local", "{{ word }}"],
    "environment": [[], {"A": "b"}, "{{ {'A': word} }}", [{"A": "{{ omit }}"}], 5],
    "tags": ["a", ["a", "b"], "a,b", "{{ word }}"],
    "when": [True, "word is defined", ["a", "b"], []],
    "vars": [{}, {"word": "other"}, {"x": "{{ gone }}"}],
    "collections": [["mine.own"], [], ["{{ word }}"], "mine.own"],
    "register": ["x", "1x", "x{{ 1 }}", None],
    "until": [True, "a"],
    "changed_when": [False, "a", []],
    "loop": [[1], "{{ [1] }}", None],
    "become": [True, "{{ omit }}", "maybe"],
    "become_method": ["sudo", "{{ word }}"],
    "check_mode": [True, "{{ false }}", "{{ omit }}"],
    "async": [0, 5, "{{ 5 }}"],
    "poll": [5, "x"],
    "throttle": [0, "1", "{{ omit }}"],
    "delegate_to": ["other", "{{ word }}", "{{ omit }}"],
    "notify": ["a", ["a", "b"], "{{ word }}"],
    "module_defaults": [{"debug": {"msg": "x"}}, [], 5],
    "loop_control": [{"loop_var": "x"}, {"pause": "1"}, {"label": "{{ word }}"}],
    "debugger": ["never", "{{ omit }}", "x"],
}
CASES = [(name, value) for name, values in VALUES.items() for value in values]
ON_BLOCKS = sorted(set(VALUES) & set(Block.fattributes))


@pytest.fixture
def replaced() -> Iterator[Any]:
    """Puts the replacements in when it is called."""
    saved = [(kind, name, vars(kind)[name]) for kind, name in _REPLACED]
    yield attributes.install
    for kind, name, function in saved:
        setattr(kind, name, function)


def tagged(value: Any) -> Any:
    """As Ansible reads it from a file."""
    if isinstance(value, dict):
        value = {tagged(key): tagged(item) for key, item in value.items()}
    elif isinstance(value, list):
        value = [tagged(item) for item in value]
    elif value is None or isinstance(value, bool):
        return value
    value = Origin(path="/book.yml", line_num=1).tag(value)
    return TrustedAsTemplate().tag(value) if isinstance(value, str) else value


def seen(obj: Any, reading: bool = True) -> Any:
    """What an object holds and, on request, what it says that it holds."""
    held = {name: shown(value) for name, value in vars(obj).items() if f"{name[1:]}" in obj.fattributes}
    return held, {name: shown(getattr(obj, name)) for name in obj.fattributes} if reading else {}


def shown(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value), [shown(item) for item in value], Origin.get_tag(value)
    if isinstance(value, dict):
        return type(value), {key: shown(item) for key, item in value.items()}, Origin.get_tag(value)
    if isinstance(value, FieldAttributeBase):
        return type(value), seen(value)
    return type(value), repr(value), Origin.get_tag(value)


def life(of_block: dict[str, Any], of_task: dict[str, Any]) -> list[Any]:
    """All that becomes of a task in a block, up to the first error."""
    steps: list[Any] = []
    loader = DataLoader()
    templar = TemplateEngine(loader, variables={"word": TrustedAsTemplate().tag("w")})
    data = tagged({"block": [{"debug": {"msg": "{{ word }}"}, **of_task}], **of_block})
    try:
        play = Play().load({"hosts": "localhost", "remote_user": "of the play"}, loader=loader)
        block = Block.load(data, play=play, loader=loader)
        task = block.block[0]
        steps += [seen(block), seen(task, reading=False), seen(task)]
        copied = task.copy()
        steps += [seen(copied, reading=False), copied._uuid == task._uuid, seen(copied)]
        copied.squash()
        steps += [seen(copied, reading=False), seen(copied)]
        play_context = PlayContext().set_task_and_variable_override(copied, {"ansible_user": "u"}, templar)
        play_context.post_validate(templar)
        steps.append(seen(play_context))
        for name in ("delegate_to", "throttle"):
            steps.append(shown(copied.post_validate_attribute(name, templar=templar)))
        copied.post_validate(templar)
        steps += [seen(copied), copied._finalized, seen(block), seen(task), seen(copied.copy())]
    except Exception as error:
        steps.append((type(error), str(error)))
    return steps


def compared(replaced: Any, of_block: dict[str, Any], of_task: dict[str, Any]) -> list[Any]:
    there = life(copy.deepcopy(of_block), copy.deepcopy(of_task))
    replaced()
    assert FieldAttributeBase.copy is attributes._copy
    here = life(copy.deepcopy(of_block), copy.deepcopy(of_task))
    assert here == there
    return here


@pytest.mark.parametrize(("name", "value"), CASES, ids=str)
def test_a_keyword_of_a_task(replaced: Any, name: str, value: Any) -> None:
    compared(replaced, {}, {name: value})


@pytest.mark.parametrize("name", ON_BLOCKS)
def test_a_keyword_of_a_block(replaced: Any, name: str) -> None:
    for value in VALUES[name]:
        compared(replaced, {name: value}, {})
        compared(replaced, {name: value}, {name: VALUES[name][-1]})
        compared(replaced, {name: value}, {name: "{{ omit }}"})


def test_most_tasks_come_to_their_end(replaced: Any) -> None:
    ends = [compared(replaced, {}, {name: values[0]})[-1] for name, values in VALUES.items()]
    assert sum(isinstance(end[0], dict) for end in ends) > len(ends) / 2


def test_a_class_with_ways_of_its_own_keeps_them() -> None:
    class Own(Task):  # type: ignore[misc]
        def _get_attr_name(self) -> str:
            return "own"

    assert attributes._plan(Own) is None
    assert attributes._plan(IncludeRole) is None
    assert attributes._plan(type(None)) is None
    assert attributes._plan(Task) is not None


def test_nothing_is_replaced_that_is_not_known(replaced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = FieldAttributeBase.copy
    monkeypatch.setitem(attributes.BODIES, "ansible.playbook.base:FieldAttributeBase.copy", "another")
    replaced()
    assert FieldAttributeBase.copy is ordinary


def test_no_function_has_no_digest() -> None:
    assert insides.digest("ansible.playbook.base:nothing") == ""
