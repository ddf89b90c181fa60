from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator.runner.discovery import Discovery


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in "abc"]
    for directory in made:
        directory.mkdir()
    return made


def contents(directory: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in directory.iterdir()}


def test_what_a_run_has_found_the_next_is_given(directories: list[Path]) -> None:
    discovery = Discovery()
    discovery.give(directories[0])
    assert contents(directories[0]) == {}
    (directories[0] / "k8srcp-1.json").write_text("one")
    (directories[0] / "secret.json").write_text("not this")
    discovery.take(directories[0])
    discovery.give(directories[1])
    assert contents(directories[1]) == {"k8srcp-1.json": "one"}
    assert (directories[1] / "k8srcp-1.json").stat().st_mode & 0o777 == 0o600


def test_a_file_that_was_only_read_is_not_taken_again(directories: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    discovery = Discovery()
    (directories[0] / "k8srcp-1.json").write_text("one")
    discovery.take(directories[0])
    discovery.give(directories[1])
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("read"))
    discovery.take(directories[1])


def test_a_file_that_was_made_anew_is(directories: list[Path]) -> None:
    discovery = Discovery()
    (directories[0] / "k8srcp-1.json").write_text("one")
    discovery.take(directories[0])
    discovery.give(directories[1])
    (directories[1] / "k8srcp-1.json").write_text("two")
    discovery.take(directories[1])
    discovery.give(directories[2])
    assert contents(directories[2]) == {"k8srcp-1.json": "two"}


def test_what_is_no_file_is_left(directories: list[Path]) -> None:
    discovery = Discovery()
    (directories[1] / "target").write_text("elsewhere")
    (directories[0] / "k8srcp-1.json").symlink_to(directories[1] / "target")
    (directories[0] / "k8srcp-2.json").mkdir()
    discovery.take(directories[0])
    discovery.give(directories[2])
    assert contents(directories[2]) == {}


def test_only_so_many_are_kept(directories: list[Path]) -> None:
    discovery = Discovery()
    for number in range(20):
        file = directories[0] / f"k8srcp-{number:02}.json"
        file.write_text("x")
        discovery.take(directories[0])
        file.unlink()
    discovery.give(directories[1])
    assert sorted(contents(directories[1])) == [f"k8srcp-{number}.json" for number in range(12, 20)]
