"""Whoever types a page notices where it is not true."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.typist import Typist


def typist(directory: Path, text: str, **more: object) -> Typist:
    page = directory / "page.md"
    page.write_text(f"# One\n\n```console\n{text}```\n\n# Two\n\n```console\necho other\n```\n")
    return Typist(str(page), directory, {"HERE": "shop"}, "# One", **more)  # type: ignore[arg-type]


def test_what_comes_as_shown_is_right_but_for_ages_and_names(tmp_path: Path) -> None:
    reader = typist(tmp_path, '$ echo "web  $HERE 12s"\nweb   default   3m5s\n$ false\n', names={"default": "shop"})
    assert reader.type("echo") == "web  shop 12s"
    assert reader.type("false", status=1) == ""
    reader.done()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("$ echo hi\nhello\n", r"the page shows \['hello'\], and this came:\nhi"),
        ("exit 3\n", "status 3"),
        ("cd none && true\n", "No such file"),
    ],
)
def test_what_does_not_come_is_told(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        typist(tmp_path, text).type("")


def test_commands_come_in_order_and_none_may_be_left_out(tmp_path: Path) -> None:
    reader = typist(tmp_path, "echo 1\necho 2\necho 3\n")
    with pytest.raises(AssertionError, match="the next command of the page is 'echo 1', not 'echo 2'"):
        typist(tmp_path, "echo 1\n").type("echo 2")
    assert reader.upto("echo 2") == "2"
    with pytest.raises(AssertionError, match="nobody has typed"):
        reader.done()
