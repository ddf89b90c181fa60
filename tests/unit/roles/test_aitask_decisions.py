"""What one AITask decides, pass by pass, against a simulated cluster."""

import json
from datetime import timedelta
from typing import Any

import pytest
from aitask_rules.changes import next_replicas
from aitask_rules.model import Hold, Scale

from tests.unit.roles.aitask_simulation import START, World, deployment, pod, stamp, use

EVERY_SAMPLE = {"evaluation": {"consecutiveBreaches": 3}}


def rival(name: str, created: int, **spec: Any) -> dict[str, Any]:
    """Another task on the same target that is breached and may act."""
    return {
        "metadata": {
            "name": name,
            "uid": f"{name}-uid",
            "creationTimestamp": stamp(START + timedelta(seconds=created)),
        },
        "spec": {"targetDeployment": "web", "threshold": 1, "action": "restart", **spec},
        "status": {
            "breached": True,
            "breaches": 1,
            "conditions": [
                {"type": "MetricsAvailable", "status": "True", "reason": "Sampled"},
                {"type": "ActionPermitted", "status": "True", "reason": "Permitted"},
            ],
        },
    }


# --- compare and count ---


@pytest.mark.parametrize(
    ("comparison", "cpu", "acts"),
    [
        ("GreaterThan", "80m", 0),
        ("GreaterThan", "80400u", 1),
        ("GreaterThanOrEqual", "80m", 1),
        ("LessThan", "80m", 0),
        ("LessThan", "79999u", 1),
        ("LessThanOrEqual", "80m", 1),
    ],
)
def test_compares_the_unrounded_value(comparison: str, cpu: str, acts: int) -> None:
    world = World(comparison=comparison, action="restart").run(cpu=cpu)
    assert len(world.acts) == acts


def test_three_fields_are_enough_to_act_on_the_first_breached_sample() -> None:
    world = World().run(cpu="93m")
    assert world.replicas == 4
    assert world.status["observedValue"] == "93"
    assert world.status["lastAction"]["result"] == "Succeeded"
    assert (world.status["lastAction"]["from"], world.status["lastAction"]["to"]) == ("3", "4")


def test_message_carries_the_numbers_and_the_next_time() -> None:
    world = World().run(cpu="93m")
    assert world.message("ActionPermitted") == (
        "cpu 93% > 80% (1/1 samples, 3 pods), scaled 3 -> 4, next action not before 10:05:00Z"
    )
    assert world.status["nextActionTime"] == "2026-01-31T10:05:00Z"


def test_acts_only_after_so_many_breached_samples_in_a_row() -> None:
    world = World(**EVERY_SAMPLE).run(cpu="90m").run(60).run(60, cpu="70m").run(60, cpu="90m").run(60)
    assert world.acts == []
    assert world.status["breaches"] == 2
    assert world.condition("ThresholdBreached") == ("True", "Breached")
    assert world.condition("ActionPermitted") == ("Unknown", "NotBreached")
    assert len(world.run(60).acts) == 1


def test_a_sample_between_clear_threshold_and_threshold_neither_counts_nor_clears() -> None:
    world = World(clearThreshold=60, **EVERY_SAMPLE).run(cpu="90m").run(60).run(60, cpu="70m").run(60)
    assert (world.status["breaches"], world.status["breached"], len(world.acts)) == (2, True, 0)
    assert world.run(60, cpu="60m").status["breached"] is False


def test_an_established_breach_goes_on_until_the_value_is_past_clear_threshold() -> None:
    world = World(clearThreshold=60, policy={"cooldownSeconds": 30}, evaluation={"consecutiveBreaches": 1})
    world.run(cpu="90m").settle().run(60, cpu="95m").settle().run(60, cpu="70m").settle()
    assert world.status["breached"] is True
    assert world.run(60, cpu="60m").status["breached"] is False


def test_an_early_pass_counts_no_sample_and_writes_nothing() -> None:
    world = World(**EVERY_SAMPLE).run(cpu="90m")
    writes = world.writes
    world.run(5).run(10)
    assert (world.status["breaches"], world.writes) == (1, writes)
    assert world.status["lastExecutionTime"] == stamp(START)


def test_early_passes_do_not_put_the_next_evaluation_off() -> None:
    world = World(**EVERY_SAMPLE).run(cpu="90m")
    first = world.plan["requeue"]
    assert int(world.run(30).plan["requeue"][:-1]) == int(first[:-1]) - 30


