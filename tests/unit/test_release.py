"""The record of the last release: later tests upgrade from it, so it must be what was released."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ansible_operator import __version__
from tests.support.released import PREVIOUS, ROOT, git, released_commit


@pytest.fixture(scope="module", autouse=True)
def released() -> None:
    if not PREVIOUS.exists():
        pytest.skip("nothing was released yet; tools/record_release.sh writes releases/previous")


@pytest.fixture(scope="module")
def commit() -> str:
    return released_commit()


def test_the_copies_are_what_was_released(commit: str) -> None:
    copies = sorted(path.relative_to(PREVIOUS) for path in PREVIOUS.rglob("*.yaml"))
    listed = git("ls-tree", "-r", "--name-only", commit, "config/crd/bases", "config/samples").stdout.split()
    assert [f"config/{path}" for path in copies] == sorted(listed)
    for path in copies:
        assert git("show", f"{commit}:config/{path}").stdout == (PREVIOUS / path).read_text(), path


def test_the_release_was_of_its_version(commit: str) -> None:
    version = (PREVIOUS / "version").read_text().strip()
    assert f'__version__ = "{version}"' in git("show", f"{commit}:src/ansible_operator/__init__.py").stdout
    assert f"\n## [{version}] - " in git("show", f"{commit}:CHANGELOG.md").stdout


def test_every_kind_that_was_released_is_still_served_in_that_version() -> None:
    def versions(folder: Path) -> set[tuple[str, str]]:
        crds = [yaml.safe_load(file.read_text()) for file in folder.glob("*.yaml")]
        return {(crd["metadata"]["name"], one["name"]) for crd in crds for one in crd["spec"]["versions"]}

    released = versions(PREVIOUS / "crd" / "bases")
    assert released
    assert released <= versions(ROOT / "config" / "crd" / "bases")


def test_the_changelog_has_a_section_for_this_version() -> None:
    section = rf"^## \[({re.escape(__version__)}|Unreleased)\]"
    assert re.search(section, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
