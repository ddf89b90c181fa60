"""The README of a role is what its argument_specs and defaults say, and these two agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import role_docs

ROLES = role_docs.roles()


def load(file: Path) -> dict[str, Any]:
    return (yaml.safe_load(file.read_text()) if file.exists() else None) or {}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_the_readme_is_what_the_argument_specs_say(role: Path) -> None:
    assert (role / "README.md").read_text() == role_docs.render(role), "run: make role-docs"


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_public_variable_has_a_spec_and_every_option_a_default(role: Path) -> None:
    specs = load(role / "meta/argument_specs.yml")["argument_specs"]
    defaults = set(load(role / "defaults/main.yml"))
    assert {name for name in defaults if not name.startswith("__")} == set(specs["main"]["options"])
    for entry, spec in specs.items():
        assert set(spec["options"]) <= defaults, entry


def test_every_entry_point_has_a_spec() -> None:
    files = [*role_docs.ROOT.glob("roles/*/tasks/**/*.yml"), *role_docs.ROOT.glob("playbooks/*.yml")]
    used = {
        (include["name"], include.get("tasks_from", "main")) for file in files for include in includes(load_list(file))
    }
    known = {(role.name, entry) for role in ROLES for entry in load(role / "meta/argument_specs.yml")["argument_specs"]}
    assert used
    assert used <= known


def load_list(file: Path) -> list[Any]:
    return yaml.safe_load(file.read_text()) or []


def includes(node: Any) -> list[dict[str, str]]:
    """The arguments of every include_role and import_role."""
    if isinstance(node, list):
        return [found for item in node for found in includes(item)]
    if not isinstance(node, dict):
        return []
    here = [
        node[f"ansible.builtin.{verb}_role"] for verb in ("include", "import") if f"ansible.builtin.{verb}_role" in node
    ]
    return here + [found for value in node.values() for found in includes(value)]
