"""What is asked of kind and of the engine, with programs of a few lines in their place; no cluster is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from kindcluster.cli import main


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with kind and podman, which write down how they were called, and a docker whose daemon is away."""
    directory, calls = tmp_path / "bin", tmp_path / "calls"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    note = f'echo "${{0##*/}} $* $KIND_EXPERIMENTAL_PROVIDER" >> {calls}'
    for name, script in (("kind", note), ("podman", f'[ "$1" = info ] || {note}'), ("docker", "exit 1")):
        (directory / name).write_text(f"#!/bin/sh\n{script}\n")
        (directory / name).chmod(0o755)
    return calls


def test_the_engine_that_answers_is_told_to_kind(called: Path) -> None:
    assert main(["up", "--image", "node:1"]) == 0
    assert main(["down"]) == 0
    assert called.read_text().splitlines() == [
        "kind create cluster --wait=180s --image=node:1 --name=aitask podman",
        "kind delete cluster --name=aitask podman",
    ]


def test_an_image_goes_to_the_nodes_by_an_archive(called: Path) -> None:
    assert main(["load", "localhost/operator:dev"]) == 0
    saved, loaded = called.read_text().splitlines()
    archive = saved.split()[3]
    assert saved.split() == ["podman", "save", "--output", archive, "localhost/operator:dev"]
    assert loaded == f"kind load image-archive {archive} --name=aitask podman"


def test_an_archive_is_taken_as_it_is(called: Path) -> None:
    assert main(["--name", "other", "load", "build/image/operator.tar"]) == 0
    assert called.read_text() == "kind load image-archive build/image/operator.tar --name=other podman\n"


def test_what_kind_cannot_work_with_is_said(called: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tool", "buildah", "up"]) == 1
    assert "kind works with docker or podman, not with buildah" in capsys.readouterr().err
    assert not called.exists()


def test_without_an_engine_that_answers_each_says_why(called: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (called.parent / "bin" / "podman").unlink()
    assert main(["up"]) == 1
    assert "podman: not found" in capsys.readouterr().err


def test_a_failure_of_kind_is_one(called: Path) -> None:
    (called.parent / "bin" / "kind").write_text("#!/bin/sh\nexit 7\n")
    assert main(["up"]) == 1
