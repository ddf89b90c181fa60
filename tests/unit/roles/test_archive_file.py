"""The module that writes a local archive: bytes, whole or not at all, and for nobody else to read."""

from __future__ import annotations

import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
DATA = bytes(range(256))


@pytest.fixture(scope="module")
def module() -> ModuleType:
    spec = spec_from_file_location("aitask_archive_file", ROOT / "roles/aitask_archive/library/aitask_archive_file.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_bytes_are_written_for_nobody_else_to_read(module: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    before = os.umask(0)
    try:
        assert module.put(path, DATA, force=False, check_mode=False)
    finally:
        os.umask(before)
    assert (path.read_bytes(), mode(path), list(tmp_path.iterdir())) == (DATA, 0o600, [path])
    assert not module.put(path, DATA, force=False, check_mode=False)


def test_a_file_that_is_open_to_others_is_closed(module: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(DATA)
    path.chmod(0o644)
    assert module.put(path, DATA, force=False, check_mode=True)
    assert mode(path) == 0o644
    assert module.put(path, DATA, force=False, check_mode=False)
    assert mode(path) == 0o600


def test_another_archive_is_replaced_by_force_only(module: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(b"older")
    path.chmod(0o644)
    with pytest.raises(FileExistsError, match="holds something else"):
        module.put(path, DATA, force=False, check_mode=False)
    assert module.put(path, DATA, force=True, check_mode=True)
    assert path.read_bytes() == b"older"
    assert module.put(path, DATA, force=True, check_mode=False)
    assert (path.read_bytes(), mode(path)) == (DATA, 0o600)


def test_what_cannot_be_written_leaves_nothing_behind(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        module.put(tmp_path / "a.gz", DATA, force=False, check_mode=False)
    assert list(tmp_path.iterdir()) == []
