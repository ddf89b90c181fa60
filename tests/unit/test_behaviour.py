"""docs/behaviour.md is what the tests say, and no row is without a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.document import DOCUMENT, ROOT, Row, collect, faults, render
from tests.unit.test_parity import test_fault

ROWS = collect(ROOT / "tests")
REQUIRED = {"Edge cases": ("a", "b")}


def test_the_document_is_what_the_tests_say() -> None:
    assert DOCUMENT.read_text() == render(ROWS), "run `make behaviour-doc`"


def test_every_row_has_a_test() -> None:
    assert faults(ROWS) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.test)
def test_no_row_is_held_by_a_test_that_is_skipped(row: Row) -> None:
    assert test_fault(row.test) is None


def test_a_row_without_a_test_is_noticed() -> None:
    rows = [Row("a", "x", "tests/test_x.py::test_a")]
    assert faults(rows, REQUIRED, {}) == ["no test has the case 'b'"]
    assert faults(rows, REQUIRED, {"b": "later"}) == []
    assert faults(rows, REQUIRED, {"a": "later", "b": "later"}) == ["'a' has a test and is still called open"]
    assert faults(rows, {"Edge cases": ("a",)}, {"c": "later"}) == ["'c' is called open, but is no row"]


def test_rows_come_in_their_order_and_others_after_them() -> None:
    rows = [Row(case, f"sees {case}", f"tests/test_x.py::test_{case}") for case in "cab"]
    text = render(rows, REQUIRED, {})
    assert [text.index(f"| {case} | sees") for case in "abc"] == sorted(
        text.index(f"| {case} | sees") for case in "abc"
    )
    assert "## Edge cases" in text
    assert "no test" in render(rows[:2], REQUIRED, {})


def test_markers_are_read_from_the_source(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text('@pytest.mark.behaviour(case="a", sees="b" "c | d")\ndef test_a(): ...\n')
    rows = collect(tmp_path, tmp_path)
    assert rows == [Row("a", "bc | d", "test_x.py::test_a")]
    assert "bc \\| d" in render(rows, REQUIRED, {})
