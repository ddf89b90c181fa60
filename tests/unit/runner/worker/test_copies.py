"""Copies of what YAML files hold are those that Ansible would make."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils._internal._datatag import AnsibleTagHelper
from ansible.parsing.dataloader import DataLoader

from ansible_operator.runner.worker.private.copies import Copies

ROOT = Path(__file__).parents[4]
TEXTS = {
    "scalars": "[1, 2.5, true, null, text, 2026-11-30, 2026-11-30T10:00:00Z, 0x1F, !!binary aGk=, '']",
    "templates": "a: '{{ b }}'\nc: [ '{% if d %}e{% endif %}' ]",
    "aliases": "a: &a {x: [1]}\nb: *a\nc: [*a, *a]",
    "merges": "a: &a {x: 1}\nb: {<<: *a, y: 2}",
    "unsafe": "a: !unsafe '{{ b }}'\nc: !unsafe [ '{{ d }}' ]",
    "vaults": "a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3161\n",
    "sets": "!!set {a, b}",
    "empty": "{}",
    "keys": "{1: a, 2.5: b, true: c}",
}
FILES = [*sorted(ROOT.glob("roles/*/*/*.yml")), *sorted(ROOT.glob("playbooks/*.yml"))]


def parts(value: Any) -> Iterator[tuple[Any, ...]]:
    """A value with all that is in it: types, tags, plain values."""
    tags = sorted(map(repr, AnsibleTagHelper.tags(value)))
    if isinstance(value, dict):
        yield type(value), tags, len(value)
        for name, part in value.items():
            yield from parts(name)
            yield from parts(part)
    elif isinstance(value, list):
        yield type(value), tags, len(value)
        for part in value:
            yield from parts(part)
    else:
        yield type(value), tags, repr(value)


def same(value: Any) -> Any:
    ours, theirs = Copies.deepcopy(value), copy.deepcopy(value)
    assert list(parts(ours)) == list(parts(theirs))
    return ours


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("trusted", [True, False])
def test_as_ansible_copies(tmp_path: Path, name: str, trusted: bool) -> None:
    file = tmp_path / "file.yml"
    file.write_text(TEXTS[name])
    same(DataLoader().load_from_file(str(file), unsafe=True, trusted_as_template=trusted))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_files_of_this_project(file: Path) -> None:
    same(DataLoader().load_from_file(str(file), unsafe=True, trusted_as_template=True))


def test_nothing_that_changes_is_shared() -> None:
    value = DataLoader().load("a: &a {x: [1]}\nb: *a\n")
    ours = same(value)
    assert ours["a"] is ours["b"]  # as in the file
    ours["a"]["x"].append(2)
    assert value["a"]["x"] == [1]


def test_what_holds_itself_ends() -> None:
    value: list[Any] = []
    value.append(value)
    ours = Copies.deepcopy(value)
    assert ours[0] is ours
    assert ours is not value


def test_everything_else_is_as_copy_has_it() -> None:
    assert Copies().copy is copy.copy
    value = {"a": {1, 2}, "b": (["x"],)}
    ours = same(value)
    assert ours["b"][0] is not value["b"][0]
