"""What a Prometheus says, and what it does not say, with the operator at work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.behaviour.scene import Scene
from tests.roles.conftest import write_configuration
from tests.support.providers import Provider, serving

__all__ = ["write_configuration"]

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

ASKS: dict[str, Any] = {"metric": {"type": "Prometheus", "prometheus": {"query": "queue"}}}


@pytest.fixture
def prometheus(web: Scene, write_configuration: Callable[[Any], None]) -> Iterator[Provider]:
    """The provider `default`, open to the namespace of the test."""
    with serving() as provider:
        entry = {"url": provider.url, "allowedNamespaces": [web.namespace]}
        write_configuration({"providers": {"prometheus": {"default": entry}}})
        yield provider


@pytest.mark.behaviour(
    case="keda#3065: empty query result read as 0",
    sees="MetricsAvailable=False NoData, ThresholdBreached=Unknown; replicas stay, no lastAction; 0 itself is a value",
)
def test_an_empty_answer_is_no_zero(web: Scene, prometheus: Provider) -> None:
    prometheus.vector("queue")
    web.task(**ASKS, comparison="LessThan", threshold=10, action="scale-down")
    web.sees("MetricsAvailable", "False", "NoData")
    status = web.sees("ThresholdBreached", "Unknown", "NoData")
    web.evaluated()
    assert (web.acts(), web.replicas(), "lastAction" in status) == ([], 3, False)
    prometheus.vector("queue", "0")
    web.sees("ActionPermitted", "True", "Permitted", "query 0 < 10", "scaled 3 -> 2")


@pytest.mark.behaviour(
    case="metric missing / NaN / Inf / stale / >1 series",
    sees="a query that gives several series: MetricsAvailable=False AmbiguousResult; NaN and infinity: NotANumber; "
    "never an act",
)
def test_several_series_and_no_numbers_are_no_values(web: Scene, prometheus: Provider) -> None:
    prometheus.vector("queue", "99", "98")
    web.task(**ASKS)
    web.sees("MetricsAvailable", "False", "AmbiguousResult")
    prometheus.vector("queue", "NaN")
    web.sees("MetricsAvailable", "False", "NotANumber")
    prometheus.scalar("queue", "+Inf")
    web.evaluated()
    web.sees("MetricsAvailable", "False", "NotANumber")
    assert web.acts() == []


@pytest.mark.behaviour(
    case="keda#6421: paused at creation never resumes; paused ones query",
    sees="suspended from the start with its Prometheus asked not once and no error; evaluated within one interval "
    "after suspend is false",
)
def test_a_suspended_task_asks_no_prometheus(web: Scene, prometheus: Provider) -> None:
    prometheus.scalar("queue", "20")
    web.task(**ASKS, suspend=True)
    web.sees("Suspended", "True", "SpecSuspend")
    web.until_passes(1)
    assert prometheus.queries == []
    web.edit(suspend=False)
    web.sees("ThresholdBreached", "False", "WithinThreshold", "query 20 <= 80")
    assert set(prometheus.queries) == {"queue"}
