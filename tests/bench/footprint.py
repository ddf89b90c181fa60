"""What the operator keeps and asks for: memory for its objects, requests for a run, discovery, and a leader's absence.

Not a test; `make footprint` from the repository's root, or `make footprint ARGS="--only memory,requests"`.

memory     RSS of the main process with so many objects of a watched kind (1.5 KB each without managed fields, status
           included): when the first list is there, all of it queued, and after some minutes of runs
requests   what one more run of a role with three `kubernetes.core` tasks asks the API server for, by the audit log
discovery  what runs ask for to know what is served: of the first object, and of many
gap        how long nobody holds the lease after its leader is killed (SIGKILL), or is asked to go (SIGTERM)
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from localcluster import Cluster
from tests.bench.common import Audit, Request, api_of, by_kind, create_many, serve
from tests.bench.meters import resident
from tests.support.api import Api
from tests.support.kinds import LEASE, Kind
from tests.support.operator import OperatorProcess, Options
from tests.support.project import Project
from tests.support.waiting import until

BENCH = Kind("test.example.com/v1", "Bench", "benches")
QUEUE = {"name": "bench-v1-controller", "controller": "bench-v1-controller"}
THREE_TASKS = """
- kubernetes.core.k8s_info: &object
    {api_version: v1, kind: ConfigMap, name: "{{ me.name }}", namespace: "{{ me.namespace }}"}
- kubernetes.core.k8s: {<<: *object, definition: {data: {a: b}}}
- kubernetes.core.k8s_json_patch: {<<: *object, patch: [{op: add, path: /data/a, value: b}]}
"""
CONDITION = {"lastTransitionTime": "2026-01-01T00:00:00Z", "message": "it is so because of " + "x" * 60}


class Place:
    """A cluster with the kind, and a directory for operators."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster = cluster
        self.api = api_of(cluster)
        self._directory = directory
        self._count = 0
        serve(self.api, BENCH)

    @contextmanager
    def operator(self, tasks: str, *flags: str, **environment: str) -> Iterator[OperatorProcess]:
        """An operator with a role of these tasks; it is stopped at the end."""
        self._count += 1
        directory = self._directory / f"operator{self._count}"
        project = Project(directory / "project")
        project.watches({**BENCH.watch, "role": "bench", "vars": {"me": "{{ ansible_operator_meta }}"}})
        project.role("bench", tasks)
        path = (self.cluster.kubectl.parent,)
        watch = {"WATCH_NAMESPACE": "default", **environment}
        options = Options(self.cluster.kubeconfig, directory / "work", flags, watch, path)
        operator = OperatorProcess(project.directory, options)
        try:
            yield operator
        finally:
            if operator.exit_status is None:
                operator.stop(60)
            operator.clean_up()

    def clear(self) -> None:
        """Remove all objects of the kind; the API server needs longer for many than anybody waits for an answer."""

        def gone() -> bool:
            with suppress(TimeoutError):
                self.api.request("DELETE", BENCH.path("default"))
            return not self.api.list(BENCH, "default")

        until(gone, "all are gone", 600)


def large(number: int) -> dict[str, Any]:
    """An object as large as those of real operators."""
    spec = {"targetDeployment": f"web-{number}", "threshold": 80, "action": "scale-up", "intervalSeconds": 15}
    spec |= {"metric": {"type": "CPUUtilization", "aggregation": "Average"}, "policy": {"cooldownSeconds": 300}}
    types = ("Running", "Successful", "Failure", "Ready")
    conditions = [{"type": name, "status": "True", "reason": "AsExpected", **CONDITION} for name in types]
    status = {"conditions": conditions, "phase": "Idle", "history": [f"{hour:02}:00 looked" for hour in range(12)]}
    labels = {"app": "bench", "tier": "gold"}
    return BENCH.object(f"bench-{number}", "default", metadata={"labels": labels}, spec=spec, status=status)


# --- memory ----------------------------------------------------------------------------------------------------------


def memory(place: Place, counts: list[int], seconds: float) -> dict[str, Any]:
    """MiB by number of objects; ``runs`` is how many there have been by the second reading."""
    rows = []
    there = 0
    for count in counts:
        create_many(place.cluster, BENCH, (large(number) for number in range(there, count)))
        there = count
        with place.operator("[]", "--max-concurrent-reconciles=1", "--ansible-log-events=nothing") as operator:
            operator.wait_ready()
            _wait_queued(operator, count)
            synced = resident(operator.pid)
            time.sleep(seconds)
            rows.append(
                {
                    "objects": count,
                    "synced_mib": round(synced, 1),
                    "later_mib": round(resident(operator.pid), 1),
                    "runs": int(operator.metric("workqueue_work_duration_seconds_count", **QUEUE)),
                }
            )
            print(rows[-1], flush=True)
    sample = place.api.list(BENCH, "default")[0]
    whole = len(json.dumps(sample))
    sample["metadata"].pop("managedFields", None)
    place.clear()
    (first, last) = rows[0], rows[-1]
    each = (last["synced_mib"] - first["synced_mib"]) * 1024 / max(last["objects"] - first["objects"], 1)
    sizes = {"json_bytes": whole, "json_bytes_without_managed_fields": len(json.dumps(sample))}
    return {"rows": rows, "kib_for_each_object": round(each, 2), **sizes}


def _wait_queued(operator: OperatorProcess, count: int) -> None:
    until(lambda: operator.metric("workqueue_adds_total", **QUEUE) >= count, "all are queued", 60)


# --- requests --------------------------------------------------------------------------------------------------------


