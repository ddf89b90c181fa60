"""The series of controllers, queues, objects and requests: names, labels and buckets of controller-runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ansible_operator.model.gvk import GVK, ObjectKey
from ansible_operator.model.watch import Content, Watch
from ansible_operator.telemetry.metrics import OUTCOMES, PHASES, Metrics
from ansible_operator.telemetry.object_metrics import ObjectMetrics

WEB = GVK("example.com", "v1", "Web")
WATCH = Watch(WEB, Content(role=Path("/roles/web")))
CONTROLLER = {"controller": "web-v1-controller"}
QUEUE = {**CONTROLLER, "name": "web-v1-controller"}
BY_GVK = {"GVK": "example.com/v1, Kind=Web"}


@pytest.fixture
def metrics() -> Metrics:
    made = Metrics("1")
    made.prepare(WATCH)
    return made


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        *(("controller_runtime_reconcile_total", {**CONTROLLER, "result": outcome}) for outcome in OUTCOMES),
        ("controller_runtime_reconcile_errors_total", CONTROLLER),
        ("controller_runtime_terminal_reconcile_errors_total", CONTROLLER),
        ("controller_runtime_reconcile_panics_total", CONTROLLER),
        ("controller_runtime_reconcile_time_seconds_count", CONTROLLER),
        ("controller_runtime_max_concurrent_reconciles", CONTROLLER),
        ("controller_runtime_active_workers", CONTROLLER),
        ("workqueue_depth", QUEUE),
        ("workqueue_adds_total", QUEUE),
        ("workqueue_queue_duration_seconds_count", QUEUE),
        ("workqueue_work_duration_seconds_count", QUEUE),
        ("workqueue_unfinished_work_seconds", QUEUE),
        ("workqueue_longest_running_processor_seconds", QUEUE),
        ("workqueue_retries_total", QUEUE),
        *(("ansible_operator_run_phase_seconds_count", {**BY_GVK, "phase": phase}) for phase in PHASES),
        ("ansible_operator_queue_wait_seconds_count", CONTROLLER),
    ],
    ids=str,
)  # fmt: skip
def test_before_the_first_run_everything_stands_at_0(metrics: Metrics, name: str, labels: dict[str, str]) -> None:
    assert metrics.registry.get_sample_value(name, labels) == 0


@pytest.mark.parametrize(
    ("name", "labels", "first", "last", "count"),
    [
        ("controller_runtime_reconcile_time_seconds", CONTROLLER, "0.005", "60.0", 41),
        ("workqueue_queue_duration_seconds", QUEUE, "1e-08", "1000.0", 13),
        ("workqueue_work_duration_seconds", QUEUE, "1e-08", "1000.0", 13),
        ("ansible_operator_reconciles", BY_GVK, "0.005", "10.0", 12),
    ],
)
def test_the_buckets_are_those_of_the_go_operator(
    metrics: Metrics, name: str, labels: dict[str, str], first: str, last: str, count: int
) -> None:
    (family,) = [family for family in metrics.registry.collect() if family.name == name]
    buckets = [sample.labels["le"] for sample in family.samples if sample.name == f"{name}_bucket"]
    assert (buckets[0], buckets[-2], buckets[-1], len(buckets)) == (first, last, "+Inf", count)
    assert metrics.registry.get_sample_value(f"{name}_sum", labels) == 0


def test_no_series_are_there_that_gos_client_does_not_have(metrics: Metrics) -> None:
    assert b"_created " not in generate_latest(metrics.registry).replace(b"resource_created_at_seconds", b"")


def test_a_pass_is_counted_by_its_outcome_and_timed(metrics: Metrics) -> None:
    series = metrics.controller(WEB)
    series.reconciled("error", 2)
    series.reconciled("success", 1)
    series.panicked()
    value = metrics.registry.get_sample_value
    assert value("controller_runtime_reconcile_total", {**CONTROLLER, "result": "error"}) == 1
    assert value("controller_runtime_reconcile_errors_total", CONTROLLER) == 1
    assert value("controller_runtime_reconcile_panics_total", CONTROLLER) == 1
    assert value("controller_runtime_reconcile_time_seconds_sum", CONTROLLER) == 3


def test_requests_are_counted_as_client_go_does(metrics: Metrics) -> None:
    for code in ("200", "200", "<error>"):
        metrics.requested("10.0.0.1:443", "GET", code)
    value = metrics.registry.get_sample_value
    labels = {"host": "10.0.0.1:443", "method": "GET"}
    assert value("rest_client_requests_total", {**labels, "code": "200"}) == 2
    assert value("rest_client_requests_total", {**labels, "code": "<error>"}) == 1


def test_who_leads_is_told_only_where_there_is_an_election(metrics: Metrics) -> None:
    assert metrics.registry.get_sample_value("leader_election_master_status", {"name": "x"}) is None
    for leads in (False, True, False):
        metrics.leads("x", leads)
        assert metrics.registry.get_sample_value("leader_election_master_status", {"name": "x"}) == leads


# --- objects ---------------------------------------------------------------------------------------------------------


def obj(name: str, *conditions: Any, created: str = "2026-01-31T12:00:00Z") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "a", "creationTimestamp": created},
        "status": {"conditions": list(conditions)},
    }


def labels(name: str, **more: str) -> dict[str, str]:
    return {"name": name, "namespace": "a", "group": "example.com", "version": "v1", "kind": "Web", **more}


def is_true(kind: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status}


def test_an_object_has_series_as_long_as_it_is_there(metrics: Metrics) -> None:
    value = metrics.registry.get_sample_value
    metrics.objects.put(WEB, obj("one", is_true("Running"), is_true("Failure", "False"), is_true("Ready", "Unknown")))
    assert value("resource_created_at_seconds", labels("one")) == 1769860800
    found = {
        kind: value("ansible_operator_condition", labels("one", type=kind)) for kind in ("Running", "Failure", "Ready")
    }
    assert found == {"Running": 1, "Failure": 0, "Ready": -1}

    metrics.objects.put(WEB, obj("one", is_true("Running", "False")))
    assert value("ansible_operator_condition", labels("one", type="Running")) == 0
    assert value("ansible_operator_condition", labels("one", type="Ready")) is None

    metrics.objects.remove(WEB, ObjectKey("a", "one"))
    metrics.objects.remove(WEB, ObjectKey("a", "one"))
    assert value("resource_created_at_seconds", labels("one")) is None
    assert value("ansible_operator_condition", labels("one", type="Running")) is None


def test_a_condition_is_shown_by_the_reason_it_has_now(metrics: Metrics) -> None:
    def shown(reason: str) -> float | None:
        name = "ansible_operator_condition_reason"
        return metrics.registry.get_sample_value(name, labels("one", type="Ready", reason=reason))

    metrics.objects.put(WEB, obj("one", is_true("Ready", "False") | {"reason": "Missing"}, is_true("Bare")))
    assert (shown("Missing"), shown("")) == (0, None)
    metrics.objects.put(WEB, obj("one", is_true("Ready") | {"reason": "Found" * 100}))
    assert (shown("Missing"), shown(("Found" * 100)[:316])) == (None, 1)
    metrics.objects.remove(WEB, ObjectKey("a", "one"))
    assert shown(("Found" * 100)[:316]) is None


def test_the_conditions_of_so_many_objects_are_shown_and_no_more() -> None:
    few = ObjectMetrics(CollectorRegistry(), max_objects=2)
    for name in ("one", "two", "three"):
        few.put(WEB, obj(name, is_true("Ready")))

    def shown() -> set[str]:
        return {
            sample.labels["name"] for family in few.collect() for sample in family.samples if "type" in sample.labels
        }

    assert (shown(), len(few)) == ({"one", "two"}, 3)
    few.remove(WEB, ObjectKey("a", "one"))
    few.put(WEB, obj("three", is_true("Ready")))
    assert shown() == {"two", "three"}


def test_whatever_a_role_writes_into_its_status_is_survived_and_bounded(metrics: Metrics) -> None:
    strange = [None, 5, {}, {"type": ""}, {"type": "x" * 5000, "status": True}, *(is_true(f"C{n}") for n in range(100))]
    metrics.objects.put(WEB, obj("one", *strange))
    for status in (None, [], "x", {"conditions": None}, {"conditions": {"a": 1}}):
        metrics.objects.put(WEB, {**obj("two", created="never"), "status": status})
    families = list(metrics.objects.collect())
    assert sum(len(family.samples) for family in families) == 2 + 16
    assert max(len(sample.labels.get("type", "")) for family in families for sample in family.samples) == 316
    assert metrics.registry.get_sample_value("resource_created_at_seconds", labels("two")) == 0
