from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_operator.runner import freshness
from ansible_operator.runner.freshness import Sources


def wait_for_a_later_time(than: int, probe: Path) -> None:
    """Until files get another time: older kernels have a few milliseconds between two of them."""
    while True:
        probe.write_text("x")
        if probe.stat().st_ctime_ns > than:
            return


def test_nothing_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("a")
    assert Sources([str(file), str(tmp_path), str(tmp_path / "missing")]).changed() is None


def test_same_size_and_time_but_another_file(tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_text("a")
    other.write_text("b")
    status = file.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    sources = Sources([str(file)])
    other.rename(file)
    assert sources.changed() == str(file)


def test_a_config_maps_data_link_is_swapped(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "key").write_text(name)
    link = tmp_path / "..data"
    link.symlink_to("one")
    (tmp_path / "key").symlink_to("..data/key")
    sources = Sources([str(tmp_path / "key")])
    (tmp_path / "..new").symlink_to("two")
    (tmp_path / "..new").rename(link)
    assert sources.changed() == str(tmp_path / "key")


def test_what_was_missing_appears_and_what_was_there_goes(tmp_path: Path) -> None:
    file = tmp_path / "a"
    sources = Sources([str(file)])
    file.write_text("a")
    assert sources.changed() == str(file)
    sources = Sources([str(file)])
    file.unlink()
    assert sources.changed() == str(file)


def test_a_new_entry_in_a_directory(tmp_path: Path) -> None:
    sources = Sources([str(tmp_path)])
    (tmp_path / "new").mkdir()
    assert sources.changed() == str(tmp_path)


def test_bytecode_in_a_directory_is_no_change_but_what_comes_after_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    sources = Sources([str(tmp_path)])
    (tmp_path / "__pycache__").mkdir()
    assert sources.changed() is None
    (tmp_path / "b").touch()
    assert sources.changed() == str(tmp_path)


def test_another_directory_with_the_same_names(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    sources = Sources([str(tmp_path / "one")])
    (tmp_path / "one").rmdir()
    (tmp_path / "two").rename(tmp_path / "one")
    assert sources.changed() == str(tmp_path / "one")


def test_size_and_time_of_writing_kept(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("a")
    before = file.stat()
    sources = Sources([str(file)])
    wait_for_a_later_time(before.st_ctime_ns, tmp_path / "probe")
    file.write_text("b")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert sources.changed() == str(file)


def test_a_link_is_set_anew(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    link = tmp_path / "link"
    link.symlink_to("a")
    sources = Sources([str(link)])
    link.unlink()
    link.symlink_to("b")
    assert sources.changed() == str(link)


def test_what_was_changed_while_it_was_being_read_counts_as_changed(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("a")
    changed = file.stat().st_ctime_ns
    assert Sources([str(file)], read_since=changed).changed() == str(file)
    assert Sources([str(file)], read_since=changed + 10**9).changed() is None


def test_a_clock_of_another_machine_that_is_ahead_is_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a"
    file.write_text("a")
    now = file.stat().st_ctime_ns - 10**12
    monkeypatch.setattr(freshness.time, "time_ns", lambda: now)
    assert Sources([str(file)], read_since=now - 10**9).changed() is None


def test_libraries_are_looked_at_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many at each check as there is time for: here one."""
    monkeypatch.setattr(freshness, "_LIBRARY_SECONDS", 0.0)
    files = [tmp_path / str(number) for number in range(5)]
    for file in files:
        file.write_text("a")
    sources = Sources([], [str(file) for file in files])
    files[3].write_text("changed")
    assert [sources.changed() for _ in range(4)] == [None, None, None, str(files[3])]
    assert sources.changed() == str(files[3]), "still"
