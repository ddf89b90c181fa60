"""Birth and death of clusters: several at once, faults while starting, no process left behind whoever is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster, ClusterError, NotRunningError, StartError, binaries, children, cli, pki, ports
from localcluster.children import Children
from localcluster.components import etcd
from localcluster.layout import Layout
from localcluster.pins import TOOLS_DIR
from localcluster.processes import Identity, identify, marked, wait_gone
from localcluster.state import State, read_state

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]


def quiet(text: str) -> None:
    del text


def state_of(directory: Path) -> State:
    state = read_state(Layout(directory).state)
    assert state is not None
    return state


def processes_of(directory: Path) -> list[Identity]:
    identities = state_of(directory).identities()
    assert len(identities) >= 4
    assert all(identity.alive() for identity in identities)
    return identities


def assert_all_gone(identities: list[Identity], directory: Path) -> None:
    assert wait_gone(identities, 60) == []
    assert marked(directory) == []


def eventually(holds: Callable[[], Any], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)


def run_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(TOOLS_DIR)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def command_line(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "localcluster", *arguments],
        env={**os.environ, "PYTHONPATH": str(TOOLS_DIR), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_two_clusters_run_side_by_side_and_stopping_is_idempotent(tmp_path: Path) -> None:
    began = time.monotonic()
    with Cluster.start(tmp_path / "a", kwok=False, progress=quiet) as first:
        print(f"ready after {time.monotonic() - began:.1f} s")
        second = Cluster.start(tmp_path / "b", kwok=False, progress=quiet)
        both = processes_of(tmp_path / "a") + processes_of(tmp_path / "b")
        assert first.server != second.server
        mine = subprocess.run(
            [first.kubectl, "--kubeconfig", first.kubeconfig, "--server", second.server, "get", "namespaces"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "certificate" in mine.stderr  # the one's authority says nothing to the other
        second.stop()
        second.stop()
        assert all(identity.alive() for identity in processes_of(tmp_path / "a"))
    assert_all_gone(both, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_logs_and_data_stay_when_they_are_to_be_kept(tmp_path: Path) -> None:
    cluster = Cluster.start(tmp_path / "c", kwok=False, progress=quiet)
    cluster.stop(keep=True)
    assert {"etcd", "logs", "audit.log"} <= {path.name for path in (tmp_path / "c").iterdir()}
    with pytest.raises(NotRunningError):
        Cluster.attach(tmp_path / "c")


OWNER = """
import os, sys, threading, time
from pathlib import Path
from localcluster import Cluster

def start():
    threading.current_thread().cluster = Cluster.start(Path(sys.argv[1]), kwok=False, progress=lambda text: None)

starter = threading.Thread(target=start)  # a thread that ends before the cluster does
starter.start()
starter.join()
if os.fork() == 0:  # a child that keeps every descriptor of its parent open
    os.close(1)
    time.sleep(600)
print("ready", flush=True)
time.sleep(600)
"""


def test_a_killed_owner_leaves_no_process_even_if_a_child_of_it_lives_on(tmp_path: Path) -> None:
    directory = tmp_path / "c"
    with run_python(OWNER, str(directory)) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        child = next(pid for pid in children_of(owner.pid) if pid != state_of(directory).supervisor_pid)
        identities = processes_of(directory)
        try:
            owner.kill()
            owner.wait()
            assert_all_gone(identities, directory)
            eventually(lambda: not directory.exists())
        finally:
            os.kill(child, signal.SIGKILL)


def children_of(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that is just ending
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def test_an_owner_killed_while_starting_leaves_no_process(tmp_path: Path) -> None:
    directory = tmp_path / "c"
    code = "import sys; from pathlib import Path; from localcluster import Cluster; Cluster.start(Path(sys.argv[1]))"
    with run_python(code, str(directory)) as owner:
        eventually(lambda: (state := read_state(Layout(directory).state)) and len(state.components) > 1)
        identities = state_of(directory).identities()
        owner.kill()
    assert_all_gone(identities, directory)


@pytest.mark.skipif(sys.platform != "linux", reason="only there the kernel ends the children of a killed supervisor")
def test_a_killed_supervisor_takes_its_components_with_it_and_the_next_start_tidies_up(tmp_path: Path) -> None:
    cluster = Cluster.start(tmp_path / "c", kwok=False, progress=quiet)
    identities = processes_of(tmp_path / "c")
    os.kill(state_of(tmp_path / "c").supervisor_pid, signal.SIGKILL)
    assert_all_gone(identities, tmp_path / "c")
    with Cluster.start(tmp_path / "c", kwok=False, progress=quiet) as again:
        cluster.stop()  # of a cluster that is gone: must not touch the one in its place
        assert all(identity.alive() for identity in processes_of(again.directory))


def test_a_component_that_ends_later_is_reported(tmp_path: Path) -> None:
    with Cluster.start(tmp_path / "c", kwok=False, progress=quiet) as cluster:
        manager = next(c for c in state_of(cluster.directory).components if c.name == "kube-controller-manager")
        os.kill(manager.pid, signal.SIGKILL)
        eventually(lambda: "kube-controller-manager ended by itself" in state_of(cluster.directory).message)
        result = command_line("status", "--directory", str(cluster.directory))
        assert result.returncode == 1
        assert "ended (-9)" in result.stdout
        up = command_line("up", "--no-kwok", "--directory", str(cluster.directory))
        assert "had failed, starting anew" in up.stderr
        again = Cluster.attach(cluster.directory)
    assert again.server == Cluster.attach(again.directory).server  # the old one's end did not end its successor
    again.stop()


def failing_program(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Have one program replaced by a script that a start can not succeed with."""
    path = folder / "kube-apiserver"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    real = binaries.resolve
    monkeypatch.setattr(binaries, "resolve", lambda names, say: {**real(names, say), "kube-apiserver": path})