def test_the_same_pod_metrics_are_not_counted_twice() -> None:
    world = World(**EVERY_SAMPLE)
    world.metrics_time = START
    world.run(cpu="90m").run(60).run(60)
    assert world.status["breaches"] == 1
    assert world.status["lastExecutionTime"] == stamp(START + timedelta(seconds=120))


def test_a_second_pass_over_an_unchanged_world_changes_nothing() -> None:
    for cpu in ("93m", "20m", None):
        world = World(policy={"cooldownSeconds": 600}).run(cpu=cpu)
        status, writes, acts = json.dumps(world.status), world.writes, len(world.acts)
        world.run()
        assert (json.dumps(world.status), world.writes, len(world.acts)) == (status, writes, acts), cpu


def test_last_execution_is_written_once_per_interval() -> None:
    world = World(intervalSeconds=10)
    for _ in range(30):
        world.run(2, cpu="20m")
    assert world.writes <= 7
    times = {entry["lastTransitionTime"] for entry in world.status["conditions"]}
    assert len(times) == 1


def test_an_edit_starts_counting_anew_at_once() -> None:
    world = World(**EVERY_SAMPLE).run(cpu="90m").run(60)
    world.edit(threshold=85)
    world.run(1)
    assert (world.status["breaches"], world.status["observedGeneration"]) == (1, 2)


# --- missing data ---


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"cpu": None}, "NoData"),
        ({"cpu": "NaN"}, "NotANumber"),
        ({"cpu": "Inf"}, "NotANumber"),
        ({"metrics_time": START - timedelta(seconds=181)}, "StaleSample"),
        ({"metrics_time": START + timedelta(seconds=61)}, "StaleSample"),
        ({"pods": []}, "NoReadyPods"),
        ({"pods": [pod("p0", ready=False)]}, "NoReadyPods"),
        ({"pods": [pod("p0", started="2026-01-31T09:59:01Z")]}, "NoReadyPods"),
        ({"pods": [pod("p0", spec={"containers": [{"name": "c"}]})]}, "MissingRequests"),
        ({"pod_metrics": [{"metadata": {"name": "p0"}, "containers": []}]}, "NoData"),
    ],
)
@pytest.mark.parametrize("comparison", ["GreaterThan", "LessThan"])
def test_missing_data_holds(broken: dict[str, Any], reason: str, comparison: str) -> None:
    world = World(comparison=comparison)
    world.cpu = "500m" if comparison == "GreaterThan" else "1m"
    for name, value in broken.items():
        setattr(world, name, value)
    world.run(cpu=world.cpu)
    assert world.condition("MetricsAvailable") == ("False", reason)
    assert world.condition("ThresholdBreached") == ("Unknown", "NoData")
    assert world.acts == []
    assert "lastAction" not in world.status


def test_zero_is_a_value() -> None:
    world = World(comparison="LessThan", threshold=10, action="scale-down").run(cpu="0")
    assert (world.status["observedValue"], world.replicas) == ("0", 2)


def test_missing_data_keeps_the_count() -> None:
    world = World(**EVERY_SAMPLE).run(cpu="90m").run(60).run(60, cpu=None)
    assert (world.status["breaches"], len(world.acts)) == (2, 0)
    assert "observedValue" not in world.status
    assert len(world.run(60, cpu="90m").acts) == 1


def test_three_missing_samples_in_a_row_make_the_task_not_ready_and_data_heals_it() -> None:
    world = World().run(cpu="20m").run(60, cpu=None).run(60)
    assert world.condition("Ready") == ("True", "Evaluated")
    assert world.run(60).condition("Ready") == ("False", "MetricsUnavailable")
    assert [event["reason"] for event in world.events] == ["MetricsUnavailable"]
    world.run(5, cpu="30m")
    assert world.condition("Ready") == ("True", "Evaluated")
    assert world.events[-1]["reason"] == "Recovered"


def test_without_data_it_looks_again_with_growing_gaps_up_to_the_interval() -> None:
    world, gaps = World().run(cpu=None), []
    for _ in range(6):
        gaps.append(int(world.plan["requeue"].rstrip("s")))
        world.run(gaps[-1])
    assert gaps == [5, 5, 10, 20, 40, 60]


def test_on_missing_data_healthy_counts_as_healthy() -> None:
    world = World(evaluation={"consecutiveBreaches": 2, "onMissingData": "Healthy"}).run(cpu="90m").run(60, cpu=None)
    assert world.status["breaches"] == 0
    assert world.condition("ThresholdBreached") == ("False", "WithinThreshold")


def test_on_missing_data_breach_may_notify() -> None:
    world = World(action="notify", evaluation={"onMissingData": "Breach"}).run(cpu=None)
    assert [event["reason"] for event in world.events] == ["ThresholdBreached"] * 2


