"""Many tasks at once, for a while, among people and faults: what the operator decided and did, and whether it kept to
its rails.

300 tasks on 100 Deployments in five namespaces: metrics that wander, an autoscaler on each tenth, rollouts,
Deployments and tasks deleted and made again, the operator killed twice, and a storm. Acts are counted in the API
server's audit log.
Not a test, but it has a verdict: exit status 1 where a rule was broken, or a task was not looked at in time.
Run it from the repository's root: `make soak ARGS="--minutes 3 --targets 20"`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from localcluster import Cluster
from tests.bench.common import Requests
from tests.bench.fleet_review import Review, read_acts
from tests.bench.fleet_site import ACCOUNT, AITASK, ROOT, Chaos, Metrics, Site, targets
from tests.bench.meters import own_cpu, tree_cpu
from tests.support.operator import OperatorProcess, Options

_OVERDUE = 3.0
"""Intervals without a look after which a task counts as forgotten; the operator is away for a while after a kill."""


class Watch(threading.Thread):
    """What the tasks say, as they say it."""

    def __init__(self, site: Site, seconds: float) -> None:
        super().__init__(name="watch", daemon=True)
        self.held: Counter[str] = Counter()
        """Reasons of ActionPermitted=False, one for each task and each time that it changes."""
        self.looks: dict[str, list[datetime]] = {}
        """Times of evaluation of each task, by uid."""
        self._site, self._deadline = site, time.monotonic() + seconds
        self._reasons: dict[str, str] = {}

    def run(self) -> None:
        version = self._site.api.request("GET", AITASK.path())["metadata"]["resourceVersion"]
        for task in Requests(self._site.cluster).watch(AITASK.path(), version, self._deadline):
            self._note(task)

    def _note(self, task: dict[str, Any]) -> None:
        uid, status = task["metadata"]["uid"], task.get("status", {})
        if text := status.get("lastExecutionTime"):
            moment, seen = datetime.fromisoformat(text), self.looks.setdefault(uid, [])
            if not seen or moment > seen[-1]:
                seen.append(moment)
        found = {entry["type"]: entry for entry in status.get("conditions", [])}.get("ActionPermitted", {})
        reason = found.get("reason", "") if found.get("status") == "False" else ""
        if reason and self._reasons.get(uid) != reason:
            self.held[reason] += 1
        self._reasons[uid] = reason

    def longest_gaps(self) -> list[float]:
        """Seconds of the longest time without a look, of each task that was looked at twice."""
        gaps = []
        for seen in self.looks.values():
            between = [(two - one).total_seconds() for one, two in pairwise(seen)]
            gaps += [max(between)] if between else []
        return sorted(gaps)


class Operators:
    """The operator, and the one that takes its place when it is killed."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._directory, self._count = directory, 0
        self._account = cluster.service_account_kubeconfig(*ACCOUNT, directory / "kubeconfig")
        self._project = directory / "project"
        self._project.mkdir()
        shutil.copy(ROOT / "watches.yaml", self._project)
        (self._project / "roles").symlink_to(ROOT / "roles")
        self.cpu = Counter[str]()
        self.passes = 0
        self.now = self._start()

    def _start(self) -> OperatorProcess:
        self._count += 1
        options = Options(self._account, self._directory / f"work-{self._count}", ("--max-concurrent-runs=4",))
        operator = OperatorProcess(self._project, options)
        operator.wait_ready()
        return operator

    def kill(self) -> None:
        self.note()
        self.now.kill()
        self.now.clean_up()
        self.now = self._start()

    def note(self) -> None:
        """Add what this operator has used and done so far; call it once for each, before it ends."""
        main = own_cpu(self.now.pid)
        self.cpu["main process"] += main
        self.cpu["runs"] += tree_cpu(self.now.pid) - main
        self.passes += int(self.now.metric("ansible_operator_reconcile_result", GVK=AITASK.gvk, result="succeeded"))

    def end(self) -> None:
        self.note()
        self.now.stop()
        self.now.clean_up()


def _server_cpu() -> float:
    """CPU seconds of the API servers of this machine that this process has started, by their name."""
    total = 0.0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "comm").read_text().strip() == "kube-apiserver":
                total += own_cpu(int(entry.name))
        except OSError:
            continue
    return total


def soak(cluster: Cluster, directory: Path, options: argparse.Namespace) -> dict[str, Any]:
    site = Site(cluster, targets(options.targets), options.interval)
    print("building", flush=True)
    site.build()
    seconds = options.minutes * 60
    metrics, chaos = Metrics(cluster, site, options.seed), Chaos(site, options.seed)
    metrics.start()
    operators, watch = Operators(cluster, directory), Watch(site, seconds)
    watch.start()
    before, began = _server_cpu(), time.monotonic()
    chaos.start()
    # Deeds of one run, each at its part of the time.
    plan = [
        (0.3, "killed", operators.kill),
        (0.5, "storm", lambda: setattr(metrics, "storm", True)),
        (0.65, "storm over", lambda: setattr(metrics, "storm", False)),
        (0.8, "killed", operators.kill),
    ]
    try:
        for part, words, deed in [*plan, (1.0, "over", lambda: None)]:
            while time.monotonic() - began < part * seconds:
                time.sleep(1)
            deed()
            print(f"{time.monotonic() - began:5.0f} s  {words}", flush=True)
        spent, server = time.monotonic() - began, _server_cpu() - before
    finally:
        chaos.end()
        metrics.end()
        operators.end()
    return _result(site, options, watch, chaos, operators, spent, server)


def _result(
    site: Site,
    options: argparse.Namespace,
    watch: Watch,
    chaos: Chaos,
    operators: Operators,
    spent: float,
    server: float,
) -> dict[str, Any]:
    review = Review(read_acts(site.cluster.audit_log))
    review.check()
    gaps = watch.longest_gaps()
    forgotten = sum(gap > _OVERDUE * options.interval for gap in gaps)
    if forgotten:
        review.violations.append(f"{forgotten} tasks were not looked at for more than {_OVERDUE:g} intervals")
    if len(gaps) < len(site.targets):
        review.violations.append(f"only {len(gaps)} tasks were looked at more than once")
    return {
        "seconds": round(spent),
        "tasks": 3 * options.targets,
        "interval": options.interval,
        "passes": operators.passes,
        "passes_a_second": round(operators.passes / spent, 2),
        "cpu_runs": round(operators.cpu["runs"], 1),
        "cpu_main_process": round(operators.cpu["main process"], 1),
        "cpu_api_server": round(server, 1),
        "longest_gap_median": gaps[len(gaps) // 2] if gaps else None,
        "longest_gap": gaps[-1] if gaps else None,
        "acts": len(review.acts),
        "acts_scale": sum(act.replicas is not None for act in review.acts),
        "held": dict(watch.held.most_common()),
        "people": chaos.done,
        "violations": review.violations,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long (default 10)")
    parser.add_argument("--targets", type=int, default=100, help="Deployments; three tasks on each (default 100)")
    parser.add_argument("--interval", type=int, default=60, help="seconds between two looks of a task (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="of metrics and people (default 1)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    return parser.parse_args()


def main() -> int:
    """Print the figures and the verdict."""
    options = _arguments()
    with tempfile.TemporaryDirectory() as folder, Cluster.start(Path(folder) / "cluster") as cluster:
        (Path(folder) / "operator").mkdir()
        result = soak(cluster, Path(folder) / "operator", options)
    print(f"\n{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    for name, value in result.items():
        print(f"{name.replace('_', ' '):<22} {value}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    return 1 if result["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())
