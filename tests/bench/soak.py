"""What a long life does to the operator: memory, descriptors, processes and files after many runs, beside after few.

Not a test, but it has a verdict: exit status 1 where the memory of a long-lived process has grown by more than a tenth,
or the number of its descriptors (a few connections aside), of its threads, of processes or of files at all. Readings
are taken between runs, with all objects in the same state. It takes as long as its runs do: a tenth of a CPU second or
two for a warm one.
Run it from the repository's root: `make soak-runs ARGS="--mix --runs 10000"`.
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
import uuid
from dataclasses import asdict
from pathlib import Path

from localcluster import Cluster
from localcluster.ports import free_port
from tests.bench.readings import Reading, count_files, growth, lives, of_runs, operator_processes, ticks_of_parents
from tests.bench.soak_content import CRD, MIX, TASKS, WATCHES, outcome

ROOT = Path(__file__).parent.parent.parent
_MARK = "SOAK_OPERATOR"
_CAPACITY = 4
_CALM_SECONDS = 4.0


class Bench:
    """A cluster, an operator with one trivial role, and some objects."""

    def __init__(self, cluster: Cluster, directory: Path, objects: int) -> None:
        self.work = directory / "work"
        self.temporary = directory / "tmp"
        self.mark = uuid.uuid4().hex
        self._cluster = cluster
        self._directory = directory
        self._objects = objects
        self._metrics = free_port()
        self._probe = free_port()

    def prepare(self) -> None:
        """Write the project and install the kind."""
        tasks = self._directory / "roles/soak/tasks"
        tasks.mkdir(parents=True)
        self.temporary.mkdir()
        (tasks / "main.yml").write_text(TASKS)
        (self._directory / "watches.yaml").write_text(WATCHES)
        self.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(CRD))
        self.kubectl("wait", "--for=condition=Established", "crd/soaks.soak.example.com")

    def kubectl(self, *arguments: str, stdin: str | None = None) -> None:
        """Run kubectl as an administrator."""
        command = [str(self._cluster.kubectl), "--kubeconfig", str(self._cluster.kubeconfig), *arguments]
        subprocess.run(command, input=stdin, check=True, text=True, stdout=subprocess.DEVNULL)

    def operator(self, flags: list[str]) -> subprocess.Popen[bytes]:
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
            f"--max-concurrent-runs={_CAPACITY}",
            "--run-timeout=5s",
            *flags,
        ]
        environment = {
            **os.environ,
            "KUBECONFIG": str(self._cluster.kubeconfig),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_GATHERING": "explicit",
            "TMPDIR": str(self.temporary),
            _MARK: self.mark,
        }
        with (self._directory / "operator.log").open("wb") as log:
            return subprocess.Popen(command, cwd=self._directory, env=environment, stdout=log, stderr=log)

    def log(self) -> str:
        """The end of what the operator printed."""
        return (self._directory / "operator.log").read_text()[-4000:]

    def touch_all(self, round_number: int, mix: bool = False, quiet: bool = False) -> None:
        """Change the spec of every object."""
        items = [
            {
                "apiVersion": "soak.example.com/v1",
                "kind": "Soak",
                "metadata": {"name": f"s{number}", "namespace": "default"},
                "spec": {
                    "round": round_number,
                    "outcome": "quiet" if quiet else outcome(number, round_number, mix),
                },
            }
            for number in range(self._objects)
        ]
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=listed)

    def results(self) -> dict[str, int]:
        """Runs so far, as the operator counts them, by result; none before it answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        counts = [line for line in lines if line.startswith("ansible_operator_reconcile_result{")]
        return {line.split('result="')[1].split('"')[0]: int(float(line.rsplit(" ", 1)[1])) for line in counts}

    def has_begun(self, round_number: int) -> bool:
        """Whether every object's last run is that of a round, or of a later one."""
        place = self.work / "runner/soak.example.com/v1/Soak/default"
        files = [place / f"s{number}/env/extravars" for number in range(self._objects)]
        try:
            return all(json.loads(file.read_text())["round"] >= round_number for file in files)
        except FileNotFoundError:
            return False

    def runs(self) -> int:
        """Runs so far."""
        return sum(self.results().values())