def test_a_number_that_most_pods_have_no_part_in_is_no_data() -> None:
    world = World(replicas=4)
    world.pod_metrics = [use("p0", "95m", stamp(START))]
    assert world.run().condition("MetricsAvailable") == ("False", "NoData")


def test_a_few_pods_without_a_sample_are_left_out() -> None:
    world = World(replicas=3)
    world.pod_metrics = [use(f"p{i}", "95m", stamp(START)) for i in range(2)]
    assert "2 of 3 pods" in world.run().message("ThresholdBreached")


# --- metrics ---


def test_utilisation_is_the_sum_of_use_over_the_sum_of_requests() -> None:
    world = World(replicas=2)
    world.pods = [
        pod("p0"),
        pod("p1", spec={"containers": [{"name": "c", "resources": {"requests": {"cpu": "300m"}}}]}),
    ]
    world.pod_metrics = [use("p0", "100m", stamp(START)), use("p1", "60m", stamp(START))]
    assert world.run().status["observedValue"] == "40"


def test_max_takes_the_worst_pod() -> None:
    world = World(replicas=2, metric={"aggregation": "Max"})
    world.pod_metrics = [use("p0", "100m", stamp(START)), use("p1", "20m", stamp(START))]
    assert world.run().status["observedValue"] == "100"


def test_memory_is_measured_in_percent_of_its_requests() -> None:
    world = World(metric={"type": "MemoryUtilization"})
    world.pod_metrics = [use(f"p{i}", "1m", stamp(START), memory="80Mi") for i in range(3)]
    assert world.run().status["observedValue"] == "125"


def test_a_container_narrows_the_measurement() -> None:
    two = [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}, {"name": "no-requests"}]
    world = World(replicas=1, metric={"container": "c"})
    world.pods = [pod("p0", spec={"containers": two})]
    world.pod_metrics = [use("p0", "90m", stamp(START))]
    assert world.run().status["observedValue"] == "90"
    world.edit(metric={"container": "other"})
    assert world.run(1).condition("MetricsAvailable") == ("False", "NoData")


def test_pods_of_another_deployment_with_the_same_labels_are_left_out() -> None:
    world = World(replicas=1)
    foreign = pod("other", metadata={"ownerReferences": [{"kind": "ReplicaSet", "name": "x-abc", "controller": True}]})
    world.pods = [pod("p0"), foreign]
    world.pod_metrics = [use("p0", "10m", stamp(START)), use("other", "900m", stamp(START))]
    assert world.run().status["observedValue"] == "10"


def test_unavailable_replicas_are_wanted_minus_available() -> None:
    world = World(metric={"type": "UnavailableReplicas"}, threshold=0, action="restart")
    assert world.deployment is not None
    world.deployment["status"]["availableReplicas"] = 1
    world.run()
    assert (world.status["observedValue"], len(world.acts)) == ("2", 1)


@pytest.mark.parametrize(("ago", "value"), [(299, "1"), (301, "0")])
def test_container_restarts_are_counted_within_the_window(ago: int, value: str) -> None:
    ended = {"lastState": {"terminated": {"finishedAt": stamp(START - timedelta(seconds=ago))}}, "name": "c"}
    world = World(replicas=1, metric={"type": "ContainerRestarts"}, threshold=5)
    world.pods = [pod("p0", ready=False, status={"containerStatuses": [ended]})]
    assert world.run().status["observedValue"] == value


# --- acts ---


@pytest.mark.parametrize(
    ("replicas", "scale", "cpu", "expected"),
    [
        (3, {"step": 4, "maxReplicas": 5}, "90m", 5),
        (1, {"minReplicas": 3}, "90m", 3),
        (5, {"maxReplicas": 5}, "90m", "AtMaximum"),
        (9, {"maxReplicas": 5}, "90m", "AtMaximum"),
        (0, {}, "90m", "ScaledToZero"),
        (3, {"direction": "Down", "step": 5}, "90m", 1),
        (1, {"direction": "Down"}, "90m", "AtMinimum"),
        (1, {"direction": "Down", "minReplicas": 0}, "90m", 0),
        (50, {"direction": "Down", "maxReplicas": 10}, "90m", "AtMaximum"),
        (12, {"direction": "Down", "maxReplicas": 10, "step": 4}, "90m", 8),
    ],
)
def test_scales_one_step_within_the_limits(replicas: int, scale: dict[str, Any], cpu: str, expected: Any) -> None:
    world = World(replicas=replicas, action="scale", scale=scale).run(cpu=cpu)
    if isinstance(expected, int):
        assert world.replicas == expected
    else:
        assert world.condition("ActionPermitted") == ("False", expected)
        assert world.replicas == replicas


