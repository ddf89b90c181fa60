"""What the operator tells by metrics and Kubernetes Events (contract 4.9), and content by operator_sdk.util."""

import json
import subprocess
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_operator.model.failure_event import MAX_NOTE, failure_event, name_of
from localcluster import Cluster
from localcluster.ports import free_port
from tests.support.api import Api, failed, succeeded
from tests.support.kinds import PLANET, THING, Kind
from tests.support.operator import OperatorProcess, Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

EVENT = Kind("v1", "Event", "events")
CONTROLLER = {"controller": "thing-v1-controller"}
QUEUE = {**CONTROLLER, "name": "thing-v1-controller"}
ME = {"name": "{{ ansible_operator_meta.name }}", "namespace": "{{ ansible_operator_meta.namespace }}"}
ME_TYPED = {"apiVersion": THING.api_version, "kind": "Thing", **ME}


def labels_of(name: str, namespace: str, **more: str) -> dict[str, str]:
    return {"name": name, "namespace": namespace, "group": "test.example.com", "version": "v1", "kind": "Thing", **more}


def events_about(api: Api, obj: dict[str, Any]) -> list[dict[str, Any]]:
    found = api.list(EVENT, obj["metadata"]["namespace"])
    return [event for event in found if event["involvedObject"].get("uid") == obj["metadata"]["uid"]]


def shows(operator: OperatorProcess, name: str, /, **labels: str) -> bool:
    try:
        operator.metric(name, **labels)
    except AssertionError:
        return False
    return True


# --- what content tells, and what is measured of it -------------------------------------------------------------------


def event_task(module: str, **more: Any) -> dict[str, Any]:
    told = {"name": "one.told", "namespace": ME["namespace"], "reason": "Told", "message": "it was told"}
    return {module: {**told, "reportingComponent": "example.com/teller", "involvedObject": ME_TYPED, **more}}


SPEAKING = [
    {"k8s_status": {"api_version": THING.api_version, "kind": "Thing", **ME, "status": {"phase": "Told"}}},
    {"osdk_metric": {"name": "told", "description": "how often it was told", "counter": {"increment": True}}},
    {"operator_sdk.util.osdk_metric": {"name": "told_gauge", "description": "a value", "gauge": {"set": 2.5}}},
    event_task("k8s_event"),
    event_task("operator_sdk.util.k8s_event", merge_type=["json"]),
    event_task("k8s_event", name="one.each", appendTimestamp=True),
    event_task("k8s_event", name="one.gone"),
    event_task("k8s_event", name="one.gone", state="absent"),
    {"requeue_after": {"time": "1h"}},
]


def test_a_role_tells_by_our_modules_without_their_prefix_and_all_of_it_is_measured(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "speak"})
    project.role("speak", json.dumps([{"name": f"Step {n}", **task} for n, task in enumerate(SPEAKING)]))
    operator = start(f"--user-metrics-bind-address=127.0.0.1:{free_port()}")
    created = api.create(THING, THING.object("one", namespace))
    after = api.wait(THING, "one", namespace, succeeded)

    assert after["status"]["phase"] == "Told"
    assert (operator.metric("told"), operator.metric("told_gauge")) == (1, 2.5)
    told = {event["metadata"]["name"].rpartition(".")[0]: event for event in events_about(api, created)}
    assert set(told) == {"one", "one.each"}
    assert (told["one"]["count"], told["one.each"]["count"]) == (2, 1)
    assert told["one"]["type"] == "Normal"
    assert told["one"]["involvedObject"]["apiVersion"] == THING.api_version
    assert not any("ownerReferences" in event["metadata"] for event in told.values())

    one = labels_of("one", namespace)
    assert abs(operator.metric("resource_created_at_seconds", **one) - operator.runs("one")[0].started.timestamp()) < 60
    assert operator.metric("ansible_operator_condition", **one, type="Successful") == 1
    assert operator.metric("ansible_operator_condition", **one, type="Failure") == 0
    until(lambda: operator.metric("controller_runtime_active_workers", **CONTROLLER) == 0, "the worker is free again")
    for phase in ("queue", "start", "play", "status"):
        assert operator.metric("ansible_operator_run_phase_seconds_count", GVK=THING.gvk, phase=phase) == 1
    run = operator.runs("one")[0]
    (ended,) = operator.records("run succeeded", name="one")
    assert ended["recap"] == {
        "localhost": {"ok": 9, "changed": 8, "unreachable": 0, "failed": 0, "skipped": 0, "rescued": 0, "ignored": 0}
    }
    assert run.ended is not None
    played = operator.metric("ansible_operator_reconciles_sum", GVK=THING.gvk)
    room = 0.5 + played / 5  # the moments are not quite the same ones, and on a busy machine they are further apart
    assert abs(played - (run.ended - run.started).total_seconds()) < room
    assert abs(sum(ended["seconds"].values()) - played) < room
    assert operator.metric("controller_runtime_reconcile_total", **CONTROLLER, result="requeue_after") == 1
    assert operator.metric("controller_runtime_reconcile_time_seconds_count", **CONTROLLER) == 1
    assert operator.metric("controller_runtime_max_concurrent_reconciles", **CONTROLLER) >= 1
    assert operator.metric("workqueue_adds_total", **QUEUE) == 1
    assert operator.metric("workqueue_retries_total", **QUEUE) == 1
    assert operator.metric("workqueue_work_duration_seconds_count", **QUEUE) == 1
    for name in ("depth", "unfinished_work_seconds", "longest_running_processor_seconds"):
        assert operator.metric(f"workqueue_{name}", **QUEUE) == 0
    host = api.server.removeprefix("https://")
    assert operator.metric("rest_client_requests_total", code="200", host=host, method="PATCH") == 2, (
        "the status, twice"
    )

    api.delete(THING, "one", namespace)
    until(lambda: not shows(operator, "resource_created_at_seconds", **one), "its series go with the object")
    assert not shows(operator, "ansible_operator_condition", **one, type="Successful")


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_failure_is_told_by_one_event_whose_count_rises(
    api: Api, namespace: str, project: Project, start: Start, cluster: Cluster
) -> None:
    project.watches({**THING.watch, "role": "fail"})
    project.role(
        "fail",
        """
        - name: Survive
          ansible.builtin.fail: {msg: not this one}
          ignore_errors: true
        - name: Reach the database
          ansible.builtin.fail:
            msg: "no answer at {{ now() }} from https://me:hunter2@db, {{ 'and so on ' * 200 }}"
        """,
    )
    operator = start()
    created = api.create(THING, THING.object("one", namespace))

    def told() -> list[dict[str, Any]]:
        found = events_about(api, created)
        return found if found and found[0]["count"] >= 3 else []

    (event,) = until(told, "the failure has been counted three times", checks=api.checks)
    assert event["reason"] == "ReconcileFailed"
    assert event["type"] == "Warning"
    assert event["message"].startswith("task 'Reach the database' (")
    assert "tasks/main.yml:5) failed: no answer at 20" in event["message"]
    assert len(event["message"]) <= 1024
    assert "hunter2" not in json.dumps(event)
    assert event["firstTimestamp"] <= event["lastTimestamp"]
    assert operator.metric("controller_runtime_reconcile_errors_total", **CONTROLLER) >= 3
    assert operator.metric("ansible_operator_condition", **labels_of("one", namespace), type="Failure") == 1

    command = [
        str(cluster.kubectl),
        "--kubeconfig",
        str(cluster.kubeconfig),
        "-n",
        namespace,
        "describe",
        "things",
        "one",
    ]
    described = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "ReconcileFailed" in described
    assert "(x" in described, "kubectl shows the count"
    assert "ansible-operator" in described


