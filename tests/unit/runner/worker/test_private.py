"""Private interfaces of Ansible: touched in one place, which knows them, and says so where they are others."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_operator.runner.worker import private
from ansible_operator.runner.worker.private import insides, supported

SOURCE = Path(private.__file__).parents[3]
PLACE = SOURCE / "runner/worker/private"
OUTSIDE = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if PLACE not in path.parents and SOURCE / "collections" not in path.parents
]
_OWN = {"self", "cls", "reporter", "os", "sys", "atexit"}
"""Names whose private attributes are no affair of Ansible's."""


def private_names(tree: ast.AST) -> list[str]:
    """Attributes with a leading underscore of what might be Ansible's, and imports of ansible."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
            found += [name for name in names if name.partition(".")[0] == "ansible"]
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            base = node.value.id if isinstance(node.value, ast.Name) else ""
            if base not in _OWN:
                found.append(ast.unparse(node))
    return found


def test_nothing_outside_touches_what_is_private() -> None:
    workers = [path for path in OUTSIDE if PLACE.parent in path.parents and path.name != "clients.py"]
    assert workers
    assert {path.name: names for path in workers if (names := private_names(ast.parse(path.read_text())))} == {}


def test_nothing_else_imports_ansible() -> None:
    def imports(path: Path) -> list[str]:
        return [name for name in private_names(ast.parse(path.read_text())) if name.startswith("ansible.")]

    assert [path for path in OUTSIDE if "plugins" not in path.parts and imports(path)] == []


@pytest.mark.parametrize(
    "text", ["import ansible.cli", "from ansible import context", "strategy._tqm.run()", "x = action._templar"]
)
def test_that_would_be_found(text: str) -> None:
    assert private_names(ast.parse(text))


def test_this_ansible_is_known() -> None:
    insides.check()


@pytest.mark.parametrize("name", insides.PARAMETERS)
def test_other_parameters_are_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module, _, path = name.partition(":")
    monkeypatch.setattr(f"{module}.{path}", lambda quite, other: (quite, other))
    with pytest.raises(supported.Unsupported, match="quite other"):
        insides.check()


@pytest.mark.parametrize("name", insides.VARIABLES)
def test_a_variable_that_is_gone_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module, _, path = name.partition(":")
    monkeypatch.delattr(f"{module}.{path}")
    with pytest.raises(supported.Unsupported, match="is not there"):
        insides.check()


@pytest.mark.parametrize("version", ["2.19.0", "2.19.14", "2.19.0b1", "2.20.0", "2.20.3"])
def test_known_versions(version: str) -> None:
    supported.check_version(version)


@pytest.mark.parametrize("version", ["2.18.9", "2.2.0", "2.190.0", "2.21.0", "3.0.0"])
def test_others_are_named(version: str) -> None:
    with pytest.raises(supported.Unsupported, match=version):
        supported.check_version(version)


def test_in_another_version_nothing_is_touched(tmp_path: Path) -> None:
    code = (
        "import ansible.release; ansible.release.__version__ = '2.18.0'\n"
        "import ansible_operator.runner.worker.private\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Unsupported: ansible-core 2.18.0, where 2.19 or 2.20 is supported" in result.stderr
