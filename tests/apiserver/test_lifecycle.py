"""Starting, stopping, dying, leading, and losing the API server (contract 4.1, 4.10; design.md 4)."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from localcluster import Cluster
from localcluster.state import read_state
from tests.support.api import Api, conditions, failed, state, succeeded
from tests.support.kinds import LEASE, THING, Kind
from tests.support.operator import OperatorProcess, Start
from tests.support.project import Project
from tests.support.relay import Relay
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

STUBBORN = """
    - name: A job that outlives its play
      ansible.builtin.command: sleep 3600.01
      async: 3600
      poll: 0
    - name: One in a session of its own, which also ignores SIGTERM
      ansible.builtin.shell: setsid sh -c "trap '' TERM; sleep 3600.02; true" >/dev/null 2>&1 </dev/null &
    - name: A watch that nobody ends
      ansible.builtin.shell: kubectl get configmaps --watch >/dev/null 2>&1 </dev/null &
    - name: The play hangs
      ansible.builtin.command: sleep 3600.03
"""
SLEEPERS = {"sleep 3600.01", "sleep 3600.02", "sleep 3600.03", "kubectl get configmaps --watch"}


def wait_for_sleepers(operator: OperatorProcess) -> None:
    def asleep() -> bool:
        commands = {process.command for process in operator.run_processes()}
        return commands >= SLEEPERS

    until(asleep, f"{SLEEPERS} run", 180, [operator.check_alive])


def test_a_run_that_takes_too_long_is_killed_with_everything_it_started_and_the_status_says_so(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "hang"})
    project.role("hang", STUBBORN)
    operator = start("--run-timeout=15s", "--max-concurrent-runs=1")
    api.create(THING, THING.object("one", namespace))
    wait_for_sleepers(operator)
    first = {process.pid for process in operator.run_processes()}
    found = conditions(api.wait(THING, "one", namespace, failed))
    assert "longer than 15 s (--run-timeout)" in found["Failure"]["message"]
    until(lambda: not first & {process.pid for process in operator.run_processes()}, "they are gone")


def test_a_run_gets_its_time_when_the_operator_is_stopped(
    api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    project.watches({**THING.watch, "role": "wait", "vars": {"gate": str(tmp_path / "gate")}})
    project.role("wait", '- ansible.builtin.wait_for: {path: "{{ gate }}", timeout: 600}')
    operator = start("--graceful-shutdown-timeout=120s", "--max-concurrent-runs=1")
    api.create(THING, THING.object("going", namespace))
    operator.wait_log("task started", name="going")
    api.create(THING, THING.object("waiting", namespace))
    operator.wait_log("run started", name="waiting")
    operator.ask_to_stop()
    operator.wait_log("stopping", reason="asked to")
    (tmp_path / "gate").touch()
    assert operator.wait_exit(150) == 0
    going = api.get(THING, "going", namespace)
    assert going and succeeded(going)
    waiting = api.get(THING, "waiting", namespace)
    assert waiting and (state(waiting, "Running") != "True" or succeeded(waiting)), "nobody runs, nobody says so"


def test_runs_that_take_longer_than_the_graceful_time_are_ended_and_the_status_says_so(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "hang"})
    project.role("hang", STUBBORN)
    operator = start("--graceful-shutdown-timeout=1s", "--max-concurrent-runs=1")
    api.create(THING, THING.object("going", namespace))
    wait_for_sleepers(operator)
    api.create(THING, THING.object("waiting", namespace))
    operator.wait_log("run started", name="waiting")
    assert operator.stop() == 0
    for name in ("going", "waiting"):
        obj = api.get(THING, name, namespace)
        assert obj and state(obj, "Running") == "False", name
        assert "shutting down" in conditions(obj)["Failure"]["message"]


def test_a_second_signal_ends_the_operator_at_once_and_nothing_is_left(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "hang"})
    project.role("hang", STUBBORN)
    operator = start("--graceful-shutdown-timeout=-1s")
    api.create(THING, THING.object("one", namespace))
    wait_for_sleepers(operator)
    operator.ask_to_stop()
    operator.wait_log("stopping", reason="asked to")
    os.kill(operator.pid, signal.SIGINT)
    assert operator.wait_exit() == 1


def test_no_process_survives_an_operator_that_is_killed(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "hang"})
    project.role("hang", STUBBORN)
    operator = start()
    api.create(THING, THING.object("one", namespace))
    wait_for_sleepers(operator)
    operator.kill()

    project.role("hang", "- ansible.builtin.meta: noop")
    successor = start(work_dir=operator.work_dir)
    api.wait(THING, "one", namespace, succeeded)
    assert [run.succeeded for run in successor.runs("one")] == [True]


@pytest.fixture
def relay(cluster: Cluster) -> Iterator[Relay]:
    with closing(Relay(cluster.server)) as relay:
        yield relay


def test_the_api_server_goes_away_and_comes_back_and_nothing_is_lost(
    api: Api, namespace: str, project: Project, relay: Relay, start: Start, cluster: Cluster, tmp_path: Path
) -> None:
    project.watches({**THING.watch, "role": "nothing"})
    project.role("nothing", "- ansible.builtin.meta: noop")
    operator = start(kubeconfig=relay.kubeconfig(cluster.kubeconfig, tmp_path / "kubeconfig"))
    api.create(THING, THING.object("before", namespace))
    api.wait(THING, "before", namespace, succeeded)

    relay.cut()
    api.create(THING, THING.object("meanwhile", namespace))
    api.patch(THING, "before", namespace, {"spec": {"edited": True}})
    operator.wait_log("cannot watch")
    relay.mend()
    api.wait(THING, "meanwhile", namespace, succeeded)
    operator.wait_runs(2, "before")

    with stopped(cluster, "kube-apiserver"):
        time.sleep(3)  # long enough for everything in flight to hang; there is nothing to poll for
        assert operator.probe("/healthz")[0] == 200
    api.create(THING, THING.object("after", namespace))
    api.wait(THING, "after", namespace, succeeded)
    assert [len(operator.runs(name)) for name in ("before", "meanwhile", "after")] == [2, 1, 1]


class stopped:
    """A component of the cluster, frozen for a while."""

    def __init__(self, cluster: Cluster, component: str) -> None:
        found = read_state(cluster.directory / "state.json")
        assert found
        self._pid = next(part.pid for part in found.components if part.name == component)

    def __enter__(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, signal.SIGCONT)


ELECTION = (
    *("--leader-elect", "--leader-election-id=the-lease"),
    *("--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s"),  # a busy machine must not lose it
)


def leader(api: Api, namespace: str) -> str:
    lease = api.get(LEASE, "the-lease", namespace)
    return (lease["spec"].get("holderIdentity") or "") if lease else ""


def run_one(api: Api, namespace: str, name: str, kind: Kind = THING) -> None:
    api.create(kind, kind.object(name, namespace))
    api.wait(kind, name, namespace, succeeded)


def test_of_two_operators_one_works_and_the_other_takes_over_when_it_dies_or_stops(
    api: Api, namespace: str, project: Project, relay: Relay, start: Start, cluster: Cluster, tmp_path: Path
) -> None:
    project.watches({**THING.watch, "role": "nothing"})
    project.role("nothing", "- ansible.builtin.meta: noop")
    election = (*ELECTION, f"--leader-election-namespace={namespace}")
    first = start(*election)
    first.wait_log("became leader")
    holder = leader(api, namespace)
    second = start(*election)
    run_one(api, namespace, "one")
    assert (len(first.runs()), len(second.runs())) == (1, 0)
    assert leader(api, namespace) == holder

    first.kill()
    second.wait_log("became leader")
    run_one(api, namespace, "two")
    until(
        lambda: {run.name for run in second.runs()} == {"one", "two"}, "the list at the start is run, and the new one"
    )

    third = start(*election, kubeconfig=relay.kubeconfig(cluster.kubeconfig, tmp_path / "kubeconfig"))
    holder = leader(api, namespace)
    assert second.stop() == 0
    assert leader(api, namespace) != holder, "a lease that is given back need not be waited out"
    third.wait_log("became leader")

    third.wait_log("started")
    relay.cut()
    assert third.wait_exit() == 1
    assert "lease was lost" in third.stderr.splitlines()[-1]
