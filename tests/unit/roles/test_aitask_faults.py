"""What must hold though an answer is lost, a clock jumps, a spec is edited at a bad moment, or nonsense is written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.roles.aitask_simulation import START, World, pod, stamp, use
from tests.unit.roles.test_aitask_actions import REVISION, image, rolling, turn
from tests.unit.roles.test_aitask_approval import approve, proposal, proposing
from tests.unit.roles.test_aitask_decisions import rival


def reasons(world: World) -> list[str]:
    return [event["reason"] for event in world.events]


# --- lost answers and crashes ---


@pytest.mark.parametrize("action", ["scale-up", "restart"])
def test_an_act_whose_answer_was_lost_is_found_done(action: str) -> None:
    world = World(action=action)
    world.loses_answer = True
    world.run(cpu="95m")
    assert world.status["lastAction"]["result"] == "Failed"
    world.loses_answer = False
    world.settle().run(5).run(60)
    assert (len(world.acts), world.status["lastAction"]["result"]) == (1, "Succeeded")
    assert world.condition("ActionPermitted") == ("False", "Cooldown")
    assert len(world.status["state"]["actTimes"]) == 1


def test_a_rollback_whose_answer_was_lost_still_knows_what_it_left() -> None:
    world = rolling(3, 1, 2, 3, policy={"cooldownSeconds": 30})
    world.loses_answer = True
    world.run(cpu="95m")
    world.loses_answer = False
    turn(world, 4)
    world.run(5).run(60).run(60)
    assert image(world) == "web:1"
    assert world.status["state"]["rolledBackFrom"] == ["hash3", "hash2"]


@pytest.mark.parametrize("action", ["scale-up", "restart"])
def test_an_act_that_a_crash_put_off_counts_from_when_it_is_done(action: str) -> None:
    world = World(action=action)
    world.crash_after = "intent"
    world.run(cpu="95m")
    world.crash_after = None
    world.run(400).settle().run(60)
    assert (len(world.acts), world.condition("ActionPermitted")) == (1, ("False", "Cooldown"))
    assert "not before 10:11:40Z" in world.message("ActionPermitted")


def test_an_act_that_may_have_been_done_counts_for_the_hour() -> None:
    world = World(policy={"maxActionsPerHour": 1, "cooldownSeconds": 30})
    world.crash_after = "act"
    world.run(cpu="95m")
    world.crash_after = None
    assert world.deployment is not None
    world.deployment["metadata"]["annotations"]["aiops.example.com/last-action"] = "of another"
    world.settle().run(120)
    assert (len(world.acts), world.condition("ActionPermitted")) == (1, ("False", "HourlyLimit"))


# --- no way round the limits ---


@pytest.mark.parametrize("meanwhile", ["rollout", "zero", "hourly"])
def test_what_comes_between_does_not_forget_the_promised_time(meanwhile: str) -> None:
    world = World(policy={"cooldownSeconds": 3000, "maxActionsPerHour": 1 if meanwhile == "hourly" else 9})
    world.run(cpu="95m")
    if meanwhile == "zero":
        assert world.deployment is not None
        world.settle().deployment["spec"]["replicas"] = 0  # type: ignore[index]
    elif meanwhile == "hourly":
        world.settle()
    world.run(60)
    assert world.deployment is not None
    world.deployment["spec"]["replicas"] = 4
    world.settle()
    world.edit(policy={"cooldownSeconds": 30, "maxActionsPerHour": 9})
    world.run(60).run(60).run(600)
    assert (len(world.acts), world.condition("ActionPermitted")) == (1, ("False", "Cooldown"))


@pytest.mark.parametrize("how", ["edit", "suspend"])
def test_neither_an_edit_nor_a_pause_makes_acts_effective(how: str) -> None:
    world = World(clearThreshold=40, policy={"cooldownSeconds": 30, "maxIneffectiveActions": 1})
    world.run(cpu="95m").settle()
    if how == "edit":
        world.run(60).run(60)
        world.edit(historyLimit=9)
        world.run(60, cpu="60m").run(60, cpu="95m").run(60)
    else:
        world.edit(suspend=True)
        world.run(60)
        world.edit(suspend=False)
        world.run(60).run(60)
    assert (len(world.acts), world.condition("ActionPermitted")) == (1, ("False", "Ineffective"))
    world.run(60, cpu="20m").run(60, cpu="95m")
    assert len(world.acts) == 2, "a healthy sample forgives"


def test_an_edit_behind_a_read_that_was_refused_still_counts_as_an_edit() -> None:
    world = proposing()
    world.edit(threshold=90)
    approve(world)
    observe = world._observe
    world._observe = lambda query: {"deployment": {"msg": "Forbidden"}}  # type: ignore[method-assign]
    world.run(5)
    world._observe = observe  # type: ignore[method-assign]
    world.run(60)
    assert (world.acts, proposal(world)["state"]) == ([], "Pending")


def test_an_older_task_that_cannot_act_holds_nobody() -> None:
    stuck = rival("older", -60)
    stuck["status"]["phase"] = "Failed"
    refused = rival("refused", -60)
    refused["status"]["conditions"].append({"type": "Ready", "status": "False", "reason": "Forbidden"})
    world = World()
    world.others = [stuck, refused]
    world.run(cpu="95m")
    assert len(world.acts) == 1


# --- clocks ---


def test_a_clock_that_was_wrong_by_a_year_holds_nobody_for_a_year() -> None:
    world = World()
    assert world.deployment is not None
    year = 365 * 86400
    world.wait(year)
    notes = {"aiops.example.com/last-action": "other", "aiops.example.com/last-action-time": stamp(world.now)}
    world.deployment["metadata"]["annotations"] = notes
    world.run(cpu="95m")
    assert world.condition("ActionPermitted") == ("False", "Cooldown")
    del world.deployment["metadata"]["annotations"]
    world.wait(-year)
    world.run(60).run(60)
    assert len(world.acts) == 1


def test_acts_of_a_clock_that_was_set_back_are_still_counted() -> None:
    world = World(action="restart", policy={"cooldownSeconds": 30, "maxActionsPerHour": 3, "maxIneffectiveActions": 20})
    for _ in range(4):
        world.run(60, cpu="95m").settle()
    done = len(world.acts)
    world.wait(-1800)
    for _ in range(6):
        world.run(60).settle()
    assert (done, len(world.acts)) == (3, 3)


# --- notifications ---


def test_a_gap_in_the_data_is_neither_the_end_nor_the_beginning_of_a_breach() -> None:
    world = World(action="notify", policy={"maxActionsPerHour": 60})
    world.run(cpu="95m").run(60, cpu=None).run(60, cpu="95m").run(60, cpu=None).run(60, cpu="95m")
    assert reasons(world).count("ThresholdBreached") == 2, "one, on task and target"
    world.run(60, cpu=None).run(60, cpu="20m")
    assert reasons(world).count("ThresholdCleared") == 2


def test_a_clock_that_was_set_back_swallows_no_notification() -> None:
    world = World(action="notify", evaluation={"consecutiveBreaches": 2}, policy={"maxActionsPerHour": 60})
    world.run(cpu="95m").run(60).run(60, cpu="20m")
    world.wait(-3600)
    world.run(60).run(60, cpu="95m").run(60)
    assert reasons(world).count("ThresholdBreached") == 4


def test_a_rehearsed_notification_tells_nobody_and_spares_no_real_one() -> None:
    world = World(action="notify", dryRun=True).run(cpu="95m").run(60).run(60, cpu="20m").run(60, cpu="95m")
    assert reasons(world) == []
    world.edit(dryRun=False)
    world.run(60)
    assert set(reasons(world)) == {"ThresholdBreached"}


# --- partial and odd answers ---


@pytest.mark.parametrize(
    ("spec", "acts"),
    [
        ({"comparison": "LessThan", "threshold": 20, "action": "scale-down"}, 0),
        ({"comparison": "LessThan", "threshold": 20, "metric": {"aggregation": "Max"}, "action": "scale-down"}, 0),
        ({"metric": {"aggregation": "Max"}, "threshold": 5}, 0),
        ({"threshold": 5}, 1),
    ],
)
def test_silent_pods_may_be_the_busy_ones(spec: dict[str, Any], acts: int) -> None:
    world = World(replicas=5, **spec)
    world.pods = [pod(f"p{number}") for number in range(5)]
    world.pod_metrics = [use(f"p{number}", "10m", stamp(world.now)) for number in range(3)]
    assert len(world.run().acts) == acts


@pytest.mark.parametrize("what", ["deployment", "autoscalers"])
def test_a_cluster_that_does_not_say_what_it_serves_is_asked_again(what: str) -> None:
    world = World()
    nothing = {"resources": [], "api_found": False}
    if what == "deployment":
        world._observe = lambda query: {"deployment": nothing}  # type: ignore[method-assign]
    else:
        permit = world._permit
        world._permit = lambda wanted: {**permit(wanted), "autoscalers": nothing}  # type: ignore[method-assign]
    world.run(cpu="95m")
    assert (world.acts, world.writes, world.plan["requeue"]) == ([], 0, "5s")


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+10:00", "yesterday", "9999-12-31T23:59:59-10:00"])
def test_nonsense_on_the_target_stops_nothing(text: str) -> None:
    world = World(action="restart")
    assert world.deployment is not None
    world.deployment["metadata"]["annotations"] = {"aiops.example.com/last-action-time": text, REVISION: "1"}
    world.deployment["spec"]["template"]["metadata"]["annotations"] = {"kubectl.kubernetes.io/restartedAt": "x" * 300}
    world.run(cpu="95m")
    assert len(world.acts) == 1
    assert len(world.status["lastAction"]["from"]) <= 128


def test_a_request_of_zero_cannot_be_raised() -> None:
    growth = {"container": "c", "cpuPercent": 50, "maxCPU": "1"}
    world = World(action="patchResources", patchResources=growth, metric={"type": "UnavailableReplicas"}, threshold=0)
    assert world.deployment is not None
    world.deployment["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "0"}}
    world.deployment["status"]["availableReplicas"] = 2
    assert world.run().condition("ActionPermitted") == ("False", "MissingRequests")


def test_names_of_events_are_names() -> None:
    world = World()
    name = "a" * 199 + ".b"
    world.task["metadata"]["name"] = name
    world.run(cpu="95m")
    assert world.events
    assert all(".." not in event["metadata"]["name"] for event in world.events)


def test_words_of_the_server_are_no_template() -> None:
    world = World()
    world.refusal = {"msg": "{{ lookup('env', 'HOME') }}", "reason": "Forbidden"}
    assert "{{" not in world.run(cpu="95m").message("Ready")


def test_a_restart_that_two_crashes_put_off_asks_for_what_was_decided_first() -> None:
    world = World(action="restart")
    world.crash_after = "intent"
    world.run(cpu="95m").run(60).run(60)
    world.crash_after = None
    world.run(60)
    assert world.deployment is not None
    template = world.deployment["spec"]["template"]["metadata"]["annotations"]
    assert template == {"kubectl.kubernetes.io/restartedAt": stamp(START)}
    assert (len(world.acts), world.status["lastAction"]["to"]) == (1, stamp(START))


@pytest.mark.parametrize(("limit", "kept"), [(0, 0), (3, 3), (50, 21)])
def test_a_suspended_task_keeps_its_history_as_long_as_any_other(limit: int, kept: int) -> None:
    world = World(historyLimit=limit).run(cpu="20m")
    world.status["history"] = [{"type": "scale", "result": "Held", "message": str(n)} for n in range(21)]
    world.edit(suspend=True)
    assert len(world.run(60).status.get("history", [])) == kept
