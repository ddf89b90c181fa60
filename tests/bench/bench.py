"""What a reconcile costs, warm beside cold: one table. Not a test; `make bench` from the repository's root.

On a real API server, `ansible-operator run` and `ansible-operator run --cold` one after the other, with a role of
three `kubernetes.core` tasks and nothing to change. CPU is that of the operator and everything it has started, less
what it uses in as much time while idle; the API server's is not counted. `BENCH_PEER` may name another
`ansible-operator` program, which then gets a column too. A handler made with kopf that does the same calls is the
lower bound.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from localcluster import Cluster
from localcluster.ports import free_port
from tests.bench import aitask
from tests.bench.common import Requests, api_of, serve
from tests.bench.done import Done, ansible_is_done, generation_is_done
from tests.bench.meters import PeakMemory, own_cpu, resident, tree_cpu, warm_parents
from tests.support.api import Api
from tests.support.kinds import Kind

ROOT = Path(__file__).parents[2]
GROUP = "test.example.com"
THREE = Kind(f"{GROUP}/v1", "Three", "threes")
MORE = Kind(f"{GROUP}/v1", "More", "mores")
PURE = Kind(f"{GROUP}/v1", "Pure", "pures")
FURTHER = 10
"""Further tasks of a role, by which the cost of one is told."""

_OBJECT = """{api_version: v1, kind: ConfigMap, name: "{{ ansible_operator_meta.name }}", namespace: default}"""
INFO = f"- kubernetes.core.k8s_info: {_OBJECT}\n"
THREE_TASKS = f"""
- kubernetes.core.k8s_info: &object
    {_OBJECT}
- kubernetes.core.k8s: {{<<: *object, definition: {{data: {{a: b}}}}}}
- kubernetes.core.k8s_json_patch: {{<<: *object, patch: [{{op: add, path: /data/a, value: b}}]}}
"""
PURE_TASKS = """
- ansible.builtin.set_fact: {name: "{{ ansible_operator_meta.name }}"}
- ansible.builtin.assert: {that: [name == ansible_operator_meta.name], quiet: true}
- ansible.builtin.debug: {msg: "{{ name }}"}
"""
ROLES = {THREE: THREE_TASKS, MORE: THREE_TASKS + INFO * FURTHER, PURE: THREE_TASKS + PURE_TASKS * FURTHER}


@dataclass
class Column:
    """One way to run. CPU in milliseconds a reconcile, latency in seconds, memory in MiB."""

    name: str
    cpu: float = 0.0
    cpu_main: float = 0.0
    cpu_further_kubernetes_task: float | None = None
    cpu_further_pure_task: float | None = None
    latency: float = 0.0
    reconciles_a_second: float = 0.0
    rss_main: float = 0.0
    rss_warm_parent: float | None = None
    private_of_a_run: float | None = None


@dataclass(frozen=True)
class Way:
    """A way to reconcile: a command, whether further tasks are measured, and how its status tells that it is done."""

    name: str
    command: list[str]
    further: bool = False
    done: Callable[[], Done] = ansible_is_done
    environment: dict[str, str] = field(default_factory=dict)


class Bench:
    """A cluster with the kinds, and operators one after the other."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self._api: Api = api_of(cluster)
        self._requests = Requests(cluster)
        self._count = 0
        watches = []
        for kind, tasks in ROLES.items():
            folder = directory / "roles" / kind.plural / "tasks"
            folder.mkdir(parents=True)
            (folder / "main.yml").write_text(tasks)
            watches.append({**kind.watch, "role": kind.plural})
            serve(self._api, kind)
        (directory / "watches.yaml").write_text(json.dumps(watches))

    def measure(self, way: Way, rounds: int, burst: int) -> Column:
        """Run one operator through all measurements."""
        column = Column(way.name)
        for kind in ROLES:
            self._api.request("DELETE", kind.path("default"))
        with self._running(way) as pid:
            self._rounds(way, THREE, 5 if way.name != "cold" else 1)  # caches fill, the warm parent starts
            column.cpu, column.cpu_main, column.latency = self._cost(way, pid, THREE, rounds)
            if way.further:
                further = [self._cost(way, pid, kind, rounds)[0] - column.cpu for kind in (MORE, PURE)]
                column.cpu_further_kubernetes_task = further[0] / FURTHER
                column.cpu_further_pure_task = further[1] / (FURTHER * PURE_TASKS.count("\n- "))
            with PeakMemory(pid) as peak:
                column.reconciles_a_second = self._burst(way, burst)
            column.rss_main = resident(pid)
            if parents := warm_parents(pid):
                column.rss_warm_parent, column.private_of_a_run = max(map(resident, parents)), peak.mib
        return column

    @contextmanager
    def _running(self, way: Way) -> Iterator[int]:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
            "KUBECONFIG": str(self._cluster.kubeconfig),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_GATHERING": "explicit",
            "WATCH_NAMESPACE": "default",
            **way.environment,
        }
        log = self._directory / f"{way.name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(way.command, cwd=self._directory, env=environment, stdout=out, stderr=out)
        try:
            yield process.pid
        except TimeoutError as error:
            raise SystemExit(f"{way.name}: {error}; its log ends with\n{log.read_text()[-3000:]}") from error
        finally:
            process.terminate()
            process.wait()

    def _cost(self, way: Way, pid: int, kind: Kind, rounds: int) -> tuple[float, float, float]:
        """CPU of a reconcile, and the main process's part of it, in ms; the median latency in s."""
        self._rounds(way, kind, 2)
        before, own, started = tree_cpu(pid), own_cpu(pid), time.monotonic()
        latencies = self._rounds(way, kind, rounds)
        after, own_after, busy = tree_cpu(pid), own_cpu(pid), time.monotonic() - started
        time.sleep(busy)
        idle, own_idle = tree_cpu(pid) - after, own_cpu(pid) - own_after
        cpu, main = (after - before - idle) / rounds * 1000, (own_after - own - own_idle) / rounds * 1000
        _tell(f"{way.name}: {kind.kind} {cpu:.0f} ms, main process {main:.0f} ms")
        return cpu, main, statistics.median(latencies)

    def _rounds(self, way: Way, kind: Kind, rounds: int) -> list[float]:
        return [self._reconcile(way, kind, [f"one-{number % 2}"]) for number in range(rounds)]

    def _burst(self, way: Way, count: int) -> float:
        names = [f"burst-{number}" for number in range(count)]
        return count / self._reconcile(way, THREE, names)

    def _reconcile(self, way: Way, kind: Kind, names: list[str]) -> float:
        """Change objects; the seconds from the first change to the last status that says it is done."""
        self._count += 1
        for name in names:
            if self._api.get(kind, name, "default") is None:
                self._api.create(kind, kind.object(name, "default"))
        version = self._api.request("GET", kind.path("default"))["metadata"]["resourceVersion"]
        started = time.monotonic()
        for name in names:
            self._requests.patch(kind.path("default", name), {"spec": {"round": self._count}})
        waiting = {name: way.done() for name in names}
        deadline = started + 300 + 30 * len(names)
        for obj in self._requests.watch(kind.path("default"), version, deadline):
            name = obj["metadata"]["name"]
            if name in waiting and obj.get("spec", {}).get("round") == self._count and waiting[name](obj):
                del waiting[name]
                if not waiting:
                    return time.monotonic() - started
        raise TimeoutError(f"no reconcile of {kind.kind} ended")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def ways() -> list[Way]:
    """What is measured, in this order."""
    program = str(Path(sys.executable).parent / "ansible-operator")
    common = ["run", "--reconcile-period=10h", "--metrics-bind-address=0"]
    probe = f"--health-probe-bind-address=127.0.0.1:{free_port()}"
    ours = [program, *common, probe, "--proxy-port=0", "--user-metrics-bind-address=0"]
    found = [
        Way("warm", [*ours, "--work-dir=work-warm"], further=True),
        Way("cold", [*ours, "--work-dir=work-cold", "--cold"]),
    ]
    if peer := os.environ.get("BENCH_PEER"):
        found.append(Way("peer", [peer, *common, probe]))
    kopf = [sys.executable, "-m", "kopf", "run", "-n", "default", str(Path(__file__).with_name("lower_bound.py"))]
    return [*found, Way("kopf", kopf, done=generation_is_done)]


