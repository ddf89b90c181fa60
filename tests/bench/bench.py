"""What a reconcile costs, warm beside cold: one table. Not a test; `make bench` from the repository's root.

A role with three `kubernetes.core` tasks and nothing to change runs on a real API server, once with `--cold`, once
without. CPU is that of the operator and everything it has started (its own and its children's, /proc), less what it
uses while idle. `BENCH_PEER` may name another `ansible-operator` program, which then gets a column too.
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
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from localcluster import Cluster
from localcluster.ports import free_port

ROOT = Path(__file__).parent.parent.parent
WATCHES = "- {group: bench.example.com, version: v1, kind: Bench, role: bench, manageStatus: true}\n"
TASK = """
- kubernetes.core.{module}:
    api_version: v1
    kind: ConfigMap
    name: "{{{{ ansible_operator_meta.name }}}}"
    namespace: "{{{{ ansible_operator_meta.namespace }}}}"
"""
INFO, APPLY = TASK.format(module="k8s_info"), TASK.format(module="k8s") + "    definition: {data: {a: b}}\n"
PATCH = TASK.format(module="k8s_json_patch") + "    patch: [{op: add, path: /data/a, value: b}]\n"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "benches.bench.example.com"},
    "spec": {
        "group": "bench.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Bench", "plural": "benches", "singular": "bench", "listKind": "BenchList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@dataclass
class Column:
    """One way to run. CPU in milliseconds a reconcile, latency in seconds, memory in MiB."""

    name: str
    cpu: float = 0.0
    cpu_operator: float = 0.0
    latency: float = 0.0
    warm_parent_memory: float = 0.0
    reconciles_a_second: float = 0.0


def cpu_of(pid: int) -> dict[int, float]:
    """CPU seconds, ended children included, of a process and of each that lives below it."""
    found = {}
    for process in _tree(pid):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[process] = sum(int(fields[index]) for index in (11, 12, 13, 14)) / os.sysconf("SC_CLK_TCK")
    return found


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(below for child in children for below in _tree(int(child)))]


class Bench:
    """A cluster with one kind, and operators one after the other."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self._log = directory / "log"
        tasks = directory / "roles/bench/tasks"
        tasks.mkdir(parents=True)
        (tasks / "main.yml").write_text(INFO + APPLY + PATCH)
        (directory / "watches.yaml").write_text(WATCHES)
        self._kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(CRD))
        self._kubectl("wait", "--for=condition=Established", "crd/benches.bench.example.com")
        time.sleep(3)  # a fresh CRD answers 404 and 429 for a while

    def measure(self, name: str, program: str, flags: list[str], rounds: int, burst: int) -> Column:
        """Run one operator through all measurements."""
        column = Column(name)
        self._kubectl("delete", "benches.bench.example.com", "--all", "-n", "default")  # each would be run at the start
        self._log = self._directory / f"{name}.log"
        log = self._log.open("wb")
        operator = self._operator(program, flags, log)
        try:
            for _ in range(3):
                self._reconcile("warm-up")
            self._cpu(operator.pid, rounds, column)
            column.warm_parent_memory = max(map(_memory, _tree(operator.pid)[1:]), default=0.0)
            column.reconciles_a_second = self._burst(burst)
        finally:
            operator.terminate()
            operator.wait()
            log.close()
        return column

    def _operator(self, program: str, flags: list[str], log: object) -> subprocess.Popen[bytes]:
        command = [program, "run", "--proxy-port=0", "--metrics-bind-address=0", *flags]
        command += ["--user-metrics-bind-address=0", f"--work-dir={self._log}.work"]
        command += [f"--health-probe-bind-address=127.0.0.1:{free_port()}", "--reconcile-period=10h"]
        environment = {
            **os.environ,
            "KUBECONFIG": str(self._cluster.kubeconfig),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_GATHERING": "explicit",
            "WATCH_NAMESPACE": "default",
        }
        return subprocess.Popen(command, cwd=self._directory, env=environment, stdout=log, stderr=log)  # type: ignore[call-overload,no-any-return]

    def _cpu(self, pid: int, rounds: int, column: Column) -> None:
        own, before, started, latencies = _own(pid), cpu_of(pid), time.monotonic(), []
        for number in range(rounds):
            latencies.append(self._reconcile(f"cpu-{number % 2}"))
        after, busy = cpu_of(pid), time.monotonic() - started
        time.sleep(busy)
        idle = cpu_of(pid)
        used = sum(after.values()) - sum(before.values()) - (sum(idle.values()) - sum(after.values()))
        column.cpu = used / rounds * 1000
        column.latency = statistics.median(latencies)
        column.cpu_operator = (_own(pid) - own) / rounds * 1000

    def _burst(self, count: int) -> float:
        started, before = time.monotonic(), self._ended()
        for number in range(count):
            self._apply(f"burst-{number}", str(started))
        self._wait(before + count)
        return count / (time.monotonic() - started)

    def _reconcile(self, name: str) -> float:
        started, before = time.monotonic(), self._ended()
        self._apply(name, str(started))
        self._wait(before + 1)
        return time.monotonic() - started

    def _ended(self) -> int:
        """Successful runs so far, as ours or the Go operator logs them."""
        text = self._log.read_bytes()
        return text.count(b'"run succeeded"') + text.count(b"exited successfully")

    def _apply(self, name: str, text: str) -> None:
        obj = {
            "apiVersion": "bench.example.com/v1",
            "kind": "Bench",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"round": text},
        }
        self._kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(obj))

    def _wait(self, runs: int) -> None:
        deadline = time.monotonic() + 300
        while self._ended() < runs:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {runs} runs; the log ends with {self._log.read_bytes()[-2000:]!r}")
            time.sleep(0.01)

    def _kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        command = [str(self._cluster.kubectl), "--kubeconfig", str(self._cluster.kubeconfig), *arguments]
        return subprocess.run(command, input=stdin, check=True, text=True, stdout=subprocess.PIPE).stdout


def _own(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return 0.0


def main() -> None:
    """Print the table, and the same as JSON into a file where one is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--burst", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that operator and cluster end too
    program = str(Path(sys.executable).parent / "ansible-operator")
    ways = [("warm", program, []), ("cold", program, ["--cold"])]
    if peer := os.environ.get("BENCH_PEER"):
        ways.append(("peer", peer, []))
    with tempfile.TemporaryDirectory() as directory, Cluster.start(Path(directory) / "cluster", kwok=False) as cluster:
        bench = Bench(cluster, Path(directory) / "project")
        columns = [bench.measure(name, path, flags, options.rounds, options.burst) for name, path, flags in ways]
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}")
    for row in asdict(columns[0]):
        print(
            f"{row:24}",
            *(f"{value:>12.3f}" if isinstance(value := getattr(c, row), float) else f"{value:>12}" for c in columns),
        )
    print(
        f"cold / warm: CPU {columns[1].cpu / columns[0].cpu:.1f}, latency {columns[1].latency / columns[0].latency:.1f}"
    )
    if options.json:
        options.json.write_text(json.dumps([asdict(column) for column in columns], indent=2))


if __name__ == "__main__":
    main()
