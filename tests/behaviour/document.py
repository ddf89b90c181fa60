"""docs/behaviour.md, made from the markers of the tests: `python -m tests.behaviour.document` writes it.

A row's text stands beside the test that holds it: `@pytest.mark.behaviour(case="target missing", sees="…")`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.behaviour.rows import MORE, OPEN, REQUIRED

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/behaviour.md"
_HEAD = """# What a task does in odd situations

Each row is a test on a real API server with the operator at work: acts are counted in the API server's audit log,
never taken from the status. Conditions are written `Type=Status Reason`; their messages carry the numbers and, where
something is held, the time it is held until.

Made from the tests by `make behaviour-doc`; a check fails where this file is not what the tests say, and where a row
has neither a test nor a reason for that.
"""


@dataclass(frozen=True)
class Row:
    """One marker: the edge case, what the user sees, and the id of the test that holds it."""

    case: str
    sees: str
    test: str


def collect(directory: Path, root: Path = ROOT) -> list[Row]:
    """The markers of all tests below a directory, by file and line."""
    return [row for path in sorted(directory.rglob("test_*.py")) for row in _of_file(path, str(path.relative_to(root)))]


def _of_file(path: Path, name: str) -> Iterator[Row]:
    text = path.read_text()
    if "mark.behaviour(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        for call in node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else ():
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.behaviour":
                words = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
                yield Row(str(words["case"]), str(words["sees"]), f"{name}::{getattr(node, 'name', '')}")


def faults(
    rows: Iterable[Row],
    required: Mapping[str, Sequence[str]] = REQUIRED,
    open_rows: Mapping[str, str] = OPEN,
) -> list[str]:
    """What is missing, or said twice: rows without a test, and open ones that have one."""
    tested = {row.case for row in rows}
    wanted = [case for cases in required.values() for case in cases]
    missing = [f"no test has the case {case!r}" for case in wanted if case not in tested and case not in open_rows]
    done = [f"{case!r} has a test and is still called open" for case in open_rows if case in tested]
    unknown = [f"{case!r} is called open, but is no row" for case in open_rows if case not in wanted]
    return [*missing, *done, *unknown]


def render(
    rows: Sequence[Row],
    required: Mapping[str, Sequence[str]] = REQUIRED,
    open_rows: Mapping[str, str] = OPEN,
) -> str:
    """The document: required rows in their order, then what else there is."""
    named = {case for cases in required.values() for case in cases}
    others = tuple(dict.fromkeys(row.case for row in rows if row.case not in named))
    parts = [_HEAD]
    for section, cases in {**required, MORE: others}.items():
        parts.append(f"\n## {section}\n\n| case | what the user sees | test |\n|---|---|---|\n")
        parts.extend(_lines(cases, rows, open_rows))
    return "".join(parts)


def _lines(cases: Sequence[str], rows: Sequence[Row], open_rows: Mapping[str, str]) -> Iterator[str]:
    for case in cases:
        found = [row for row in rows if row.case == case]
        for row in found:
            yield f"| {_cell(row.case)} | {_cell(row.sees)} | `{row.test}` |\n"
        if not found:
            yield f"| {_cell(case)} | *not yet: {_cell(open_rows.get(case, 'no test'))}* | |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    DOCUMENT.write_text(render(collect(ROOT / "tests")))
