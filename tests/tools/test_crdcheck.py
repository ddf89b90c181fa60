"""Whether what the last release stored stays valid: what narrows a schema is refused, and what widens it is not."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from crdcheck.narrowing import narrowed
from crdcheck.stored import refused

ROOT = Path(__file__).parents[2]
PREVIOUS = ROOT / "releases" / "previous"
NAMES = ("aitasks", "aitaskbackups", "aitaskrestores")

Schema = dict[str, Any]


def definition(directory: Path, name: str) -> Schema:
    found: Schema = yaml.safe_load((directory / f"aiops.example.com_{name}.yaml").read_text())
    return found


def old_objects() -> list[Schema]:
    """Samples of the last release, and objects with a status as its operator had left them in a cluster."""
    paths = [*sorted((PREVIOUS / "samples").glob("aiops_*.yaml")), *sorted((ROOT / "tests/olm/stored").glob("*.yaml"))]
    found = [one for path in paths for one in yaml.safe_load_all(path.read_text())]
    assert {"AITask", "AITaskBackup", "AITaskRestore"} <= {one["kind"] for one in found}
    assert any("status" in one for one in found)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_narrower_than_in_the_last_release(name: str) -> None:
    old, new = definition(PREVIOUS / "crd" / "bases", name), definition(ROOT / "config" / "crd" / "bases", name)
    assert narrowed(old, new) == []


@pytest.mark.parametrize("name", NAMES)
def test_olm_would_let_objects_of_the_last_release_through(name: str) -> None:
    assert refused(definition(ROOT / "config" / "crd" / "bases", name), old_objects()) == []


# --- each refusal ---

OLD: Schema = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 20, "pattern": "^a"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "mode": {"type": "string", "enum": ["A", "B"]},
        "free": {"type": "string"},
        "list": {"type": "array", "maxItems": 4, "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "maybe": {"type": "string", "nullable": True},
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    },
    "x-kubernetes-validations": [{"rule": "self.size > 0"}],
}


def crd(schema: Schema, **spec: Any) -> Schema:
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Thing"}
    base = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "things.example.com"}, "spec": {**base, **spec}}


def changed(path: str, **keywords: Any) -> Schema:
    """OLD with these keywords at a path of its properties; None takes one away."""
    schema = copy.deepcopy(OLD)
    found = schema
    for part in filter(None, path.split(".")):
        found = found[part] if part in ("items", "additionalProperties") else found["properties"][part]
    for key, value in keywords.items():
        word = key.replace("__", "-")
        if value is None:
            del found[word]
        else:
            found[word] = value
    return schema


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (changed("", required=["name", "size"]), ".size is required now; leave it optional"),
        (changed("list.items", required=["x"]), ".list[].x is required now"),
        (changed("name", pattern="^ab"), ".name: pattern changed from '^a' to '^ab'"),
        (changed("free", pattern="^a"), ".free: pattern changed from 'none' to '^a'"),
        (changed("free", format="date-time"), ".free: format changed"),
        (changed("mode", enum=["A", "C"]), ".mode: enum no longer has B"),
        (changed("free", enum=["A"]), ".free: enum no longer has anything"),
        (changed("size", minimum=2), ".size: minimum narrowed from 1 to 2"),
        (changed("size", maximum=8), ".size: maximum narrowed from 9 to 8"),
        (changed("size", exclusiveMinimum=True), ".size: exclusiveMinimum is new"),
        (changed("free", minLength=1), ".free: minLength narrowed from none to 1"),
        (changed("name", maxLength=19), ".name: maxLength narrowed from 20 to 19"),
        (changed("list", maxItems=3), ".list: maxItems narrowed from 4 to 3"),
        (changed("list", minItems=1), ".list: minItems narrowed"),
        (changed("map", maxProperties=3), ".map: maxProperties narrowed"),
        (changed("map.additionalProperties", maxLength=5), ".map.*: maxLength narrowed"),
        (changed("list", x__kubernetes__list__type="set"), ".list: x-kubernetes-list-type changed"),
        (changed("size", type="string"), ".size: type changed from integer to string"),
        (changed("maybe", nullable=None), ".maybe: nullable is gone"),
        (
            changed("any", x__kubernetes__preserve__unknown__fields=None),
            ".any: x-kubernetes-preserve-unknown-",
        ),
        (changed("any", additionalProperties={"type": "string"}), ".any.*: anything was allowed"),
        (changed("map", additionalProperties=None), ".map.*: what is stored there would be dropped"),
        (changed("port", anyOf=[{"type": "integer"}]), ".port: anyOf changed"),
        (changed("size", x__kubernetes__validations=[{"rule": "self < 5"}]), ".size: a new rule, 'self < 5'"),
        (changed("", properties={k: v for k, v in OLD["properties"].items() if k != "free"}), ".free is gone"),
    ],
)
def test_what_narrows_is_refused(schema: Schema, said: str) -> None:
    [fault] = narrowed(crd(OLD), crd(schema))
    assert fault.startswith(f"things.example.com v1: {said}"), fault


@pytest.mark.parametrize(
    "schema",
    [
        changed("", required=[]),
        changed("name", pattern=None),
        changed("name", maxLength=21),
        changed("size", minimum=0, maximum=None),
        changed("mode", enum=["A", "B", "C"]),
        changed("mode", enum=None),
        changed("free", description="better words", default="a"),
        changed("", properties={**OLD["properties"], "more": {"type": "string", "pattern": "^b", "enum": ["b"]}}),
        changed("", x__kubernetes__validations=None),
    ],
)
def test_what_widens_is_not(schema: Schema) -> None:
    assert narrowed(crd(OLD), crd(schema)) == []


def test_a_version_that_goes_or_another_scope_is_refused() -> None:
    [scope] = narrowed(crd(OLD), crd(OLD, scope="Cluster"))
    assert scope.startswith("things.example.com: scope changed from 'Namespaced' to 'Cluster'")
    [version] = narrowed(crd(OLD), crd(OLD, versions=[{"name": "v2", "served": True, "schema": {}}]))
    assert version == "things.example.com: version v1 is no longer served; keep serving it"


# --- OLM's look at stored objects ---


def stored(**fields: Any) -> Schema:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "n"}, **fields}


@pytest.mark.parametrize(
    ("schema", "fields", "said"),
    [
        (changed("", required=["name", "free"]), {"name": "a"}, "Thing n/t: object: 'free' is a required property"),
        (changed("name", pattern="^ab"), {"name": "ac"}, "Thing n/t: name: 'ac' does not match '^ab'"),
        (changed("mode", enum=["A"]), {"name": "a", "mode": "B"}, "Thing n/t: mode: 'B' is not one of ['A']"),
        (changed("size", maximum=3), {"name": "a", "size": 4}, "Thing n/t: size: 4 is greater than the maximum of 3"),
        (
            changed("size", minimum=1, exclusiveMinimum=True),
            {"name": "a", "size": 1},
            "Thing n/t: size: 1 is less than or equal to the minimum of 1",
        ),
        (changed("list", maxItems=0), {"name": "a", "list": [{}]}, "Thing n/t: list: [{}] is expected to be empty"),
    ],
)
def test_an_object_that_stops_an_upgrade_is_told(schema: Schema, fields: Schema, said: str) -> None:
    """A default of the new schema helps none of them: it is not applied to what is stored."""
    schema["properties"]["free"]["default"] = "a"
    assert refused(crd(schema), [stored(**fields)]) == [said]
    assert refused(crd(OLD), [stored(**fields)]) == []


def test_what_olm_does_not_look_at_stops_nothing() -> None:
    rule = changed("", x__kubernetes__validations=[{"rule": "self.size > 100"}])
    objects = [stored(name="a", size=5, unknown=1, maybe=None, port="http"), {**stored(), "kind": "Other"}]
    assert refused(crd(rule), objects) == []
    assert refused(crd(OLD), [stored(name="a", maybe=None, port=1.5)]) != []
