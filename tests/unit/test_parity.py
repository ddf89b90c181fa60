"""docs/parity.md names for each line of the contract the test that holds it: here that it is there and not skipped."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = ROOT / "docs/parity.md"
SECTIONS = ("4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8", "4.9")


@dataclass(frozen=True)
class Row:
    """One row of a table: what the Go operator does, the verdict on ours, why, and the test."""

    line: int
    behaviour: str
    verdict: str
    reason: str
    test: str

    def __str__(self) -> str:
        return f"line {self.line}"


def rows(text: str) -> list[Row]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.replace("\\|", "/").strip().strip("|").split("|")]
        if line.startswith("| ") and cells[0] != "the Go operator":
            assert len(cells) == 4, f"line {number} has {len(cells)} cells, not 4"
            found.append(Row(number, *cells[:3], cells[3].strip("`")))
    return found


ROWS = rows(DOCUMENT.read_text())


def fault(row: Row) -> str | None:
    """What is wrong with a row; None where it holds."""
    if row.verdict not in ("same", "better", "missing"):
        return f"the verdict is {row.verdict!r}; write same, better or missing"
    if row.verdict != "same" and not row.reason:
        return f"{row.verdict} needs the difference or the reason"
    if row.verdict == "missing":
        return "what is missing has no test" if row.test else None
    return test_fault(row.test)


def test_fault(test: str) -> str | None:
    file, _, name = test.partition("::")
    if not name or not (ROOT / file).is_file():
        return f"there is no test {test!r}"
    functions = [node for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, _FUNCTIONS)]
    function = next((node for node in functions if node.name == name), None)
    if function is None:
        return f"there is no test {name} in {file}"
    if re.search(r"pytest\.(mark\.)?(skip|xfail)", "\n".join(map(ast.unparse, [*function.decorator_list, function]))):
        return f"{test} is skipped"
    return None


test_fault.__test__ = False  # type: ignore[attr-defined]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_each_row_is_held_by_a_test(row: Row) -> None:
    assert fault(row) is None, f"docs/parity.md:{row.line}: {row.behaviour}"


def test_every_section_is_there() -> None:
    text = DOCUMENT.read_text()
    assert [section for section in SECTIONS if f"## {section} " not in text] == []
    assert len(ROWS) > 100


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (Row(1, "a", "equal", "", "tests/unit/test_parity.py::test_every_section_is_there"), "verdict"),
        (Row(1, "a", "better", "", "tests/unit/test_parity.py::test_every_section_is_there"), "difference"),
        (Row(1, "a", "same", "", ""), "no test"),
        (Row(1, "a", "same", "", "tests/unit/test_parity.py::test_nowhere"), "no test test_nowhere"),
        (Row(1, "a", "same", "", "tests/unit/nowhere.py::test_a"), "no test"),
    ],
)
def test_a_bad_row_is_noticed(row: Row, complaint: str) -> None:
    assert complaint in (fault(row) or "")


def test_a_skipped_test_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_x.py").write_text("import pytest\n\n@pytest.mark.skip\ndef test_a(): ...\n")
    monkeypatch.setattr("tests.unit.test_parity.ROOT", tmp_path)
    assert "skipped" in (test_fault("test_x.py::test_a") or "")
