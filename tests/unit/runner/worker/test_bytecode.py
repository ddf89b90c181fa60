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


def test_no_more_than_so_many_plugins_first_and_none_that_is_large(
    role: Path, ordinary: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bytecode, "LARGEST", 100)
    (role / "a.py").write_text("")
    (role / "large.py").write_text("#" * 101)
    bytecode.prepare([role])
    assert [Path(path).name for path in ordinary] == ["one.py", "a.py"]
    for limit, number in (("MOST", 1), ("FARTHEST", 1)):
        ordinary.clear()
        with monkeypatch.context() as patch:
            patch.setattr(bytecode, limit, number)
            bytecode.prepare([role])
        assert [Path(path).name for path in ordinary] == ["one.py"]


def test_what_is_no_plugins_business_is_not_looked_at(role: Path, ordinary: list[str]) -> None:
    for directory in ("files", "templates", "tests", ".git", "library"):
        (role / directory).mkdir()
        (role / directory / f"{directory.strip('.')}.py").write_text("")
    bytecode.prepare([role])
    assert {Path(path).name for path in ordinary} == {"one.py", "library.py"}


def test_a_pipe_is_not_waited_for(role: Path, ordinary: list[str]) -> None:
    os.mkfifo(role / "pipe.py")
    bytecode.prepare([role])
    assert {Path(path).name for path in ordinary} == {"one.py"}


def test_a_file_that_the_compiler_cannot_take_hinders_no_start(role: Path) -> None:
    (role / "filter_plugins/deep.py").write_text("x = " + "+".join(["1"] * 100_000) + "\n")
    (role / "filter_plugins/nested.py").write_text("x = " + "(" * 5000 + ")" * 5000 + "\n")
    bytecode.prepare([role])
    assert value_of(role / "filter_plugins/one.py") == 1


def test_what_the_compiler_warns_of_is_compiled_by_each_run(role: Path, ordinary: list[str]) -> None:
    file = role / "filter_plugins/warned.py"
    file.write_text("def f():\n    return 1 is 1\n")
    bytecode.prepare([role])  # and nothing is said here: warnings are errors in these tests
    ordinary.clear()
    with pytest.warns(SyntaxWarning):
        code_of(file)
    assert ordinary == [str(file)]


def test_files_are_judged_beforehand(role: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (stateless, tame):
        monkeypatch.setattr(module._verdicts, "_known", {})
    bytecode.prepare([role])
    for module in (stateless, tame):
        monkeypatch.setattr(module, "_judge", lambda *_: pytest.fail("judged again"))
    file = str(role / "filter_plugins/one.py")
    assert stateless.is_stateless(file)
    assert tame.is_tame(file)
