"""A schema of a CRD as rows: field, type and bounds, default, meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]

_KINDS = {"date-time": "time (RFC 3339, UTC)"}
_RANGES = (("imum", ""), ("Length", " characters"), ("Items", " items"), ("Properties", " keys"))
"""Ends of `min…` and `max…`, and what is counted."""


class Row(NamedTuple):
    """One field. ``path`` has dots, and `[]` behind the name of a list."""

    path: str
    kind: str
    default: str
    meaning: str


def rows(schema: Schema, path: str = "") -> Iterator[Row]:
    """Every field below an object, a parent before its fields."""
    required = schema.get("required", ())
    for name, field in (schema.get("properties") or {}).items():
        here = f"{path}.{name}" if path else name
        items = field.get("items") or {}
        if items.get("properties"):
            here += "[]"
        yield Row(here, _kind(field, name in required), _default(field), " ".join(field.get("description", "").split()))
        yield from rows(items if items.get("properties") else field, here)


def rules(schema: Schema, path: str = "") -> Iterator[tuple[str, str]]:
    """The rules over several fields: where each holds, and what it says when it is broken."""
    for rule in schema.get("x-kubernetes-validations", ()):
        yield path + rule.get("fieldPath", ""), rule["message"]
    for name, field in (schema.get("properties") or {}).items():
        yield from rules(field, f"{path}.{name}" if path else name)


def _kind(field: Schema, required: bool) -> str:
    kind: str = _KINDS.get(field.get("format", "")) or field.get("type", "any")
    said = [kind, *_bounds(field)]
    said += [f"of {_inner(field[part])}" for part in ("items", "additionalProperties") if _is_plain(field.get(part))]
    return ", ".join([*said, "**required**"] if required else said)


def _inner(schema: Schema) -> str:
    return " ".join([schema.get("type", "any"), *(f"({bound})" for bound in _bounds(schema))])


def _is_plain(schema: Any) -> bool:
    return isinstance(schema, Mapping) and not schema.get("properties")


def _bounds(schema: Schema) -> list[str]:
    ranges = (_range(schema.get(f"min{end}"), schema.get(f"max{end}"), unit) for end, unit in _RANGES)
    found = [text for text in ranges if text]
    if "pattern" in schema:
        found.append(f"matches `{schema['pattern']}`")
    if values := schema.get("enum"):
        found.append("one of " + ", ".join(f"`{value}`" for value in values))
    return found


def _range(least: int | None, most: int | None, unit: str) -> str:
    if least is not None and most is not None:
        return f"{least} to {most}{unit}"
    if least is not None:
        return f"at least {least}{unit}"
    return f"at most {most}{unit}" if most is not None else ""


def _default(field: Schema) -> str:
    return f"`{json.dumps(field['default'])}`" if "default" in field else ""
