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


# --- labels, which the Go operator does not have ---


@pytest.mark.parametrize("name", ["acts", "acts_total"])
def test_a_counter_has_a_series_for_each_value_of_its_labels(name: str) -> None:
    def report(result: str, **operation: Any) -> dict[str, Any]:
        return {"name": name, "labels": {"result": result, "action": "scale"}, "counter": operation}

    lines = page(report("done", increment=True), report("failed", add=2), report("done", increment=True), report("new"))
    assert sorted(lines) == [
        f'{name}{{action="scale",result="done"}} 2.0',
        f'{name}{{action="scale",result="failed"}} 2.0',
        f'{name}{{action="scale",result="new"}} 0.0',
    ]


@pytest.mark.parametrize(
    ("kind", "operation", "line"),
    [
        ("gauge", {"set": 3}, 'x{a="1"} 3.0'),
        ("histogram", {"observe": 3}, 'x_count{a="1"} 1.0'),
        ("summary", {"observe": 3}, 'x_sum{a="1"} 3.0'),
    ],
)
def test_other_types_have_labels_too(kind: str, operation: dict[str, Any], line: str) -> None:
    assert line in page({"name": "x", "labels": {"a": 1}, kind: operation})


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a"], "labels is not a map"),
        ("a=b", "labels is not a map"),
        ({"b": "1"}, "x has labels a; give it these"),
        (None, "x has labels a; give it these"),
        ({"a": "1", "b": "1"}, "x has labels a"),
    ],
)
def test_all_reports_of_a_name_have_the_same_labels(labels: Any, words: str) -> None:
    first = {"name": "x", "labels": {"a": "1"}, "counter": {}}
    with pytest.raises(ValueError, match=words):
        page(first, {"name": "x", "labels": labels, "counter": {}})


@pytest.mark.parametrize("labels", [{"a-b": "1"}, {"": "1"}, {"__name__": "x"}, {"le": "1"}])
def test_what_is_no_name_of_a_label_is_refused_and_leaves_nothing(labels: dict[str, str]) -> None:
    metrics = UserMetrics(CollectorRegistry())
    with pytest.raises(ValueError, match=r"name|label|[Rr]eserved"):
        metrics.report({"name": "x", "labels": labels, "histogram": {}})
    metrics.report({"name": "x", "labels": {"a": "1"}, "gauge": {"set": 1}})


def test_series_are_counted_by_their_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_metrics, "MAX_SERIES", 3)
    metrics = UserMetrics(CollectorRegistry())
    for n in range(3):
        metrics.report({"name": "x", "labels": {"of": f"object-{n}"}, "counter": {"increment": True}})
    for refused in ({"name": "x", "labels": {"of": "object-3"}, "counter": {}}, {"name": "y", "gauge": {}}):
        with pytest.raises(ValueError, match="there are 3 series already"):
            metrics.report(refused)
    metrics.report({"name": "x", "labels": {"of": "object-0"}, "counter": {"increment": True}})
