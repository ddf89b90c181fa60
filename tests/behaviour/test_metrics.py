"""What a value is, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.behaviour.scene import POD, Scene, requests

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

YOUNG, OLD = "2125-01-01T00:00:00Z", "2025-01-01T00:00:00Z"


@pytest.mark.behaviour(
    case="metric missing / NaN / Inf / stale / >1 series",
    sees="MetricsAvailable=False with NoData, NotANumber or StaleSample, ThresholdBreached=Unknown, Ready=False "
    "MetricsUnavailable after three; the breaches counted so far stay, and no act; with data again it counts on",
)
def test_without_data_the_count_stands_still(web: Scene) -> None:
    web.task(evaluation={"consecutiveBreaches": 20})
    web.use("93m")
    web.wait(lambda task: task.get("status", {}).get("breaches", 0) >= 2, "two breached samples")
    web.use(None)
    counted = web.sees("MetricsAvailable", "False", "NoData", "no metrics of pod web-")["breaches"]
    web.sees("ThresholdBreached", "Unknown", "NoData")
    web.use("NaN")
    web.sees("MetricsAvailable", "False", "NotANumber", "cpu of container web in pod web-", "is no number")
    web.use("+Inf")
    web.sees("Ready", "False", "MetricsUnavailable", "is no number", "3 times in a row")
    web.use("93m")
    web.metrics.shift = -1800
    web.sees("MetricsAvailable", "False", "StaleSample", "is older than 18 s")
    web.metrics.shift = 1800
    status = web.sees("MetricsAvailable", "False", "StaleSample", "lies in the future")
    assert (status["breaches"], status.get("observedValue")) == (counted, None)
    web.metrics.shift = 0
    web.sees("Ready", "True", "Evaluated", "cpu 93% > 80%")
    assert web.evaluated(1)["breaches"] > counted
    assert (web.acts(), web.replicas()) == ([], 3)


@pytest.mark.behaviour(
    case="metric missing: counted as healthy or as a breach, where that was asked for",
    sees="onMissingData Healthy: ThresholdBreached=False, counted as healthy; Breach: an Event on task and target, and "
    "nothing else",
)
def test_missing_data_is_what_the_task_says_it_is(web: Scene) -> None:
    web.task("healthy", evaluation={"onMissingData": "Healthy"})
    web.task("breach", evaluation={"onMissingData": "Breach"}, action="notify")
    status = web.sees("ThresholdBreached", "False", "WithinThreshold", "no data", "counted as healthy", name="healthy")
    assert status["breaches"] == 0
    web.sees("ThresholdBreached", "True", "Breached", "no data", "counted as breached", name="breach")
    web.until_events(("AITask", "ThresholdBreached"), ("Deployment", "ThresholdBreached"))
    assert web.acts() == []


@pytest.mark.behaviour(case="0 is a value", sees="cpu 0% < 10%, and the action is done")
def test_nothing_used_is_a_value(web: Scene) -> None:
    web.use("0")
    web.task(threshold=10, comparison="LessThan", action="scale-down")
    web.sees("ActionPermitted", "True", "Permitted", "cpu 0% < 10%", "scaled 3 -> 2")
    assert [act["spec"] for act in web.acts()] == [{"replicas": 2}]


@pytest.mark.behaviour(
    case="requests missing on one container",
    sees="MetricsAvailable=False MissingRequests naming the container; metric.container chooses another",
)
def test_a_container_without_requests_is_named(scene: Scene) -> None:
    containers: list[dict[str, Any]] = [
        {"name": "web", "image": "registry.k8s.io/pause:3.10", "resources": requests()},
        {"name": "greedy", "image": "registry.k8s.io/pause:3.10"},
    ]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    scene.web(template=template)
    scene.use("93m")
    scene.task()
    scene.sees("MetricsAvailable", "False", "MissingRequests", "container greedy requests no cpu")
    scene.evaluated()
    assert scene.acts() == []
    scene.edit(metric={"container": "web"})
    scene.sees("ActionPermitted", "True", "Permitted", "cpu 93% > 80%", "scaled 3 -> 4")


@pytest.mark.behaviour(
    case="pods not ready or young",
    sees="they are left out of the value, and the message says how many pods it is of; MetricsAvailable=False "
    "NoReadyPods where none is left",
)
def test_only_ready_and_grown_pods_count(web: Scene) -> None:
    names = sorted(pod["metadata"]["name"] for pod in web.pods())
    web.metrics.by_pod = {names[0]: {"cpu": "500m", "memory": "32Mi"}}
    web.use("20m")
    set_ready(web, names[0], "False")
    web.task()
    web.sees("Ready", "True", "Evaluated", "cpu 20% <= 80% (2 pods)")
    for name in names[1:]:
        web.api.patch(POD, name, web.namespace, {"status": {"startTime": YOUNG}}, "status")
    web.sees("MetricsAvailable", "False", "NoReadyPods", "none of 3 pods is ready and 1 s old")
    web.sees("Ready", "False", "MetricsUnavailable", "none of 3 pods")
    for name in names:
        set_ready(web, name, "True")
        web.api.patch(POD, name, web.namespace, {"status": {"startTime": OLD}}, "status")
    web.sees("ActionPermitted", "True", "Permitted", "cpu 180% > 80%", "3 pods", "scaled 3 -> 4")
    assert len(web.acts()) == 1


def set_ready(scene: Scene, name: str, ready: str) -> None:
    """As a kubelet says it."""
    pod = scene.api.get(POD, name, scene.namespace)
    assert pod is not None
    conditions = [c | {"status": ready} if c["type"] == "Ready" else c for c in pod["status"]["conditions"]]
    scene.api.patch(POD, name, scene.namespace, {"status": {"conditions": conditions}}, "status")


@pytest.mark.behaviour(
    case="keda#6421: paused at creation never resumes; paused ones query",
    sees="Suspended=True, phase Suspended, no metric and no target is read; evaluated within an interval once suspend "
    "is false",
)
def test_a_task_that_was_made_suspended_reads_nothing_and_wakes(web: Scene) -> None:
    web.use("93m")
    web.task("rests", suspend=True)
    web.task("works", action="notify")
    status = web.sees("Suspended", "True", "SpecSuspend", "nothing is read and nothing is done", name="rests")
    web.sees("MetricsAvailable", "Unknown", "Suspended", name="rests")
    assert status["phase"] == "Suspended"
    web.until_passes(1, "rests")  # what is in the status may be seen before it is in the audit log
    read = len([entry for entry in web.audit.requests(web.namespace) if entry["objectRef"].get("name") == "rests"])
    web.evaluated(name="works")
    asked = [entry for entry in web.audit.requests(web.namespace) if entry["objectRef"].get("name") == "rests"]
    assert (len(asked), web.passes("rests"), web.acts()) == (read, 1, [])
    assert {entry["objectRef"]["resource"] for entry in asked} == {"aitasks"}
    web.edit("rests", suspend=False)
    web.sees("ActionPermitted", "True", "Permitted", "cpu 93% > 80%", "scaled 3 -> 4", name="rests")
