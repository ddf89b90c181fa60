"""What a long life does to the operator: memory, descriptors, processes and files after many runs, beside after few.

Not a test: it prints a table, and takes as long as its runs do (a cold run is one to two CPU seconds).
Run it from the repository's root: `make soak RUNS=1000 OBJECTS=200`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

from localcluster import Cluster
from localcluster.ports import free_port

ROOT = Path(__file__).parent.parent.parent

WATCHES = """
- {group: soak.example.com, version: v1, kind: Soak, role: soak, markUnsafe: true, maxRunnerArtifacts: 2}
"""

TASKS = """
- name: Make a ConfigMap
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "{{ ansible_operator_meta.name }}"
        namespace: "{{ ansible_operator_meta.namespace }}"
      data:
        round: "{{ round | string }}"
"""

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "soaks.soak.example.com"},
    "spec": {
        "group": "soak.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Soak", "plural": "soaks", "singular": "soak", "listKind": "SoakList"},
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


@dataclass(frozen=True)
class Reading:
    """The operator at one moment. Memory in MiB; ``files`` counts everything in its work directory."""

    runs: int
    seconds: float
    rss_mib: float
    private_mib: float
    descriptors: int
    threads: int
    children: int
    files: int


def read(pid: int, work: Path, runs: int, started: float) -> Reading:
    """Take a reading of the process ``pid``."""
    proc = Path("/proc") / str(pid)
    memory = {
        name: int(value.split()[0]) / 1024
        for name, _, value in (line.partition(":") for line in (proc / "smaps_rollup").read_text().splitlines()[1:])
    }
    children = (proc / "task" / str(pid) / "children").read_text().split()
    return Reading(
        runs=runs,
        seconds=round(time.monotonic() - started, 1),
        rss_mib=round(memory["Rss"], 1),
        private_mib=round(memory["Private_Clean"] + memory["Private_Dirty"], 1),
        descriptors=len(list((proc / "fd").iterdir())),
        threads=len(list((proc / "task").iterdir())),
        children=len(children),
        files=sum(len(names) for _, _, names in os.walk(work)),
    )


class Bench:
    """A cluster, an operator with one trivial role, and some objects."""

    def __init__(self, cluster: Cluster, directory: Path, objects: int) -> None:
        self.work = directory / "work"
        self._cluster = cluster
        self._directory = directory
        self._objects = objects
        self._metrics = free_port()
        self._probe = free_port()

    def prepare(self) -> None:
        """Write the project and install the kind."""
        tasks = self._directory / "roles/soak/tasks"
        tasks.mkdir(parents=True)
        (tasks / "main.yml").write_text(TASKS)
        (self._directory / "watches.yaml").write_text(WATCHES)
        self.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(CRD))
        self.kubectl("wait", "--for=condition=Established", "crd/soaks.soak.example.com")

    def kubectl(self, *arguments: str, stdin: str | None = None) -> None:
        """Run kubectl as an administrator."""
        command = [str(self._cluster.kubectl), "--kubeconfig", str(self._cluster.kubeconfig), *arguments]
        subprocess.run(command, input=stdin, check=True, text=True, stdout=subprocess.DEVNULL)

    def operator(self) -> subprocess.Popen[bytes]:
        """Start the operator."""
        command = [
            str(Path(sys.executable).parent / "ansible-operator"),
            "run",
            f"--work-dir={self.work}",
            "--proxy-port=0",
            f"--metrics-bind-address=127.0.0.1:{self._metrics}",
            f"--health-probe-bind-address=127.0.0.1:{self._probe}",
            "--user-metrics-bind-address=0",
            "--ansible-log-events=nothing",
        ]
        environment = {
            **os.environ,
            "KUBECONFIG": str(self._cluster.kubeconfig),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_GATHERING": "explicit",
        }
        with (self._directory / "operator.log").open("wb") as log:
            return subprocess.Popen(command, cwd=self._directory, env=environment, stdout=log, stderr=log)

    def log(self) -> str:
        """The end of what the operator printed."""
        return (self._directory / "operator.log").read_text()[-4000:]

    def touch_all(self, round_number: int) -> None:
        """Change the spec of every object."""
        items = [
            {
                "apiVersion": "soak.example.com/v1",
                "kind": "Soak",
                "metadata": {"name": f"s{number}", "namespace": "default"},
                "spec": {"round": round_number},
            }
            for number in range(self._objects)
        ]
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=listed)

    def runs(self) -> int:
        """Good runs so far, as the operator counts them; 0 before it answers. Ends the bench where one has failed."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return 0
        failed = [line for line in lines if line.startswith("ansible_operator_reconcile_result{") and "failed" in line]
        if any(not line.endswith(" 0.0") for line in failed):
            raise SystemExit(f"a run has failed; the end of the operator's log:\n{self.log()}")
        return sum(
            int(float(line.rsplit(" ", 1)[1])) for line in lines if line.startswith("ansible_operator_reconciles_count")
        )


def soak(bench: Bench, operator: subprocess.Popen[bytes], first: int, last: int, objects: int) -> list[Reading]:
    """Keep it busy until it has made ``last`` runs; a reading at ``first``, then at every tenth of the way."""
    started = time.monotonic()
    readings: list[Reading] = []
    marks = sorted({first, *range(last // 10, last + 1, max(1, last // 10))} - set(range(first)))
    rounds = 0
    while marks:
        runs = bench.runs()
        if rounds * objects - runs < objects // 2:
            rounds += 1
            bench.touch_all(rounds)
        if runs >= marks[0]:
            marks.pop(0)
            readings.append(read(operator.pid, bench.work, runs, started))
            print("  ".join(f"{name} {value}" for name, value in asdict(readings[-1]).items()), flush=True)
        if operator.poll() is not None:
            raise SystemExit("the operator has ended")
        time.sleep(1)
    return readings


def main() -> int:
    """Print the readings, and the last beside the first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="runs in all (default 1000)")
    parser.add_argument("--first", type=int, default=100, help="runs before the first reading (default 100)")
    parser.add_argument("--objects", type=int, default=200, help="objects (default 200)")
    parser.add_argument("--json", type=Path, help="file for the readings")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Cluster.start(Path(folder) / "cluster", audit=False) as cluster:
        bench = Bench(cluster, Path(folder), options.objects)
        bench.prepare()
        operator = bench.operator()
        try:
            readings = soak(bench, operator, options.first, options.runs, options.objects)
        finally:
            operator.terminate()
            operator.wait()
    if options.json:
        options.json.write_text(json.dumps([asdict(reading) for reading in readings], indent=2) + "\n")
    for name, value in asdict(readings[0]).items():
        after = asdict(readings[-1])[name]
        print(f"{name:<12} {value:>10} -> {after:>10}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