@pytest.mark.parametrize("direction", ["Up", "Down"])
def test_nothing_is_ever_scaled_from_zero(direction: str) -> None:
    hold = next_replicas(0, Scale(direction, 0, 10, 1, None), direction)
    assert isinstance(hold, Hold)
    assert hold.reason == "ScaledToZero"


def test_direction_follows_the_comparison() -> None:
    assert World(action="scale", comparison="LessThan", threshold=10).run(cpu="5m").replicas == 2


def test_restart_stamps_the_template_with_the_decision_time() -> None:
    world = World(action="restart").run(cpu="90m")
    assert world.deployment is not None
    template = world.deployment["spec"]["template"]["metadata"]
    assert template["annotations"] == {"kubectl.kubernetes.io/restartedAt": stamp(START)}
    assert template["labels"] == {"app": "web"}


def test_the_act_stamps_its_id_on_the_target_in_the_same_patch() -> None:
    world = World().run(cpu="90m")
    assert world.deployment is not None
    notes = world.deployment["metadata"]["annotations"]
    assert notes["aiops.example.com/last-action"] == world.status["lastAction"]["id"]
    assert notes["aiops.example.com/last-action-time"] == stamp(START)


def test_an_act_is_told_on_task_and_target() -> None:
    world = World().run(cpu="90m")
    told = [(event["involvedObject"]["kind"], event["reason"]) for event in world.events]
    assert told == [("AITask", "Scaled"), ("Deployment", "Scaled")]
    assert len({event["metadata"]["name"] for event in world.events}) == 2


def test_notify_tells_the_beginning_and_the_end_of_a_breach_once() -> None:
    world = World(action="notify").run(cpu="90m").run(60).run(60).run(60, cpu="20m").run(60)
    assert [event["reason"] for event in world.events] == ["ThresholdBreached"] * 2 + ["ThresholdCleared"] * 2
    assert world.acts == []
    world.run(60, cpu="90m")
    assert len(world.events) == 6


def test_notify_on_every_sample_keeps_to_the_hourly_limit() -> None:
    world = World(action="notify", notify={"onChangeOnly": False}, policy={"maxActionsPerHour": 3}).run(cpu="90m")
    for _ in range(5):
        world.run(60)
    assert len(world.events) == 6
    assert world.condition("ActionPermitted") == ("False", "HourlyLimit")


def test_dry_run_asks_the_server_and_changes_nothing() -> None:
    world = World(dryRun=True).run(cpu="90m")
    assert world.acts == []
    assert world.status["lastAction"]["result"] == "DryRun"
    assert world.condition("ActionPermitted") == ("False", "DryRun")
    assert "would have scaled 3 -> 4" in world.message("ActionPermitted")


def test_a_dry_run_does_not_delay_the_first_real_act() -> None:
    world = World(dryRun=True).run(cpu="90m")
    world.edit(dryRun=False)
    assert len(world.run(60).acts) == 1


def test_the_way_back_removes_a_step_after_each_healthy_period() -> None:
    world = World(replicas=4, scale={"returnAfterSeconds": 120, "minReplicas": 2}, policy={"cooldownSeconds": 30})
    for _ in range(12):
        world.run(60, cpu="20m").settle()
    assert world.replicas == 2
    assert [act["replicas"] for act in world.acts] == [3, 2]
    assert world.status["lastAction"]["reason"] == "Return"


# --- gates ---


def test_cooldown_holds_and_says_until_when() -> None:
    world = World().run(cpu="90m").settle().run(60).run(60)
    assert len(world.acts) == 1
    assert world.condition("ActionPermitted") == ("False", "Cooldown")
    assert "next action not before 10:05:00Z" in world.message("ActionPermitted")


def test_the_clock_set_back_makes_no_wait_longer_than_the_cooldown() -> None:
    world = World().run(cpu="90m").settle()
    world.now = START - timedelta(minutes=30)
    world.run(60).run(60)
    assert world.status["nextActionTime"] <= stamp(world.now + timedelta(seconds=300))
    assert len(world.run(300).acts) == 2


def test_an_act_of_another_task_counts_for_the_cooldown() -> None:
    world = World()
    assert world.deployment is not None
    world.deployment["metadata"]["annotations"] = {
        "aiops.example.com/last-action": "other",
        "aiops.example.com/last-action-time": stamp(START - timedelta(seconds=200)),
    }
    assert world.run(cpu="90m").condition("ActionPermitted") == ("False", "Cooldown")


