"""What the role `aitask` costs: how many passes a second, tasks and requests of one, and so how many AITasks fit."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from localcluster import Cluster
from tests.bench.common import Audit, Requests, api_of
from tests.support.kinds import DEPLOYMENT, Kind
from tests.support.operator import OperatorProcess, Options
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
AITASK = Kind("aiops.example.com/v1", "AITask", "aitasks")
INTERVAL = 60
"""Seconds between two looks of an AITask that does not say otherwise."""

_LABELS = {"app": "web"}
_CONTAINER = {"name": "web", "image": "example.com/web", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
_TEMPLATE = {"metadata": {"labels": _LABELS}, "spec": {"containers": [_CONTAINER]}}


def measure(cluster: Cluster, directory: Path, count: int) -> dict[str, Any]:
    """Healthy passes over ``count`` AITasks, whose spec is changed all at once."""
    api, requests = api_of(cluster), Requests(cluster)
    subprocess.run(
        [cluster.kubectl, "--kubeconfig", cluster.kubeconfig, "apply", "--server-side", "-k", ROOT / "config/crd"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    spec = {"replicas": 1, "selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
    api.create(DEPLOYMENT, DEPLOYMENT.object("web", "default", spec=spec))
    directory.mkdir(parents=True)
    for name in ("watches.yaml", "roles"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, directory / name)
    options = Options(cluster.kubeconfig, directory / "work", (), {"WATCH_NAMESPACE": "default"})
    operator = OperatorProcess(directory, options)
    try:
        operator.wait_ready()
        names = [f"task-{number}" for number in range(count)]
        task = {
            "targetDeployment": "web",
            "metric": {"type": "UnavailableReplicas"},
            "threshold": 9,
            "action": "notify",
        }
        for name in names:
            api.create(AITASK, AITASK.object(name, "default", spec={**task, "threshold": 9, "intervalSeconds": 3600}))
        _wait(operator, count)
        audit, done = Audit(cluster), _runs(operator)
        started = time.monotonic()
        for name in names:
            requests.patch(AITASK.path("default", name), {"spec": {"threshold": 8}})
        _wait(operator, done + count)
        seconds = time.monotonic() - started
        asked = [request for request in audit.read() if not request.discovery]
        tasks = [record["ok"] for record in operator.records("run succeeded")][-count:]
        return {
            "passes_a_second": round(count / seconds, 2),
            "tasks_of_a_pass": statistics.median(tasks),
            "requests_of_a_pass": round(len(asked) / count, 1),
            "aitasks_at_60_s": int(count / seconds * INTERVAL),
        }
    finally:
        operator.stop()
        operator.clean_up()


def _runs(operator: OperatorProcess) -> int:
    return int(operator.metric("ansible_operator_reconcile_result", GVK=AITASK.gvk, result="succeeded"))


def _wait(operator: OperatorProcess, count: int) -> None:
    until(lambda: _runs(operator) >= count, f"{count} good passes", 600, [operator.check_alive])
