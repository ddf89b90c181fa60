"""docs/reference.md is what the CRDs, the flags and the metrics say."""

from __future__ import annotations

from reference.fields import Row, rows, rules
from reference.page import PAGE, render


def test_the_page_is_what_there_is() -> None:
    assert PAGE.read_text() == render(), "run `make reference`"


def test_bounds_defaults_and_lists_are_told() -> None:
    schema = {
        "required": ["name"],
        "properties": {
            "name": {
                "type": "string",
                "minLength": 1,
                "maxLength": 9,
                "pattern": "^a|b$",
                "description": "Its\n name",
            },
            "size": {"type": "integer", "minimum": 0, "default": 3},
            "days": {"type": "array", "maxItems": 7, "items": {"type": "string", "enum": ["Mo", "Tu"]}},
            "at": {"type": "string", "format": "date-time"},
            "parts": {"type": "array", "items": {"properties": {"key": {"type": "string"}}}},
        },
    }
    assert list(rows(schema)) == [
        Row("name", "string, 1 to 9 characters, matches `^a|b$`, **required**", "", "Its name"),
        Row("size", "integer, at least 0", "`3`", ""),
        Row("days", "array, at most 7 items, of string (one of `Mo`, `Tu`)", "", ""),
        Row("at", "time (RFC 3339, UTC)", "", ""),
        Row("parts[]", "array", "", ""),
        Row("parts[].key", "string", "", ""),
    ]


def test_rules_name_the_field_that_they_blame() -> None:
    rule = {"rule": "self.a < self.b", "message": "a must be smaller", "fieldPath": ".a"}
    schema = {"properties": {"scale": {"x-kubernetes-validations": [rule]}}, "x-kubernetes-validations": [rule]}
    assert list(rules(schema)) == [(".a", "a must be smaller"), ("scale.a", "a must be smaller")]