class Soak:
    """Keeps an operator busy, with a pause for each reading."""

    def __init__(self, bench: Bench, operator: subprocess.Popen[bytes], objects: int, mix: bool) -> None:
        self._bench = bench
        self._operator = operator
        self._objects = objects
        self._mix = mix
        self._round = 0
        self._started = time.monotonic()

    def run(self, first: int, last: int) -> list[Reading]:
        """Until it has made ``last`` runs; a reading after ``first``, then at every tenth of the way."""
        readings = []
        tenths = range(last // 10, last + 1, max(1, last // 10))
        for mark in sorted({first, last, *(tenth for tenth in tenths if tenth > first)}):
            self._work(mark)
            self._settle()
            readings.append(self._read())
            print("  ".join(f"{name} {value}" for name, value in readings[-1].rows().items()), flush=True)
        return readings

    def _work(self, mark: int) -> None:
        begun, rounds = self._bench.runs(), 0
        while (runs := self._bench.runs()) < mark:
            if rounds * self._objects - (runs - begun) < self._objects // 2:
                rounds += 1
                self._touch()
            self._check()
            time.sleep(0.5)

    def _settle(self) -> None:
        """Two rounds of runs that do nothing, so that the artifacts of all objects are alike."""
        for _ in range(2):
            self._touch(quiet=True)
            while not self._bench.has_begun(self._round):
                self._check()
                time.sleep(0.3)
            self._wait_for_calm()

    def _wait_for_calm(self) -> None:
        seen, since = (-1, -1), time.monotonic()
        while time.monotonic() - since < _CALM_SECONDS:
            processes = operator_processes(f"{_MARK}={self._bench.mark}")
            now = (self._bench.runs(), ticks_of_parents(self._operator.pid, processes))
            if now != seen or of_runs(processes):
                seen, since = now, time.monotonic()
            self._check()
            time.sleep(0.3)

    def _touch(self, quiet: bool = False) -> None:
        self._round += 1
        self._bench.touch_all(self._round, self._mix, quiet)

    def _check(self) -> None:
        if self._operator.poll() is not None:
            raise SystemExit(f"the operator has ended:\n{self._bench.log()}")
        if not self._mix and self._bench.results().get("failed"):
            raise SystemExit(f"a run has failed; the end of the operator's log:\n{self._bench.log()}")

    def _read(self) -> Reading:
        processes = operator_processes(f"{_MARK}={self._bench.mark}")
        results = self._bench.results()
        return Reading(
            runs=sum(results.values()),
            seconds=round(time.monotonic() - self._started, 1),
            lives=lives(self._operator.pid, processes),
            processes=len(processes),
            files=count_files(self._bench.work),
            temporary=count_files(self._bench.temporary),
            results=results,
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="runs in all (default 1000)")
    parser.add_argument("--first", type=int, default=500, help="runs before the first reading (default 500)")
    parser.add_argument("--objects", type=int, default=50, help="objects (default 50)")
    parser.add_argument("--mix", action="store_true", help=f"of a hundred runs {MIX}, others do nothing")
    parser.add_argument(
        "--flag", action="append", default=[], help="a flag for the operator, --flag=--cold for instance"
    )
    parser.add_argument("--json", type=Path, help="file for the readings")
    return parser.parse_args()


def main() -> int:
    """Print the readings, the last beside the first, and the verdict."""
    options = _arguments()
    with tempfile.TemporaryDirectory() as folder, Cluster.start(Path(folder) / "cluster", audit=False) as cluster:
        bench = Bench(cluster, Path(folder), options.objects)
        bench.prepare()
        operator = bench.operator(options.flag)
        try:
            readings = Soak(bench, operator, options.objects, options.mix).run(options.first, options.runs)
        finally:
            operator.terminate()
            operator.wait()
    if options.json:
        options.json.write_text(json.dumps([asdict(reading) for reading in readings], indent=2) + "\n")
    after = readings[-1].rows()
    for name, value in readings[0].rows().items():
        print(f"{name:<20} {value:>10g} -> {after.get(name, 0):>10g}")
    grown = growth(readings[0], readings[-1])
    print("\n".join(["GROWN", *grown]) if grown else "nothing has grown")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
