"""`make demo`: it shows the real thing, by nothing but the API, and notices when there is nothing to show."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.cli import main
from localcluster import Cluster
from localcluster.processes import marked
from tests.support.audit_log import entries
from tests.support.documents import ROOT
from tests.support.typist import Typist
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

OPERATOR = "system:serviceaccount:aitask-operator-system:aitask-operator-controller-manager"


def audited_writes(log: Path, resource: str, subresource: str = "") -> Iterator[dict[str, Any]]:
    for event in entries(log):
        target = event.get("objectRef") or {}
        if (
            event["verb"] in ("create", "update", "patch", "delete")
            and event["responseStatus"]["code"] < 300
            and "dryRun=" not in event["requestURI"]
            and (target.get("resource"), target.get("subresource", "")) == (resource, subresource)
        ):
            yield event


def test_the_demo_shows_the_main_job_done_by_the_operators_service_account_and_keep_leaves_it_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "cluster"
    try:
        assert main(["--directory", str(directory), "--keep"]) == 0
        output = capsys.readouterr().out
        cluster = Cluster.attach(directory)

        statuses = {event["user"]["username"] for event in audited_writes(cluster.audit_log, "aitasks", "status")}
        assert statuses == {OPERATOR}
        acts = [event for event in audited_writes(cluster.audit_log, "deployments") if event["verb"] != "create"]
        assert [(act["objectRef"]["name"], act["user"]["username"], act["verb"]) for act in acts] == [
            ("web", OPERATOR, "patch"),
            ("worker", OPERATOR, "patch"),
        ]

        assert "scaled 3 -> 4" in output and "restarted worker" in output
        assert "simulated" in output
        assert "make cluster-down" in output
        pids = json.loads((directory / "demo/pids.json").read_text())
        assert {pids["keeper"], pids["operator"]} <= {identity.pid for identity in marked(directory)}

        the_pages_are_true(cluster)

        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
        monkeypatch.setenv("PATH", str(cluster.kubectl.parent), prepend=os.pathsep)
        assert main(["--directory", str(tmp_path / "other"), "--current", "--yes"]) == 1
        assert "is installed on this cluster already" in capsys.readouterr().out
    finally:
        Cluster.attach(directory).stop()
    assert marked(directory) == []


def the_pages_are_true(cluster: Cluster) -> None:
    """Whoever goes on from `make demo KEEP=1` as the pages say sees what they say."""
    environment = {"KUBECONFIG": str(cluster.kubeconfig), "PATH": f"{cluster.kubectl.parent}:{os.environ['PATH']}"}
    reader = Typist("docs/getting-started.md", ROOT, environment)
    reader.skip("make demo KEEP=1")
    reader.skip("export KUBECONFIG=")
    reader.skip("export PATH=")
    assert "worker-restart" in reader.type("kubectl get aitasks")
    assert "Last Action" in reader.type("kubectl describe aitask worker-restart")
    events = reader.upto("kubectl -n aiops-demo get events")
    assert "aitask/web-notify" in events and "Breached" in events
    reader.upto("kubectl -n aiops-demo wait deployment/shop --for=delete")
    reader.skip("make cluster-down")
    reader.done()

    reader = Typist("docs/operations.md", ROOT, environment, "## Back up")
    restore = yaml.safe_load(reader.upto("kubectl -n aiops-demo get aitaskrestore rehearsal"))
    assert restore["spec"]["dryRun"]
    reader.done()

    shop = (
        f"kubectl create namespace shop && kubectl -n shop apply -f {ROOT}/config/samples/aiops_v1_aitask_template.yaml"
    )
    subprocess.run(["bash", "-ec", shop], env=os.environ | environment, check=True)
    reader = Typist("docs/backup.md", ROOT, environment, "# Backup and restore")
    restore = yaml.safe_load(reader.upto("kubectl -n shop get atr after-upgrade"))
    assert [result["name"] for result in restore["status"]["results"]] == ["shop"]
    reader.done()


def test_the_demo_fails_where_the_operator_does_nothing_and_leaves_nothing_running(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "cluster"
    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(stop_the_operator_when_the_story_begins, directory)
        status = main(["--directory", str(directory), "--patience", "45"])
        stopped.result()
    output = capsys.readouterr().out
    assert status == 1
    assert "not seen within 45 s: the status of web-scale-up shows 45" in output
    assert marked(directory) == []


def stop_the_operator_when_the_story_begins(directory: Path) -> None:
    pids = directory / "demo/pids.json"
    until(pids.exists, "the operator is started", 300)
    cluster = Cluster.attach(directory)
    kubectl = [str(cluster.kubectl), "--kubeconfig", str(cluster.kubeconfig)]
    until(
        lambda: subprocess.run([*kubectl, "get", "ns", "aiops-demo"], capture_output=True, check=False).returncode == 0,
        "the story begins",
        120,
    )
    os.kill(json.loads(pids.read_text())["operator"], signal.SIGSTOP)