def test_a_component_that_dies_at_start_shows_its_last_lines_and_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_program(monkeypatch, tmp_path, "echo 'no such flag' >&2; exit 3")
    with pytest.raises(StartError) as caught:
        Cluster.start(tmp_path / "c", kwok=False, progress=quiet)
    log = tmp_path / "c" / "logs" / "kube-apiserver.log"
    assert str(caught.value) == f"kube-apiserver ended with exit code 3; the last lines of {log}:\nno such flag"
    assert log.exists()
    assert marked(tmp_path / "c") == []


def test_a_start_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing_program(monkeypatch, tmp_path, "echo thinking; exec sleep 600")
    monkeypatch.setenv("LOCALCLUSTER_START_SECONDS", "6")  # etcd, which is real, must be ready by then
    with pytest.raises(StartError, match=r"kube-apiserver is not ready after 6 s .*\nthinking"):
        Cluster.start(tmp_path / "c", kwok=False, progress=quiet)
    assert marked(tmp_path / "c") == []


def test_a_component_that_lost_the_race_for_its_port_gets_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path)
    layout.create()
    program = binaries.resolve(["etcd"], quiet)["etcd"]
    running = Children(layout, {"etcd": str(program)}, lambda: None)
    running.launch(etcd(layout))
    taken = running["etcd"].ports
    eventually(lambda: b"ready to serve" in layout.log("etcd").read_bytes() or listens(taken[0]))
    real, offers = ports.free_port, iter([*taken])
    monkeypatch.setattr(children, "free_port", lambda used: next(offers, None) or real(used))
    other = Layout(tmp_path / "other")
    other.create()
    second = Children(other, {"etcd": str(program)}, lambda: None)
    try:
        second.launch(etcd(other))
        eventually(lambda: second["etcd"].process.poll() is not None)
        second.relaunch_or_raise()
        assert not set(second["etcd"].ports) & set(taken)
        eventually(lambda: listens(second["etcd"].ports[0]))
    finally:
        second.end_all()
        running.end_all()


def listens(port: int) -> bool:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[3] == "0A" and int(row[1].split(":")[1], 16) == port for row in rows)


def test_up_status_and_down_on_the_command_line(tmp_path: Path) -> None:
    place = ("--directory", str(tmp_path / "c"))
    assert command_line("status", *place).returncode == 1
    first = command_line("up", "--no-kwok", *place)
    assert first.returncode == 0, first.stderr
    try:
        assert first.stdout == f"{tmp_path}/c/kubeconfig\n"
        identities = processes_of(tmp_path / "c")
        second = command_line("up", *place)
        assert (second.returncode, second.stdout) == (0, first.stdout)
        assert "already running" in second.stderr
        status = command_line("status", *place)
        assert status.returncode == 0
        assert all(f" {identity.pid} " in status.stdout for identity in identities[1:])
        with Cluster.attach(tmp_path / "c") as attached:
            assert attached.server.startswith("https://127.0.0.1:")
        assert all(identity.alive() for identity in identities)
    finally:
        down = command_line("down", *place)
    assert down.returncode == 0, down.stderr
    assert_all_gone(identities, tmp_path / "c")
    assert not (tmp_path / "c").exists()
    again = command_line("down", *place)
    assert (again.returncode, "no cluster was running" in again.stderr) == (0, True)


def test_down_ends_everything_also_with_a_state_file_cut_in_half(tmp_path: Path) -> None:
    cluster = Cluster.start_in_background(tmp_path / "c", kwok=False, progress=quiet)
    identities = processes_of(tmp_path / "c")
    state = Layout(tmp_path / "c").state
    state.write_text(state.read_text()[:100])
    assert command_line("down", "--directory", str(cluster.directory)).returncode == 0
    assert_all_gone(identities, tmp_path / "c")


def test_foreseen_faults_are_one_line_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = command_line("up", "--directory", str(tmp_path / "file"))
    assert (result.returncode, result.stderr.splitlines()[-1]) == (1, f"localcluster: File exists: {tmp_path}/file")
    result = command_line("sa-kubeconfig", "default", "x", "x", "--directory", str(tmp_path / "none"))
    assert result.stderr == f"localcluster: no cluster is running in {tmp_path}/none\n"
    result = command_line("build", "docker")
    assert (result.returncode, result.stderr.startswith("localcluster: not pinned here: docker;")) == (2, True)
    result = command_line("up", "--directory", str(tmp_path / "c"), LOCALCLUSTER_START_SECONDS="soon")
    assert "must be a number of seconds, not 'soon'" in result.stderr
    assert result.returncode == 1


def test_a_full_disk_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "c" / "pki" / "ca.crt"))

    monkeypatch.setattr(pki, "create_pki", full)
    assert cli.main(["up", "--directory", str(tmp_path / "c")]) == 1
    with pytest.raises(ClusterError):
        Cluster.attach(tmp_path / "c")


def test_a_wrong_program_is_an_error_and_not_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = binaries.resolve
    monkeypatch.setattr(binaries, "resolve", lambda names, say: {**real(names, say), "etcd": tmp_path / "etcd"})
    (tmp_path / "etcd").write_text("not a program")
    with pytest.raises(StartError, match=r"etcd: cannot run .*Permission denied"):
        Cluster.start(tmp_path / "c", kwok=False, progress=quiet)
    message = json.loads((tmp_path / "c" / "state.json").read_text())["message"]
    assert "Permission denied" in message
    shutil.rmtree(tmp_path / "c")


def test_identify_knows_this_process() -> None:
    identity = identify(os.getpid())
    assert identity is not None
    assert identity.alive()
