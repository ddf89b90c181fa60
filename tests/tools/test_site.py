"""The site of the documentation builds, with broken links as errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docsite.__main__ import build, gather, main


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = tmp_path_factory.mktemp("site") / "pages"
    gather(pages)
    return pages


def test_the_site_builds_with_every_page_and_no_broken_link(tmp_path: Path) -> None:
    assert main(["--into", str(tmp_path / "site")]) == 0
    for page in ("index.html", "README.zh-CN/index.html", "docs/tutorial/index.html", "docs/reference/index.html"):
        assert (tmp_path / "site" / page).exists()
    assert "https://fonts." not in (tmp_path / "site/index.html").read_text()


@pytest.mark.parametrize(
    ("page", "text", "complaint"),
    [
        ("docs/aitask.md", "[x](none.md)", "'none.md'"),
        ("docs/aitask.md", "[x](alerts.md#none)", "#none"),
        ("docs/new.md", "# No entry in the navigation", "docs/new.md"),
    ],
)
def test_what_is_broken_fails_the_build(
    pages: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], page: str, text: str, complaint: str
) -> None:
    broken = shutil.copytree(pages, tmp_path / "pages")
    with (broken / page).open("a") as file:
        file.write(f"\n{text}\n")
    assert build(broken, tmp_path / "site") == 1
    assert complaint in capfd.readouterr().err
