"""Private files are written whole or not at all; what is left of runs is bounded."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_operator.model.errors import RunError
from ansible_operator.model.owner import Owner
from ansible_operator.model.watch import Content
from ansible_operator.runner import artifacts
from ansible_operator.runner.files import make_private_directory, write_private
from ansible_operator.runner.interface import RunRequest
from ansible_operator.runner.private_dir import prepare
from ansible_operator.runner.processes import processes_of
from ansible_operator.runner.record import Record, read_record
from ansible_operator.runner.worker.events import _write


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- private files ---------------------------------------------------------------------------------------------------


def test_a_file_and_all_directories_made_for_it_are_private(tmp_path: Path, umask: int) -> None:
    make_private_directory(tmp_path / "a/b")
    write_private(tmp_path / "a/b/c", "secret")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700, 0o700, 0o600]


def test_directories_that_are_there_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    make_private_directory(tmp_path / "a/b")
    make_private_directory(tmp_path / "a/b")
    assert mode(tmp_path / "a") == 0o755


def test_a_file_that_was_open_to_all_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("old")
    (tmp_path / "c").chmod(0o666)
    write_private(tmp_path / "c", b"new")
    assert (mode(tmp_path / "c"), (tmp_path / "c").read_text()) == (0o600, "new")


def test_a_reader_keeps_the_old_content_while_the_new_is_written(tmp_path: Path) -> None:
    write_private(tmp_path / "c", "old")
    with (tmp_path / "c").open() as reader:
        write_private(tmp_path / "c", "new")
        assert reader.read() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize("write", [write_private, _write], ids=["by the operator", "by a run"])
def test_where_there_is_no_room_nothing_is_left_half_written(
    tmp_path: Path, write: Callable[[Path, str], None]
) -> None:
    write(tmp_path / "c", "old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))  # the first bytes fit, as on a disk that is nearly full
    try:
        with pytest.raises(OSError):
            write(tmp_path / "c", "new and too long")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("c", "old")]


# --- artifacts -------------------------------------------------------------------------------------------------------


def run(directory: Path, ident: str, age: int = 0) -> Path:
    """The artifacts of one run, so many seconds old."""
    path = directory / "artifacts" / ident
    path.mkdir(parents=True)
    (path / "stdout").write_text(f"output of {ident}")
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return path


def left(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "artifacts").iterdir())


def test_latest_points_at_the_latest_run(tmp_path: Path) -> None:
    for ident in ("1", "2"):
        run(tmp_path, ident)
        artifacts.link_latest(tmp_path, ident)
    assert (tmp_path / "artifacts/latest").readlink() == Path("2")
    assert left(tmp_path) == ["1", "2", "latest"]


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (1, ["5"]),
        (2, ["4", "5"]),
        (5, ["1", "2", "3", "4", "5"]),
        pytest.param(
            9,
            ["1", "2", "3", "4", "5"],
        ),
    ],
)
def test_only_the_newest_runs_stay(tmp_path: Path, keep: int, kept: list[str]) -> None:
    for ident in "12345":
        run(tmp_path, ident, age=100 - int(ident))
    artifacts.rotate(tmp_path, keep, live="5")
    assert left(tmp_path) == kept


def test_to_keep_0_is_to_keep_all(tmp_path: Path) -> None:
    for ident in "123":
        run(tmp_path, ident)
    artifacts.rotate(tmp_path, 0, live="3")
    assert left(tmp_path) == ["1", "2", "3"]


def test_the_live_run_stays_even_if_it_is_the_oldest(tmp_path: Path) -> None:
    run(tmp_path, "live", age=1000)
    run(tmp_path, "1", age=10)
    run(tmp_path, "2", age=5)
    artifacts.rotate(tmp_path, 1, live="live")
    assert "live" in left(tmp_path)
    assert "1" not in left(tmp_path)


@pytest.mark.parametrize("target", ["2", "gone"])
def test_the_link_counts_for_no_run_even_if_it_dangles(tmp_path: Path, target: str) -> None:
    run(tmp_path, "1", age=10)
    run(tmp_path, "2", age=5)
    artifacts.link_latest(tmp_path, target)
    artifacts.rotate(tmp_path, 2, live="2")
    assert left(tmp_path) == ["1", "2", "latest"]


@pytest.mark.parametrize(("text", "limit", "tail"), [("abcdef", 3, "def"), ("abc", 10, "abc"), ("", 10, "")])
def test_the_tail_of_the_output(tmp_path: Path, text: str, limit: int, tail: str) -> None:
    (run(tmp_path, "1") / "stdout").write_text(text)
    assert artifacts.output_tail(tmp_path, "1", limit) == tail


def test_a_tail_that_begins_within_a_character_is_still_a_text(tmp_path: Path) -> None:
    (run(tmp_path, "1") / "stdout").write_text("aüb")
    assert artifacts.output_tail(tmp_path, "1", 2) == "\ufffdb"


def test_a_run_that_never_printed_has_no_output(tmp_path: Path) -> None:
    assert artifacts.output_tail(tmp_path, "1") == ""


def test_the_directory_of_an_object_that_is_gone_goes_with_what_it_leaves_empty(tmp_path: Path) -> None:
    root = tmp_path / "runner"
    for name in ("g/v1/Web/a/one", "g/v1/Web/a/two", "g/v1/Db/b/three"):
        run(root / name, "1")
    artifacts.purge(root / "g/v1/Web/a/one", root)
    assert (root / "g/v1/Web/a/two").is_dir()
    artifacts.purge(root / "g/v1/Web/a/two", root)
    assert not (root / "g/v1/Web").exists()
    assert (root / "g/v1/Db/b/three").is_dir()
    artifacts.purge(root / "g/v1/Db/b/three", root)
    assert list(root.iterdir()) == []


def test_purging_what_is_not_there_is_no_fault(tmp_path: Path) -> None:
    root = tmp_path / "runner"
    root.mkdir()
    artifacts.purge(root / "g/v1/Web/a/one", root)
    assert root.is_dir()


@pytest.mark.parametrize("outside", ["../precious", "g/v1/Web/../../../../precious", "."])
def test_nothing_outside_the_directory_of_runs_is_ever_purged(tmp_path: Path, outside: str) -> None:
    root = tmp_path / "runner"
    (root / "g/v1/Web").mkdir(parents=True)
    (tmp_path / "precious").mkdir()
    artifacts.purge(root / outside, root)
    assert (tmp_path / "precious").is_dir()
    assert (root / "g/v1/Web").is_dir()


# --- the record of a run ---------------------------------------------------------------------------------------------


def test_the_record_of_a_run_is_read_back(run_request: RunRequest) -> None:
    prepare(run_request, {}, "")
    assert read_record(run_request.directory) == Record(
        owner=run_request.owner,
        content=run_request.content,
        variables={"password": "hunter2"},
        verbosity=0,
    )


def test_it_names_the_command_and_keeps_no_token(run_request: RunRequest) -> None:
    prepare(run_request, {}, "")
    text = (run_request.directory / "run.json").read_text()
    assert f"ansible_runner run {run_request.directory}" in text
    assert "the token" not in text


def test_a_directory_without_one_is_refused_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"holds no run: .* name the directory of an object"):
        read_record(tmp_path)


def test_the_types_that_it_brings_back_are_the_models(run_request: RunRequest) -> None:
    prepare(run_request, {}, "")
    record = read_record(run_request.directory)
    assert (type(record.owner), type(record.content)) == (Owner, Content)


# --- processes -------------------------------------------------------------------------------------------------------


def test_processes_of_a_run_are_found_by_their_mark(tmp_path: Path) -> None:
    marks = {"10": "A=1\0ANSIBLE_OPERATOR_RUN=47\0", "11": "ANSIBLE_OPERATOR_RUN=471\0", "12": "", "self": "x"}
    for pid, environment in marks.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "environ").write_text(environment)
    (tmp_path / "13").mkdir()  # has ended meanwhile
    assert processes_of("47", tmp_path) == [10]


def test_without_proc_none_is_found(tmp_path: Path) -> None:
    assert processes_of("47", tmp_path / "nowhere") == []