def test_the_longest_cooldown_of_all_tasks_on_the_target_counts() -> None:
    world = World(policy={"cooldownSeconds": 60})
    assert world.deployment is not None
    world.deployment["metadata"]["annotations"] = {
        "aiops.example.com/last-action-time": stamp(START - timedelta(seconds=200)),
    }
    world.others = [rival("b", 60, policy={"cooldownSeconds": 900})]
    world.others[0]["status"]["breached"] = False
    assert world.run(cpu="90m").condition("ActionPermitted") == ("False", "Cooldown")


def test_editing_is_no_way_round_the_cooldown() -> None:
    world = World().run(cpu="90m").settle()
    world.edit(policy={"cooldownSeconds": 300, "maxActionsPerHour": 9})
    assert world.run(10).condition("ActionPermitted") == ("False", "Cooldown")


@pytest.mark.parametrize("rest", ["", "suspend", "healthy"])
def test_a_shorter_cooldown_is_for_the_next_act(rest: str) -> None:
    world = World(policy={"cooldownSeconds": 600}).run(cpu="95m").settle()
    promised = world.status["nextActionTime"]
    world.edit(policy={"cooldownSeconds": 30}, suspend=rest == "suspend")
    world.run(60, cpu="20m" if rest == "healthy" else "95m")
    assert world.status["nextActionTime"] == promised
    world.edit(suspend=False)
    world.run(60, cpu="95m").run(60)
    assert (len(world.acts), world.condition("ActionPermitted")) == (1, ("False", "Cooldown"))
    assert world.status["nextActionTime"] == promised
    world.run(480).settle().run(60)
    assert len(world.acts) == 3, "from here on the shorter one holds"


def test_an_act_of_another_that_lies_ahead_is_waited_for_once() -> None:
    """The clock was set back by a day since."""
    world = World()
    assert world.deployment is not None
    notes = {"aiops.example.com/last-action": "other", "aiops.example.com/last-action-time": "2026-02-01T10:00:00Z"}
    world.deployment["metadata"]["annotations"] = notes
    world.run(cpu="95m")
    assert "next action not before 10:05:00Z" in world.message("ActionPermitted")
    for _ in range(4):
        world.run(60)
        assert "next action not before 10:05:00Z" in world.message("ActionPermitted")
    world.run(60)
    assert len(world.acts) == 1


def test_no_more_acts_an_hour_than_allowed() -> None:
    world = World(action="restart", policy={"cooldownSeconds": 30, "maxActionsPerHour": 2, "maxIneffectiveActions": 20})
    for _ in range(8):
        world.run(60, cpu="90m").settle()
    assert len(world.acts) == 2
    assert world.condition("ActionPermitted") == ("False", "HourlyLimit")
    assert world.status["nextActionTime"] == stamp(world.acts[0]["time"] + timedelta(hours=1))
    world.run(3600, cpu="90m")
    assert len(world.acts) == 3


def test_stops_when_acts_do_not_help_and_starts_again_after_a_healthy_sample() -> None:
    policy = {"cooldownSeconds": 30, "maxActionsPerHour": 60, "maxIneffectiveActions": 2}
    world = World(action="restart", policy=policy)
    for _ in range(8):
        world.run(60, cpu="90m").settle()
    assert len(world.acts) == 2
    assert world.condition("ActionPermitted") == ("False", "Ineffective")
    assert world.status["ineffectiveActions"] == 2
    world.run(60, cpu="20m").run(60, cpu="90m")
    assert len(world.acts) == 3


def test_the_next_act_waits_until_the_last_one_is_judged() -> None:
    world = World(action="restart", policy={"cooldownSeconds": 30}, **EVERY_SAMPLE)
    for _ in range(4):
        world.run(60, cpu="90m").settle()
    assert len(world.acts) == 1
    assert "last act helps (1/3 samples)" in world.message("ActionPermitted")


