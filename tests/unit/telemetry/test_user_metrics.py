"""Metrics that content reports, as a server that scrapes sees them: names as given, few, known from the first."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ansible_operator.model.settings import Address
from ansible_operator.telemetry import user_metrics
from ansible_operator.telemetry.metrics import Metrics
from ansible_operator.telemetry.user_metrics import URL_VARIABLE, UserMetrics, environment_of


def page(*documents: dict[str, Any]) -> list[str]:
    """The samples on the page, without comments."""
    registry = CollectorRegistry()
    metrics = UserMetrics(registry)
    for document in documents:
        metrics.report(document)
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("name", ["things", "things_total"])
def test_a_counter_has_the_name_it_was_given(name: str) -> None:
    assert page({"name": name, "counter": {"increment": True}}, {"name": name, "counter": {"add": 2.5}}) == [
        f"{name} 3.5"
    ]


@pytest.mark.parametrize(
    ("kind", "nothing", "samples"),
    [
        ("counter", {"increment": None, "add": None}, ["x 0.0"]),
        ("counter", {}, ["x 0.0"]),
        ("gauge", {"set": None, "add": None, "set_to_current_time": None}, ["x 0.0"]),
        ("summary", {"observe": None}, ["x_count 0.0", "x_sum 0.0"]),
    ],
    ids=str,
)
def test_a_series_can_be_made_known_before_there_is_anything_to_count(
    kind: str, nothing: dict[str, None], samples: list[str]
) -> None:
    """As the examples of osdk_metric do it, which sends null for what was not given."""
    assert page({"name": "x", "description": "d", kind: nothing}) == samples


def test_a_histogram_has_the_buckets_of_gos_client() -> None:
    lines = page({"name": "h", "histogram": {"observe": 0.06}})
    buckets = [line.split('"')[1] for line in lines if line.startswith("h_bucket")]
    assert buckets == ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0", "+Inf"]


@pytest.mark.parametrize("name", ["workqueue_depth", "ansible_operator_reconciles", "resource_created_at_seconds"])
@pytest.mark.parametrize("kind", ["counter", "gauge", "summary"])
def test_the_operators_own_names_are_taken(name: str, kind: str) -> None:
    with pytest.raises(ValueError, match="Duplicated"):
        UserMetrics(Metrics("1").registry).report({"name": name, kind: {}})


def test_the_number_of_names_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_metrics, "MAX_SERIES", 3)
    metrics = UserMetrics(CollectorRegistry())
    for n in range(3):
        metrics.report({"name": f"n{n}", "gauge": {"set": n}})
    with pytest.raises(ValueError, match="there are 3 series already; use few names"):
        metrics.report({"name": "n3", "gauge": {"set": 3}})
    metrics.report({"name": "n2", "gauge": {"set": 5}})


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (Address("127.0.0.1", 5050), "http://127.0.0.1:5050/metrics"),
        (Address("", 7), "http://127.0.0.1:7/metrics"),
        (Address("0.0.0.0", 7), "http://127.0.0.1:7/metrics"),
        (Address("::", 7), "http://127.0.0.1:7/metrics"),
        (Address("::1", 7), "http://[::1]:7/metrics"),
        (Address("10.0.0.1", 7), "http://10.0.0.1:7/metrics"),
    ],
    ids=str,
)
def test_runs_are_told_where_the_server_is(address: Address, url: str) -> None:
    assert environment_of(address) == {URL_VARIABLE: url}


def test_but_not_where_it_is_off() -> None:
    assert environment_of(Address("", 0)) == {}
