"""Roles and their checks have no exceptions, and a test that is skipped says why."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXCEPTION = re.compile(
    r"noqa|skip_list|warn_list|exclude_paths|ignore_errors|ignore_unreachable|failed_when:\s*(false|no|never)\b"
)


def faults(text: str) -> list[str]:
    """The lines that make an exception."""
    return [line.strip() for line in text.splitlines() if EXCEPTION.search(line)]


def content() -> list[Path]:
    folders = (ROOT / name for name in ("roles", "playbooks", "molecule", "examples"))
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in (".yml", ".yaml", ".py")]
    return [file for file in files if "__pycache__" not in file.parts]


@pytest.mark.parametrize(
    "line",
    [
        "failed_when: false",
        "  ignore_errors: true",
        "x: 1  # noqa name",
        "skip_list: [a]",
        "warn_list:",
        "exclude_paths: []",
    ],
)
def test_an_exception_is_found(line: str) -> None:
    assert faults(line) == [line.strip()]


def test_content_makes_no_exception() -> None:
    files = content()
    assert len(files) > 100
    assert {str(file.relative_to(ROOT)): found for file in files if (found := faults(file.read_text()))} == {}


def test_the_linter_makes_none_either() -> None:
    config = yaml.safe_load((ROOT / ".ansible-lint").read_text())
    assert config["profile"] == "production"
    assert {"role-argument-spec", "loop-var-prefix", "name[prefix]", "no-log-password"} <= set(config["enable_list"])
    assert not {"skip_list", "warn_list", "exclude_paths", "kinds"} & set(config)
    assert "ansible-lint roles playbooks molecule examples" in (ROOT / "Makefile").read_text()


def skips_without_reason(tree: ast.AST) -> list[int]:
    """The lines of skips and expected failures that give no reason."""
    bad = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("skip", "skipif", "xfail"):
            called = [c for c in ast.walk(tree) if isinstance(c, ast.Call) and c.func is node]
            marked = isinstance(node.value, ast.Attribute) and node.value.attr == "mark"
            if marked and not any(word.arg == "reason" for call in called for word in call.keywords):
                bad.append(node.lineno)
            if not marked and isinstance(node.value, ast.Name) and node.value.id == "pytest" and called:
                bad += [call.lineno for call in called if not (call.args or call.keywords)]
    return bad


@pytest.mark.parametrize("text", ["pytest.skip()", "@pytest.mark.skip\ndef test(): ...", "pytest.mark.skipif(True)"])
def test_a_skip_without_a_reason_is_found(text: str) -> None:
    assert skips_without_reason(ast.parse(text)) == [1]


def test_every_skip_has_a_reason_which_is_printed() -> None:
    found = {
        str(file.relative_to(ROOT)): lines
        for file in (ROOT / "tests").rglob("*.py")
        if (lines := skips_without_reason(ast.parse(file.read_text())))
    }
    assert found == {}
    assert '"-ra"' in (ROOT / "pyproject.toml").read_text()  # pytest prints reasons only with it