def requests(place: Place, runs: int) -> dict[str, Any]:
    """Requests for a run: the first one of an object, and each further one."""
    with place.operator(THREE_TASKS) as operator:
        operator.wait_ready()
        _touch(place.api, operator, "warm-up", 2)
        audit = Audit(place.cluster)
        _touch(place.api, operator, "counted", 1)
        first = audit.read()
        _touch(place.api, operator, "counted", runs)
        later = audit.read()
    place.clear()
    return {"first_run": _table(first, 1), "each_further_run": _table(later, runs)}


def _touch(api: Api, operator: OperatorProcess, name: str, times: int) -> None:
    """Change an object's spec, and wait for its run and the status after it, so often."""
    for _ in range(times):
        ended = len(operator.ended_runs(name))
        if api.get(BENCH, name, "default") is None:
            api.create(BENCH, BENCH.object(name, "default"))
        else:
            api.patch(BENCH, name, "default", {"spec": {"touched": str(time.time_ns())}})
        operator.wait_runs(ended + 1, name)
        until(lambda: operator.metric("controller_runtime_active_workers", controller=QUEUE["name"]) == 0, "idle")


def _table(found: list[Request], runs: int) -> dict[str, Any]:
    def each(chosen: list[Request]) -> dict[str, Any]:
        return {kind: round(number / runs, 2) for kind, number in sorted(by_kind(chosen).items())}

    own = [request for request in found if request.own]
    plays = [request for request in found if not request.own]
    totals = {"own": round(len(own) / runs, 2), "play": round(len(plays) / runs, 2)}
    return {**totals, "own_by_kind": each(own), "play_by_kind": each(plays)}


# --- discovery -------------------------------------------------------------------------------------------------------


def discovery(place: Place, objects: int) -> dict[str, Any]:
    """Requests for what is served, from the start of the operator to the end of the runs."""
    found = {}
    for count in (1, objects):
        create_many(place.cluster, BENCH, ({**large(number), "status": {}} for number in range(count)))
        audit = Audit(place.cluster)
        with place.operator(THREE_TASKS) as operator:
            operator.wait_runs(count, seconds=600)
        asked = [request for request in audit.read() if request.discovery]
        found[count] = {"requests": len(asked), "by_path": dict(by_kind(asked))}
        place.clear()
    return {"by_number_of_objects": found}


# --- the leader's absence --------------------------------------------------------------------------------------------


def gap(place: Place, times: int) -> dict[str, Any]:
    """Seconds from the end of one leader to the first time that the lease names the next, to a tenth."""
    ways: dict[str, Callable[[OperatorProcess], Any]] = {
        "SIGKILL": lambda operator: os.kill(operator.pid, signal.SIGKILL),
        "SIGTERM": OperatorProcess.ask_to_stop,
    }
    found = {name: _gaps(place, f"gap-{name.lower()}", end, times) for name, end in ways.items()}
    numbers: dict[str, Callable[[list[float]], float]] = {"min": min, "median": statistics.median, "max": max}
    return {
        name: {"times": times, **{word: round(number(gaps), 2) for word, number in numbers.items()}}
        for name, gaps in found.items()
    }


def _gaps(place: Place, lease: str, end: Callable[[OperatorProcess], Any], times: int) -> list[float]:
    flags = ("--leader-elect", f"--leader-election-id={lease}", "--leader-election-namespace=default")
    gaps = []
    with ExitStack() as running:
        leader = running.enter_context(place.operator("[]", *flags))
        leader.wait_log("became leader")
        for _ in range(times):
            standby = running.enter_context(place.operator("[]", *flags))
            standby.wait_log("waiting for the lease")
            time.sleep(3)  # longer than the time between two looks at the lease, so that it has seen it
            gaps.append(_gap(place.api, lease, partial(end, leader)))
            leader.wait_exit(60)
            leader = standby
            print(lease, round(gaps[-1], 2), flush=True)
    return gaps


def _gap(api: Api, lease: str, end: Callable[[], Any]) -> float:
    def holder() -> str:
        found = api.get(LEASE, lease, "default")
        return (found["spec"].get("holderIdentity") or "") if found else ""

    before = holder()
    started = time.monotonic()
    end()
    while holder() in ("", before):
        if time.monotonic() - started > 120:
            raise TimeoutError("nobody leads after two minutes")
        time.sleep(0.1)
    return time.monotonic() - started


def main() -> None:
    """Measure what is asked for, and print it as JSON, into a file as well where one is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="memory,requests,discovery,gap", help="which of the four, comma-separated")
    parser.add_argument("--objects", default="10,1000,10000", help="numbers of objects for memory, rising")
    parser.add_argument("--seconds", type=float, default=120, help="of runs before the second reading of memory")
    parser.add_argument("--runs", type=int, default=20, help="runs over which requests are averaged")
    parser.add_argument("--kills", type=int, default=20, help="leaders that are ended, in either way")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that operators and cluster end too
    counts = [int(number) for number in options.objects.split(",")]
    ways: dict[str, Callable[[Place], dict[str, Any]]] = {
        "memory": lambda place: memory(place, counts, options.seconds),
        "requests": lambda place: requests(place, options.runs),
        "discovery": lambda place: discovery(place, 100),
        "gap": lambda place: gap(place, options.kills),
    }
    found = {}
    with tempfile.TemporaryDirectory() as folder, Cluster.start(Path(folder) / "cluster", kwok=False) as cluster:
        place = Place(cluster, Path(folder))
        for name in options.only.split(","):
            found[name] = ways[name](place)
            print(json.dumps({name: found[name]}, indent=2), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
