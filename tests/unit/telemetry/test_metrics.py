"""The operator's series: their names, and that they stand at 0 from the start (contract 4.9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator.model.gvk import GVK
from ansible_operator.model.watch import Content, Watch
from ansible_operator.telemetry.metrics import Metrics

TASK = GVK("aiops.example.com", "v1", "AITask")
WATCH = Watch(TASK, Content(role=Path("/roles/task")))
BY_GVK = {"GVK": "aiops.example.com/v1, Kind=AITask"}
BY_CONTROLLER = {"controller": "aitask-v1-controller"}


def test_the_build_is_known_from_the_start() -> None:
    assert (
        Metrics("1.2.3").registry.get_sample_value("ansible_operator_build_info", {"commit": "", "version": "1.2.3"})
        == 1
    )


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("ansible_operator_reconcile_result", {**BY_GVK, "result": "succeeded"}),
        ("ansible_operator_reconcile_result", {**BY_GVK, "result": "failed"}),
        ("ansible_operator_reconciles_count", BY_GVK),
        ("ansible_operator_reconciles_sum", BY_GVK),
        ("controller_runtime_reconcile_total", {**BY_CONTROLLER, "result": "success"}),
        ("controller_runtime_reconcile_total", {**BY_CONTROLLER, "result": "error"}),
        ("controller_runtime_reconcile_total", {**BY_CONTROLLER, "result": "requeue"}),
        ("controller_runtime_reconcile_total", {**BY_CONTROLLER, "result": "requeue_after"}),
        ("controller_runtime_reconcile_errors_total", BY_CONTROLLER),
        ("controller_runtime_active_workers", BY_CONTROLLER),
    ],
    ids=str,
)
def test_before_the_first_run_it_stands_at_0(name: str, labels: dict[str, str]) -> None:
    metrics = Metrics("1")
    assert metrics.registry.get_sample_value(name, labels) is None
    metrics.prepare(WATCH)
    assert metrics.registry.get_sample_value(name, labels) == 0


def test_runs_are_counted_by_result_and_timed() -> None:
    metrics = Metrics("1")
    for succeeded, seconds in ((True, 0.2), (True, 3), (False, 7)):
        metrics.run_ended(TASK, succeeded, seconds)
    value = metrics.registry.get_sample_value
    assert value("ansible_operator_reconcile_result", {**BY_GVK, "result": "succeeded"}) == 2
    assert value("ansible_operator_reconcile_result", {**BY_GVK, "result": "failed"}) == 1
    assert value("ansible_operator_reconciles_count", BY_GVK) == 3
    assert value("ansible_operator_reconciles_sum", BY_GVK) == pytest.approx(10.2)
    assert value("ansible_operator_reconciles_bucket", {**BY_GVK, "le": "0.25"}) == 1
    assert value("ansible_operator_reconciles_bucket", {**BY_GVK, "le": "5.0"}) == 2


def test_two_operators_in_one_process_count_apart() -> None:
    first, second = Metrics("1"), Metrics("1")
    first.run_ended(TASK, True, 1)
    assert second.registry.get_sample_value("ansible_operator_reconciles_count", BY_GVK) is None


def test_the_process_is_measured() -> None:
    registry = Metrics("1.0").registry
    for name in ("cpu_seconds_total", "resident_memory_bytes", "virtual_memory_bytes", "open_fds", "max_fds"):
        assert (registry.get_sample_value(f"process_{name}") or 0) > 0
    assert (registry.get_sample_value("process_start_time_seconds") or 0) > 1.7e9
