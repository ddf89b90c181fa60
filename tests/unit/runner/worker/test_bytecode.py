"""Python files of the content are compiled and judged beforehand, and used only while they are what was read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

from ansible_operator.runner.worker import bytecode, stateless, tame


@pytest.fixture(autouse=True)
def ordinary(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The files that Python has read the ordinary way."""
    read: list[str] = []
    before = bytecode._ordinary

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        read.append(loader.path)
        return before(loader, fullname)

    monkeypatch.setattr(bytecode, "_ordinary", get_code)
    monkeypatch.setattr(bytecode, "_codes", {})
    monkeypatch.setattr(SourceFileLoader, "get_code", before)  # put back what install() changes
    bytecode.install()
    yield read


@pytest.fixture
def role(tmp_path: Path) -> Path:
    plugins = tmp_path / "real/role/filter_plugins"
    plugins.mkdir(parents=True)
    (plugins / "one.py").write_text("def f():\n    return 1\n")
    return tmp_path / "real/role"


def code_of(file: Path) -> CodeType:
    code = SourceFileLoader("one", str(file)).get_code("one")
    assert code is not None
    return code


def value_of(file: Path) -> object:
    names: dict[str, object] = {}
    exec(code_of(file), names)
    function = names["f"]
    assert callable(function)
    return function()


def test_a_file_of_a_role_is_compiled_once(role: Path, ordinary: list[str]) -> None:
    bytecode.prepare([role])
    ordinary.clear()
    assert (value_of(role / "filter_plugins/one.py"), ordinary) == (1, [])


def test_it_is_known_by_both_names_of_a_linked_role(role: Path, ordinary: list[str], tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(role)
    bytecode.prepare([link])
    ordinary.clear()
    for file in (link / "filter_plugins/one.py", role / "filter_plugins/one.py"):
        assert code_of(file).co_filename == str(file)
    assert ordinary == []


@pytest.mark.parametrize("same_size", [True, False])
def test_a_file_that_has_changed_is_read_again(role: Path, ordinary: list[str], same_size: bool) -> None:
    file = role / "filter_plugins/one.py"
    bytecode.prepare([role])
    file.write_text(f"def f():\n    return {2 if same_size else 22}\n")
    os.utime(file, ns=(1, 1))
    assert value_of(file) == (2 if same_size else 22)


def test_what_cannot_be_read_is_left_to_the_run(role: Path) -> None:
    broken = role / "filter_plugins/broken.py"
    broken.write_text("def f(:\n")
    (role / "filter_plugins/gone.py").symlink_to(role / "nowhere.py")
    (role / "filter_plugins/zero.py").write_bytes(b"\0")
    bytecode.prepare([role, role / "nothing"])
    with pytest.raises(SyntaxError):
        code_of(broken)
    with pytest.raises(OSError, match=r"nowhere|gone"):
        code_of(role / "filter_plugins/gone.py")


def test_the_roles_and_plugins_beside_a_playbook_are_read(role: Path, ordinary: list[str], tmp_path: Path) -> None:
    play = tmp_path / "play.yml"
    play.write_text("[]")
    (tmp_path / "roles").symlink_to(role.parent)
    (tmp_path / "filter_plugins").mkdir()
    (tmp_path / "filter_plugins/two.py").write_text("def f():\n    return 2\n")
    (tmp_path / "other.py").write_text("")
    bytecode.prepare([play])
    seen = {Path(path).name for path in ordinary}
    assert seen == {"one.py", "two.py"}


def test_no_more_than_so_many_and_none_that_is_large(
    role: Path, ordinary: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bytecode, "LARGEST", 100)
    (role / "large.py").write_text("#" * 101)
    bytecode.prepare([role])
    assert {Path(path).name for path in ordinary} == {"one.py"}
    ordinary.clear()
    monkeypatch.setattr(bytecode, "MOST", 0)
    bytecode.prepare([role])
    assert ordinary == []


def test_files_are_judged_beforehand(role: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stateless, "_known", {})
    monkeypatch.setattr(tame, "_files", {})
    bytecode.prepare([role])
    for module in (stateless, tame):
        monkeypatch.setattr(module, "_judge", lambda *_: pytest.fail("judged again"))
    file = str(role / "filter_plugins/one.py")
    assert stateless.is_stateless(file)
    assert tame.is_tame(file)
