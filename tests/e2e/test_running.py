"""The image at work on a real API server: our content, and a project that was written for the Go operator's image."""

from __future__ import annotations

import functools
import subprocess
from typing import Any

import pytest

from localcluster import Cluster
from tests.e2e.conftest import OPERATOR, ROOT, Run
from tests.support.api import Api, conditions
from tests.support.kinds import CONFIG_MAP, CRD, DEPLOYMENT, Kind, definition
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

AITASK = Kind("aiops.example.com/v1", "AITask", "aitasks")
MEMCACHED = Kind("test.example.com/v1", "Memcached", "memcacheds")
NOTE = Kind("test.example.com/v1", "Note", "notes")
SECONDS = 240.0


def kubectl(cluster: Cluster, *arguments: str) -> bool:
    command = [str(cluster.kubectl), "--kubeconfig", str(cluster.kubeconfig), *arguments]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def accepted(api: Api, kind: Kind, body: dict[str, Any]) -> bool:
    """A fresh kind, and the guard that looks at it, are served a little later."""
    try:
        api.create(kind, body)
    except AssertionError:
        return False
    return True


def test_our_content_evaluates_a_task(cluster: Cluster, api: Api, namespace: str, run: Run) -> None:
    for directory in ("crd", "default"):
        apply = ("apply", "--server-side", "-k", str(ROOT / "config" / directory))
        until(functools.partial(kubectl, cluster, *apply), f"{directory} is applied")
    operator = run(OPERATOR, WATCH_NAMESPACE=namespace)
    api.checks.append(operator.check_running)
    spec = {"targetDeployment": "absent", "threshold": 80, "action": "notify"}
    until(lambda: accepted(api, AITASK, AITASK.object("t", namespace, spec=spec)), "the task is accepted")
    api.wait(AITASK, "t", namespace, conditions, "it is evaluated", SECONDS)
    assert operator.execute("readlink", "/proc/1/exe") == "/tini\n"
    assert operator.stop() == 0
    assert "Traceback" not in operator.logs()


def test_a_project_of_operator_sdk_runs_as_it_stands(api: Api, namespace: str, derived: str, run: Run) -> None:
    for kind in (MEMCACHED, NOTE):
        if api.get(CRD, f"{kind.plural}.test.example.com") is None:
            api.create(CRD, definition(kind))
    operator = run(derived, WATCH_NAMESPACE=namespace)
    api.checks.append(operator.check_running)
    objects = (
        (MEMCACHED, MEMCACHED.object("cache", namespace, spec={"size": 2})),
        (NOTE, NOTE.object("note", namespace, spec={"text": "well"})),
    )
    for kind, body in objects:
        until(functools.partial(accepted, api, kind, body), "the kind is served")
    made = api.wait(DEPLOYMENT, "cache-memcached", namespace, bool, "the Deployment is made", SECONDS)
    assert (made["spec"]["replicas"], made["metadata"]["ownerReferences"][0]["name"]) == (2, "cache")
    told = api.wait(MEMCACHED, "cache", namespace, phase, "it is told", SECONDS)
    assert phase(told) == "Active"
    note = api.wait(CONFIG_MAP, "note", namespace, bool, "the note is written", SECONDS)
    assert note["data"] == {"user": "12345", "text": "well"}
    assert operator.stop() == 0


def phase(found: dict[str, Any]) -> str | None:
    """Of the namespace, as the project tells it."""
    told: str | None = found.get("status", {}).get("phaseOfNamespace")
    return told
