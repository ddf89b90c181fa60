"""Identity and end of processes, with small processes of our own."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import launch
from localcluster.layout import Layout
from localcluster.processes import MARK, Identity, end, identify, marked, start_mark
from localcluster.state import ComponentState, Phase, State, write_state
from localcluster.teardown import end_cluster
from tests.support.waiting import until

Sleeper = subprocess.Popen[bytes]


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def identity_of(process: Sleeper) -> Identity:
    identity = identify(process.pid)
    assert identity is not None
    return identity


def test_a_process_is_alive_under_its_identity(sleeper: Sleeper) -> None:
    assert identity_of(sleeper).alive()


def test_a_recycled_pid_is_not_taken_for_the_old_process(sleeper: Sleeper) -> None:
    old = dataclasses.replace(identity_of(sleeper), started="another/1")
    assert not old.alive()
    old.signal(signal.SIGKILL)
    assert end([old], grace=0.1) == []
    assert identity_of(sleeper).alive()


def test_a_zombie_counts_as_gone(sleeper: Sleeper) -> None:
    identity = identity_of(sleeper)
    os.kill(sleeper.pid, signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # it has ended, but nobody has collected it
    assert not identity.alive()


HEADLESS = """
import ctypes, platform, threading
threading.Thread(target=lambda: (print(flush=True), threading.Event().wait())).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)  # exit(2): of this thread alone
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel by the numbers of Linux")
def test_a_process_whose_first_thread_has_ended_is_alive_while_another_runs() -> None:
    with subprocess.Popen([sys.executable, "-c", HEADLESS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            while "Z" not in Path(f"/proc/{process.pid}/stat").read_text():
                time.sleep(0.01)
            identity = identity_of(process)
            assert identity.alive()
            assert process.poll() is None  # nobody can collect it yet
            assert end([identity], grace=60) == []
            assert process.wait(timeout=60) == -signal.SIGTERM
        finally:
            process.kill()


def test_no_process_has_no_start_time() -> None:
    assert [start_mark(pid) for pid in (0, -1, 2**22 + 1)] == [None, None, None]


@pytest.fixture
def stubborn() -> Iterator[Sleeper]:
    """Ignores the polite signal."""
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_process_that_ignores_the_polite_signal_is_killed(stubborn: Sleeper) -> None:
    assert end([identity_of(stubborn)], grace=0.2) == []
    assert stubborn.wait(timeout=60) == -signal.SIGKILL


def test_a_supervisor_that_hangs_is_killed_and_collected(stubborn: Sleeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody has waited for would warn when it is forgotten, in the middle of something else."""
    monkeypatch.setattr(launch, "_EXIT_SECONDS", 0.2)
    launch.end_supervisor(stubborn)
    assert stubborn.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="the mark is read from /proc")
def test_processes_are_found_by_their_mark_when_the_state_is_half_written(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create()
    layout.state.write_text('{"phase": "star')
    with subprocess.Popen(["sleep", "600"], env={**os.environ, MARK: str(tmp_path)}) as process:
        until(lambda: marked(tmp_path), "its environment is seen, a moment after it has begun")
        assert [identity.pid for identity in marked(tmp_path)] == [process.pid]
        assert end_cluster(layout, keep=False) == 1
        assert process.wait(timeout=60) == -signal.SIGTERM
    assert not tmp_path.exists()


def test_a_dead_clusters_record_does_no_harm_to_who_has_its_pids_now(tmp_path: Path, sleeper: Sleeper) -> None:
    layout = Layout(tmp_path)
    layout.create()
    component = ComponentState("etcd", "/bin/etcd", sleeper.pid, "another/1", [1], "/log")
    write_state(layout.state, State(Phase.READY, sleeper.pid, "another/2", None, False, components=[component]))
    assert end_cluster(layout, keep=False) == 0
    assert identity_of(sleeper).alive()


def test_ending_where_there_never_was_a_cluster_makes_nothing(tmp_path: Path) -> None:
    assert end_cluster(Layout(tmp_path / "none"), keep=False) == 0
    assert not (tmp_path / "none").exists()