def test_an_event_about_an_object_without_a_namespace_is_one_that_the_api_server_takes(api: Api) -> None:
    planet = {"apiVersion": PLANET.api_version, "kind": "Planet", "metadata": {"name": "earth", "uid": "no-such-uid"}}
    name = f"{name_of(planet, 'x')}.{time.time_ns():x}"
    made = api.create(EVENT, failure_event(planet, name, "x" * MAX_NOTE, datetime.now(UTC)))
    assert made["metadata"]["namespace"] == "default"
    api.delete(EVENT, name, "default")


def test_the_leader_says_that_it_leads(api: Api, namespace: str, project: Project, start: Start) -> None:
    project.watches({**THING.watch, "role": "none"})
    project.role("none", "[]")
    operator = start("--leader-elect", "--leader-election-id=the-lease", f"--leader-election-namespace={namespace}")
    until(lambda: operator.metric("leader_election_master_status", name="the-lease") == 1, "it leads")
    host = api.server.removeprefix("https://")
    renewals = {"code": "200", "host": host, "method": "PUT"}
    until(lambda: shows(operator, "rest_client_requests_total", **renewals), "what keeps the lease is counted as well")


def test_an_operator_that_may_not_write_events_says_so_once_and_works_on(
    api: Api, namespace: str, project: Project, start: Start, cluster: Cluster, tmp_path: Any
) -> None:
    account = service_account(api, namespace, "mute", THING_RIGHTS)
    kubeconfig = cluster.service_account_kubeconfig(namespace, account, tmp_path / "mute.kubeconfig")
    project.watches({**THING.watch, "role": "fail"})
    project.role("fail", "- ansible.builtin.fail: {msg: no}")
    operator = start(kubeconfig=kubeconfig)
    created = api.create(THING, THING.object("one", namespace))
    api.wait(THING, "one", namespace, failed)
    operator.wait_runs(3, "one")
    assert len(operator.records("events are not written")) == 1
    assert events_about(api, created) == []


THING_RIGHTS = [
    {
        "apiGroups": ["test.example.com"],
        "resources": ["things", "things/status"],
        "verbs": ["get", "list", "watch", "patch"],
    }
]
ROLE = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
ROLE_BINDING = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")


def service_account(api: Api, namespace: str, name: str, rules: list[dict[str, Any]]) -> str:
    """A ServiceAccount with these rights in its namespace."""
    api.create(SERVICE_ACCOUNT, SERVICE_ACCOUNT.object(name, namespace))
    api.create(ROLE, ROLE.object(name, namespace, rules=rules))
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    api.create(ROLE_BINDING, ROLE_BINDING.object(name, namespace, roleRef=reference, subjects=[subject]))
    return name