GOALS: list[tuple[str, Callable[[Column, Column], float], str, float]] = [
    ("CPU of a reconcile, cold / warm", lambda warm, cold: cold.cpu / warm.cpu, ">=", 40),
    ("main process, ms", lambda warm, _: warm.cpu_main, "<=", 20),
    ("latency, cold / warm", lambda warm, cold: cold.latency / warm.latency, ">=", 20),
    ("a further kubernetes.core task, ms", lambda warm, _: warm.cpu_further_kubernetes_task or 0, "<=", 12),
    ("a further pure task, ms", lambda warm, _: warm.cpu_further_pure_task or 0, "<=", 5),
    ("a warm parent, MiB", lambda warm, _: warm.rss_warm_parent or 0, "<", 120),
    ("private memory of a run, MiB", lambda warm, _: warm.private_of_a_run or 0, "<", 25),
    ("reconciles a second, API server on the same machine", lambda warm, _: warm.reconciles_a_second, ">=", 10),
]
"""What is wanted of warm runs: name, value, and the goal."""


def machine() -> str:
    """What this was measured on."""
    cpus, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    optimised = "optimised" if "--enable-optimizations" in options else "built without optimisations"
    python = f"Python {platform.python_version()} ({optimised})"
    return f"{platform.machine()}, {cpus} CPUs, load {load:.1f}, {python}, ansible-core {version('ansible-core')}"


def show(columns: list[Column]) -> None:
    """Print the table, then the goals."""
    print(f"\n{machine()}\n")
    for row in asdict(columns[0]):
        values = (getattr(column, row) for column in columns)
        print(f"{row:28}", *(f"{'' if v is None else v if isinstance(v, str) else f'{v:.2f}':>10}" for v in values))
    by_name = {column.name: column for column in columns}
    print()
    for name, value, sign, goal in GOALS:
        reached = value(by_name["warm"], by_name["cold"])
        good = {">=": reached >= goal, "<=": reached <= goal, "<": reached < goal}[sign]
        print(f"{name:54} {reached:8.2f}   goal {sign} {goal:<4} {'reached' if good else 'MISSED'}")


def main() -> None:
    """Print the table, and the same as JSON into a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, help="reconciles by which CPU and latency are told (30)")
    parser.add_argument("--burst", type=int, default=100, help="objects changed at once, for the rate (100)")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="(default build/bench.json)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that operator and cluster end too
    columns = []
    with tempfile.TemporaryDirectory() as directory, Cluster.start(Path(directory) / "cluster", kwok=False) as cluster:
        bench = Bench(cluster, Path(directory) / "project")
        for way in ways():
            few = way.name in ("cold", "peer")
            rounds, burst = (max(3, options.rounds // 5), max(4, options.burst // 12)) if few else (0, 0)
            columns.append(bench.measure(way, rounds or options.rounds, burst or options.burst))
        role = aitask.measure(cluster, Path(directory) / "aitask", options.burst)
    show(columns)
    print("\nthe role aitask, healthy passes:", ", ".join(f"{name} {value}" for name, value in role.items()))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    found = {"machine": machine(), "columns": [asdict(column) for column in columns], "aitask": role}
    options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