@pytest.mark.parametrize(
    "status",
    [
        {"observedGeneration": 0},
        {"updatedReplicas": 2},
        {"replicas": 4},
        {"conditions": [{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}]},
        {"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]},
    ],
)
def test_a_rollout_shows_samples_and_counts_none(status: dict[str, Any]) -> None:
    world = World()
    assert world.deployment is not None
    world.deployment["status"].update(status)
    world.run(cpu="95m")
    assert (world.replicas, world.status["breaches"], world.status["observedValue"]) == (3, 0, "95")
    assert world.condition("ActionPermitted") == ("False", "RolloutInProgress")
    world.settle().run(60)
    assert world.replicas == 4


def test_fewer_available_than_wanted_is_no_rollout() -> None:
    world = World()
    assert world.deployment is not None
    world.deployment["status"]["availableReplicas"] = 1
    assert world.run(cpu="95m").replicas == 4


@pytest.mark.parametrize(("action", "acts"), [("restart", 0), ("scale-up", 1)])
def test_a_paused_rollout_holds_restarts_and_lets_scale(action: str, acts: int) -> None:
    world = World(action=action)
    assert world.deployment is not None
    world.deployment["spec"]["paused"] = True
    assert len(world.run(cpu="95m").acts) == acts
    if not acts:
        assert world.condition("ActionPermitted") == ("False", "TargetPaused")


def test_an_autoscaler_holds_scaling_and_nothing_else() -> None:
    scaler = {"metadata": {"name": "hpa"}, "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}}
    world, other = World(), World(action="restart")
    world.autoscalers = other.autoscalers = [scaler]
    assert world.run(cpu="95m").condition("ActionPermitted") == ("False", "AutoscalerPresent")
    assert len(other.run(cpu="95m").acts) == 1


def test_of_two_tasks_that_want_to_act_the_older_one_does() -> None:
    younger, older = World(), World()
    younger.others = [rival("a", -60)]
    older.others = [rival("z", +60)]
    assert younger.run(cpu="95m").condition("ActionPermitted") == ("False", "TargetConflict")
    assert "task a " in younger.message("ActionPermitted")
    assert len(older.run(cpu="95m").acts) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"suspend": True}},
        {"spec": {"dryRun": True}},
        {"spec": {"action": "notify"}},
        {"spec": {"action": "wiggle"}},
        {"spec": {"targetDeployment": "other"}},
        {"status": {"breached": False}},
        {"metadata": {"annotations": {"aiops.example.com/paused": "true"}}},
        {"status": {"conditions": [{"type": "ActionPermitted", "status": "False", "reason": "AtMaximum"}]}},
    ],
)
def test_a_rival_that_will_not_act_holds_nobody(change: dict[str, Any]) -> None:
    world = World()
    other = rival("a", -60)
    for key, value in change.items():
        other[key].update(value)
    world.others = [other]
    assert len(world.run(cpu="95m").acts) == 1


def test_a_pass_that_began_with_an_old_status_does_not_act() -> None:
    world = World()
    original = world._task
    calls: list[int] = []

    def newer_after_the_first() -> dict[str, Any]:
        calls.append(1)
        task = original()
        if len(calls) > 1:
            task["metadata"]["resourceVersion"] = "999"
        return task

    world._task = newer_after_the_first  # type: ignore[method-assign]
    world.run(cpu="95m")
    assert (world.acts, world.writes, world.plan["requeue"]) == ([], 0, "2s")


def test_prometheus_is_said_to_be_missing() -> None:
    world = World(metric={"type": "Prometheus", "prometheus": {"query": "up"}}).run()
    assert world.condition("MetricsAvailable") == ("False", "ProviderNotFound")


# --- the life of task and target ---


def test_suspend_stops_everything_and_resuming_evaluates_at_once() -> None:
    world = World(suspend=True).run(cpu="95m")
    assert (world.status["phase"], world.acts) == ("Suspended", [])
    assert world.condition("Suspended") == ("True", "SpecSuspend")
    assert world.plan["requeue"] == ""
    writes = world.writes
    world.run(3600)
    assert world.writes == writes
    world.edit(suspend=False)
    world.run(1)
    assert (world.status["phase"], len(world.acts)) == ("Running", 1)
    assert world.condition("Suspended") == ("False", "Active")


@pytest.mark.parametrize(("value", "paused"), [("true", True), ("false", False), ("yes", True), ("", True)])
def test_the_paused_annotation(value: str, paused: bool) -> None:
    world = World()
    world.annotate(paused=value)
    world.run(cpu="20m")
    assert world.condition("Suspended")[0] == str(paused)
    assert ("neither true nor false" in world.message("Suspended")) == (value in ("yes", ""))


def test_a_missing_target_waits_and_heals() -> None:
    world = World(**EVERY_SAMPLE).run(cpu="90m")
    found, world.deployment = world.deployment, None
    world.run(60)
    assert (world.status["phase"], world.status["breaches"]) == ("Pending", 0)
    assert world.condition("TargetFound") == ("False", "TargetNotFound")
    assert world.condition("Ready") == ("False", "TargetNotFound")
    writes = world.writes
    world.run(5).run(10).run(60)
    assert (world.writes, [event["reason"] for event in world.events]) == (writes, ["TargetNotFound"])
    world.deployment = found
    world.run(5)
    assert world.condition("Ready") == ("True", "Evaluated")
    assert world.status["breaches"] == 1


