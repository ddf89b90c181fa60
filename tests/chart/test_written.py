"""What `make chart` writes is what the tree holds, and its parts say no where they must."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from chart import parts
from chart.manifests import default
from chart.pages import Block, Doc, Inline, page
from chart.values import documented, leaves, table, uncommented
from chart.written import CHART, ROOT, stale

VALUES = "# Of it.\na:\n  # Of b,\n  # and more.\n  b: 1\n  c: {d: [x]}\n\ne: 2\n"


def test_nothing_that_is_written_from_config_is_out_of_date() -> None:
    assert [str(path.relative_to(ROOT)) for path in stale()] == [], "run `make chart`"


def test_a_change_of_config_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = copy.deepcopy(default())
    changed["ClusterRole", "aitask-operator-manager-role"]["rules"].pop()
    monkeypatch.setattr(parts, "default", lambda: changed)
    assert [path.name for path in stale()] == ["rbac.yaml"]


def test_an_object_that_no_template_holds_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    more: dict[Any, Any] = {**default(), ("Ingress", "door"): {"kind": "Ingress", "metadata": {"name": "door"}}}
    monkeypatch.setattr(parts, "default", lambda: more)
    with pytest.raises(LookupError, match=r"\('Ingress', 'door'\).*parts\.py"):
        parts.templates()


def test_every_template_is_written_or_a_helper() -> None:
    by_hand = {"_helpers.tpl", "NOTES.txt"}
    assert {path.name for path in (CHART / "templates").iterdir()} == set(parts.templates()) | by_hand


def test_braces_of_a_manifest_are_no_expression() -> None:
    text = page(Doc({"a": "{{ $labels.x }}", "b": Inline("{{ .Values.b }}")}))
    assert """a: '{{ "{{" }} $labels.x {{ "}}" }}'""" in text
    assert "b: {{ .Values.b }}\n" in text


def test_a_block_stands_at_the_depth_of_its_field() -> None:
    text = page(Doc({"a": {"b": [{"c": 1, "d": Block("d:\n  {{- toYaml . | nindent @2 }}")}]}}, ".Values.x"))
    assert (
        "{{- if .Values.x }}\n---\na:\n  b:\n  - c: 1\n    d:\n      {{- toYaml . | nindent 6 }}\n{{- end }}\n" in text
    )


def test_a_block_cannot_begin_an_item() -> None:
    with pytest.raises(ValueError, match="first field of an item"):
        page(Doc({"a": [{"b": Block("b: 1")}]}))


def test_a_value_has_the_comment_above_it() -> None:
    assert [(one.path, one.comment, one.default) for one in documented(VALUES)] == [
        ("a", "Of it.", {"b": 1, "c": {"d": ["x"]}}),
        ("a.b", "Of b, and more.", 1),
    ]
    assert [one.path for one in leaves(VALUES)] == ["a.b"]
    assert uncommented(VALUES) == ["a.c", "a.c.d", "e"]
    assert "| `a.b` | `1` | Of b, and more. |\n" in table(VALUES)


def test_every_value_is_commented() -> None:
    text = (CHART / "values.yaml").read_text()
    assert uncommented(text) == []
    assert {one.path.split(".")[0] for one in documented(text)} == set(yaml.safe_load(text))
