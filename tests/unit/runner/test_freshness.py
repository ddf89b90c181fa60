from __future__ import annotations

import os
from pathlib import Path

from ansible_operator.runner.freshness import Sources


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