@pytest.mark.parametrize("sampled_before", [False, True])
def test_the_end_of_a_fault_is_told_even_where_the_first_value_comes_later(sampled_before: bool) -> None:
    world = World()
    found = world.deployment
    if sampled_before:
        world.run(cpu="20m")
    world.deployment = None
    world.run(60)
    world.deployment = found
    world.run(5, cpu=None)
    assert world.condition("Ready") == ("False", "Initializing")
    world.run(5, cpu=None).run(5, cpu="20m").run(60)
    assert world.condition("Ready") == ("True", "Evaluated")
    assert [event["reason"] for event in world.events] == ["TargetNotFound", "Recovered"]


def test_a_first_value_that_comes_late_is_no_recovery() -> None:
    world = World().run(cpu=None)
    assert world.condition("Ready") == ("Unknown", "Initializing")
    assert world.run(5, cpu="20m").condition("Ready") == ("True", "Evaluated")
    assert world.events == []


def test_a_target_made_anew_starts_the_counters_again_but_keeps_the_cooldown() -> None:
    world = World().run(cpu="90m")
    world.deployment = deployment(3)
    world.deployment["metadata"]["uid"] = "another"
    world.run(60)
    assert world.condition("ActionPermitted") == ("False", "Cooldown")
    assert (world.status["breaches"], world.status["target"]["uid"]) == (1, "another")


def test_a_target_that_is_being_deleted_is_left_alone() -> None:
    world = World()
    assert world.deployment is not None
    world.deployment["metadata"]["deletionTimestamp"] = stamp(START)
    assert world.run(cpu="95m").condition("TargetFound") == ("False", "TargetTerminating")


def test_a_deployment_that_a_template_would_make_is_never_taken_over() -> None:
    world = World(template={"spec": {"containers": [{"name": "c"}]}}).run(cpu="95m")
    assert world.condition("Ready") == ("False", "TargetExists")
    assert (world.status["phase"], world.acts) == ("Failed", [])


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        ({"action": "wiggle"}, "UnknownAction", "scale-up"),
        ({"threshold": 0}, "InvalidSpec", "use suspend to switch off"),
        (
            {"threshold": 0, "comparison": "GreaterThanOrEqual", "metric": {"type": "ContainerRestarts"}},
            "InvalidSpec",
            "",
        ),
        ({"clearThreshold": 90}, "InvalidSpec", "healthy side"),
        ({"scale": {"minReplicas": 5, "maxReplicas": 2}}, "InvalidSpec", "minReplicas"),
        ({"scale": {"direction": "Down"}}, "InvalidSpec", "contradicts"),
        ({"evaluation": {"onMissingData": "Breach"}}, "InvalidSpec", "notify"),
        ({"threshold": "many"}, "InvalidSpec", "whole number"),
    ],
)
def test_a_bad_spec_is_terminal_and_says_the_cure(spec: dict[str, Any], reason: str, words: str) -> None:
    world = World(**spec).run(cpu="95m")
    assert world.condition("Ready") == ("False", reason)
    assert words in world.message("Ready")
    assert (world.status["phase"], world.plan["requeue"], world.acts) == ("Failed", "", [])
    assert [event["reason"] for event in world.events] == [reason]
    writes = world.writes
    world.run(3600)
    assert world.writes == writes
    world.task["spec"] = {"targetDeployment": "web", "threshold": 80, "action": "scale-up"}
    world.edit()
    assert world.run(1, cpu="20m").condition("Ready") == ("True", "Evaluated")


@pytest.mark.parametrize("name", ["scale-up", "scaleUp", "SCALE_UP", "Scale-Up"])
def test_case_and_dashes_of_an_action_do_not_matter(name: str) -> None:
    assert World(action=name).run(cpu="95m").replicas == 4


def test_a_deleted_task_writes_nothing() -> None:
    world = World()
    world.task["metadata"]["deletionTimestamp"] = stamp(START)
    assert (world.run(cpu="95m").writes, world.acts) == (0, [])


# --- failing and crashing ---


def test_a_conflict_is_looked_at_again_soon_and_told_nobody() -> None:
    world = World()

    def touch() -> None:
        assert world.deployment is not None
        world.deployment["metadata"]["resourceVersion"] = "8"
        world.before_act = None

    world.before_act = touch
    world.run(cpu="95m")
    assert (world.acts, world.events, world.plan["requeue"]) == ([], [], "5s")
    assert world.status["lastAction"]["reason"] == "Conflict"
    assert world.condition("Ready") == ("True", "Evaluated")
    world.run(5)
    assert (len(world.acts), world.status["state"]["retries"]) == (1, 0)


