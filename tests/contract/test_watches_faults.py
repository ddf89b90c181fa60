"""Every fault of a watches file is found, with its line, its field and the cure: ``watches/*.yaml``, one a file.

Beside each lies what is said of it. ``<directory>`` is where the operator runs; it has a role ``web`` and a playbook.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator.config.watches import load_watches
from ansible_operator.model.errors import ConfigError

WATCHES = Path(__file__).parent / "watches"
NAMES = sorted(file.stem for file in WATCHES.glob("*.yaml"))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "roles/web").mkdir(parents=True)
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks/site.yml").touch()
    return tmp_path


def faults_of(name: str, directory: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_watches(WATCHES / f"{name}.yaml", {"HOME": "/home"}, directory)
    assert caught.value.source == str(WATCHES / f"{name}.yaml")
    return "".join(f"{fault}\n" for fault in caught.value.faults).replace(str(directory), "<directory>")


@pytest.mark.parametrize("name", NAMES)
def test_the_faults_of(name: str, directory: Path) -> None:
    assert faults_of(name, directory) == (WATCHES / f"{name}.faults").read_text()


def test_nothing_lies_about_without_its_other_half() -> None:
    assert NAMES
    assert sorted(file.stem for file in WATCHES.glob("*.faults")) == NAMES


def test_a_missing_file_names_the_flag(directory: Path) -> None:
    with pytest.raises(ConfigError, match=r"\n  file: cannot be read: No such file or directory; .* --watches-file"):
        load_watches(directory / "nowhere.yaml", {}, directory)


def test_a_file_that_is_no_text_is_a_fault(directory: Path) -> None:
    (directory / "watches.yaml").write_bytes(b"- version: \xff\xfe")
    with pytest.raises(ConfigError, match=r"cannot be read: .*utf-8"):
        load_watches(directory / "watches.yaml", {}, directory)
