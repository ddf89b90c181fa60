"""What holds a wanted act back, and what does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.behaviour.scene import AITASK, SCALE, Scene, moment, time_of_day
from tests.roles.aitask_lab import stamp
from tests.support.api import Object
from tests.support.kinds import Kind

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

AUTOSCALER = Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")


@pytest.mark.behaviour(
    case="HPA on target",
    sees="scale: ActionPermitted=False AutoscalerPresent naming it; restart goes on",
)
def test_what_an_autoscaler_scales_is_only_restarted(web: Scene) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 3}
    web.api.create(AUTOSCALER, AUTOSCALER.object("auto", web.namespace, spec=spec))
    web.use("93m")
    web.task("scales")
    words = ("cpu 93% > 80%", "HorizontalPodAutoscaler auto scales web")
    web.sees("ActionPermitted", "False", "AutoscalerPresent", *words, name="scales")
    web.task("restarts", action="restart")
    web.sees("ActionPermitted", "True", "Permitted", "restarted web", name="restarts")
    assert (len(web.acts()), web.replicas()) == (1, 3)


@pytest.mark.behaviour(
    case="two tasks, same target",
    sees="a pair (> 80 up, < 20 down) works side by side; every task waits for the longest cooldown of all of them "
    "since the last act on the target (Cooldown, with the time), but a notification waits for no cooldown",
)
def test_tasks_on_one_target_honour_the_longest_cooldown(web: Scene) -> None:
    web.use("93m", "60Mi")
    web.task("up")
    web.task("down", threshold=20, comparison="LessThan", action="scale-down", policy={"cooldownSeconds": 30})
    up = web.sees("ActionPermitted", "True", "Permitted", "scaled 3 -> 4", name="up")
    web.sees("ThresholdBreached", "False", "WithinThreshold", "cpu 93% >= 20%", name="down")
    web.use("10m", "60Mi")
    web.task("tells", threshold=20, comparison="LessThan", action="notify")
    web.sees("ThresholdBreached", "False", "WithinThreshold", name="up")
    web.sees("ActionPermitted", "False", "Cooldown", "cpu 10% < 20%", "next action not before", name="down")
    longest = moment(up["lastAction"]["time"]) + timedelta(seconds=3600 * SCALE)

    def honours(found: dict[str, Any]) -> bool:  # its own cooldown is looked at first, that of others once it is over
        return moment(found["status"]["nextActionTime"]) == longest

    web.wait(honours, "the next act is not before the longest cooldown is over", "down")
    web.sees("ActionPermitted", "True", "Permitted", "notified", name="tells")
    assert len(web.acts()) == 1


@pytest.mark.behaviour(
    case="keda#3083: two scalers on one target flap",
    sees="only the older task acts; the younger shows ActionPermitted=False TargetConflict naming it, and acts within "
    "an interval after the older is gone",
)
def test_of_two_tasks_that_want_to_act_the_older_does(web: Scene) -> None:
    web.use("93m")
    brakes: dict[str, Any] = {"cooldownSeconds": 30, "maxActionsPerHour": 1}
    web.task("a", policy=brakes)
    web.until_acts(1)
    web.task("b", threshold=10, action="scale-down", policy=brakes)
    web.sees("ActionPermitted", "False", "HourlyLimit", "1 acts in the last hour", "not before", name="a")
    web.sees("ActionPermitted", "False", "TargetConflict", "the older task a wants to act on web", name="b")
    web.evaluated(name="b")
    assert [act["spec"] for act in web.acts()] == [{"replicas": 4}]
    web.api.delete(AITASK, "a", web.namespace)
    web.sees("ActionPermitted", "True", "Permitted", "scaled 4 -> 3", name="b")


@pytest.mark.behaviour(
    case="threshold 0",
    sees="utilisation > 0 is always true: Ready=False InvalidSpec naming suspend, phase Failed; legal where it says "
    "something, as for unavailable replicas",
)
def test_a_threshold_of_zero_is_legal_where_it_says_something(web: Scene) -> None:
    web.use("0")
    web.task("off", threshold=0)
    web.task("legal", threshold=0, metric={"type": "UnavailableReplicas"}, action="restart")
    status = web.sees("Ready", "False", "InvalidSpec", "CPUUtilization > 0 is always true; use suspend", name="off")
    assert status["phase"] == "Failed"
    web.sees("Ready", "True", "Evaluated", "unavailable replicas 0 <= 0 (3 of 3 available)", name="legal")
    assert web.acts() == []


@pytest.mark.behaviour(
    case="unknown action",
    sees="Ready=False UnknownAction with the known ones, phase Failed, one Event; not looked at again before an edit",
)
def test_an_unknown_action_is_said_once(web: Scene) -> None:
    web.use("93m")
    web.task("odd", action="wiggle")
    web.task("works", action="notify")
    status = web.sees("Ready", "False", "UnknownAction", "'wiggle'", "scale-up", "restart", "diagnose", name="odd")
    assert (status["phase"], "lastAction" in status) == ("Failed", False)
    web.evaluated(3, "works")
    assert (web.passes("odd"), web.acts()) == (1, [])
    assert web.events().count(("AITask", "UnknownAction")) == 1
    web.edit("odd", action="scale-up")
    web.sees("Ready", "True", "Evaluated", name="odd")
    web.until_acts(1)


@pytest.mark.behaviour(
    case="spec edited in cooldown",
    sees="ActionPermitted=False Cooldown with the same time as before the edit",
)
def test_an_edit_does_not_end_a_cooldown(web: Scene) -> None:
    web.use("93m")
    web.task()
    done = web.sees("ActionPermitted", "True", "Permitted", "scaled 3 -> 4", "next action not before")
    web.edit(threshold=70)
    status = web.sees("ActionPermitted", "False", "Cooldown", "cpu 93% > 70%", time_of_day(done["nextActionTime"]))
    assert status["nextActionTime"] == done["nextActionTime"]
    web.evaluated()
    assert len(web.acts()) == 1


@pytest.mark.behaviour(
    case="clock jumps",
    sees="after the clock was set back: the next action is no later than a cooldown from now, evaluations go on; after "
    "it was set forward: what was missed is one evaluation",
)
def test_a_clock_that_jumps_stops_nothing_and_repeats_nothing(web: Scene) -> None:
    web.use("93m")
    web.task(policy={"cooldownSeconds": 6000})
    web.sees("ActionPermitted", "False", "Cooldown", "next action not before")
    day = timedelta(days=1)
    shift_times(web, day)
    status = web.wait(lambda task: is_near(task["status"].get("nextActionTime"), day), "no day off")
    longest = datetime.now(UTC) + timedelta(seconds=6000 * SCALE)
    assert moment(status["status"]["nextActionTime"]) <= longest
    assert moment(web.evaluated(1)["lastExecutionTime"]) <= datetime.now(UTC)
    assert len(web.acts()) == 1
    before = web.wait(lambda task: True, "there")
    web.api.patch(
        AITASK, "t", web.namespace, {"status": {"lastExecutionTime": stamp(datetime.now(UTC) - day)}}, "status"
    )
    web.evaluated(3)
    counts = [state["status"]["breaches"] for state in web.api.history(AITASK, "t", web.namespace, before)]
    assert all(now - then <= 1 for then, now in pairwise(counts)), counts


def is_near(text: str | None, day: timedelta) -> bool:
    """Whether a time of a status is there, and is one of today."""
    return text is not None and moment(text) < datetime.now(UTC) + day / 2


def shift_times(scene: Scene, by: timedelta) -> None:
    """The stored times as they are after the clock was set back by so much: the act and the evaluation lie ahead."""
    task: Object = scene.wait(lambda task: True, "there")
    status = task["status"]

    def ahead(text: str) -> str:
        return stamp(moment(text) + by)

    change = {
        "lastExecutionTime": ahead(status["lastExecutionTime"]),
        "nextActionTime": ahead(status["nextActionTime"]),
        "lastAction": {"time": ahead(status["lastAction"]["time"])},
        "state": {"actTimes": [ahead(time) for time in status["state"]["actTimes"]]},
    }
    scene.api.patch(AITASK, "t", scene.namespace, {"status": change}, "status")
    note = f"aiops.example.com/last-action-time={ahead(status['lastAction']['time'])}"
    scene.kubectl("annotate", "--overwrite", "deployment", "web", note)