def test_a_target_that_vanishes_under_the_act_is_no_success() -> None:
    world = World()
    world.before_act = lambda: setattr(world, "deployment", None)
    world.run(cpu="95m")
    assert world.status["lastAction"]["reason"] == "TargetNotFound"
    assert world.status["state"]["actTimes"] == []


@pytest.mark.parametrize(
    ("answer", "reason"), [("Forbidden", "Forbidden"), ("Unprocessable Entity", "ActionFailed"), (None, "ActionFailed")]
)
def test_a_refused_act_is_shown_and_tried_again_with_growing_gaps(answer: str | None, reason: str) -> None:
    world = World()
    world.refusal, world.refuses = {"msg": "no\n  such luck", "reason": answer}, (False,)
    world.run(cpu="95m")
    assert world.condition("Ready") == ("False", reason)
    assert "no such luck" in world.message("Ready")
    gaps = []
    for _ in range(5):
        gaps.append(int(world.plan["requeue"].rstrip("s")))
        world.run(gaps[-1])
    assert gaps == [5, 10, 20, 40, 60]
    assert [event["reason"] for event in world.events] == [reason]
    world.refusal = None
    world.run(60)
    assert (world.condition("Ready"), len(world.acts)) == (("True", "Evaluated"), 1)


def test_a_sample_that_is_missing_does_not_end_what_is_refused() -> None:
    world = World()
    world.refusal, world.refuses = {"msg": "no", "reason": "Forbidden"}, (False,)
    world.run(cpu="95m")
    for _ in range(2):
        for _ in range(2):
            world.run(60, cpu=None)
            assert world.condition("Ready") == ("False", "Forbidden")
        world.run(60, cpu="95m")
    assert [event["reason"] for event in world.events] == ["Forbidden"]


@pytest.mark.parametrize("action", ["scale-up", "restart"])
@pytest.mark.parametrize("point", ["intent", "act"])
def test_a_crash_around_the_act_leaves_exactly_one(action: str, point: str) -> None:
    world = World(action=action)
    world.crash_after = point
    world.run(cpu="95m")
    assert world.status["lastAction"]["result"] == "Started"
    identity = world.status["lastAction"]["id"]
    world.crash_after = None
    if point == "act":
        world.settle()
    world.run(7).run(7).run(46)
    assert len(world.acts) == 1
    assert (world.status["lastAction"]["result"], world.status["lastAction"]["id"]) == ("Succeeded", identity)
    assert len(world.status["state"]["actTimes"]) == 1


def test_an_interrupted_act_is_not_made_up_for_once_the_breach_is_over() -> None:
    world = World()
    world.crash_after = "intent"
    world.run(cpu="95m")
    world.crash_after = None
    world.run(3600, cpu="20m")
    assert world.acts == []
    assert world.status["lastAction"]["reason"] == "Interrupted"


# --- what is kept ---


def test_history_stays_bounded_and_equal_neighbours_are_one_entry() -> None:
    world = World(historyLimit=10)
    for _ in range(500):
        world.run(60, cpu=None)
    assert len(world.status["history"]) <= 10
    assert len(json.dumps(world.task)) < 64 * 1024
    assert sum(entry["reason"] == "NoData" for entry in world.status["history"]) == 1


def test_history_limit_zero_keeps_none_and_changes_no_decision() -> None:
    world = World(historyLimit=0).run(cpu="95m")
    assert (world.status["history"], len(world.acts)) == ([], 1)


def test_fields_of_others_in_the_status_stay() -> None:
    world = World()
    foreign = {"type": "Failure", "status": "False", "message": "x"}
    world.task["status"] = {"conditions": [foreign], "usage": {"day": "2026-01-31"}, "state": {"gitopsWarned": True}}
    world.run(cpu="95m")
    assert foreign in world.status["conditions"]
    assert world.status["usage"] == {"day": "2026-01-31"}
    assert world.status["state"]["gitopsWarned"] is True


def test_tasks_made_together_do_not_come_back_together() -> None:
    waits = []
    for number in range(20):
        world = World()
        world.task["metadata"]["uid"] = f"uid-{number}"
        waits.append(int(world.run(cpu="20m").plan["requeue"][:-1]))
    assert len(set(waits)) > 7
    assert min(waits) >= 54
    assert max(waits) <= 66
