"""What becomes of the target: missing, made anew, rolling out, paused, at zero."""

from __future__ import annotations

from typing import Any

import pytest

from tests.behaviour.scene import AITASK, Scene
from tests.support.kinds import DEPLOYMENT

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

NOWHERE = {"nodeSelector": {"test.example.com/there-is": "no-such-node"}}


def patch_template(scene: Scene, **spec: Any) -> None:
    scene.api.patch(DEPLOYMENT, "web", scene.namespace, {"spec": {"template": {"spec": spec}}})


@pytest.mark.behaviour(
    case="target missing",
    sees="TargetFound=False and Ready=False TargetNotFound, phase Pending, one Event; Ready again, with an Event "
    "Recovered, once the Deployment is there",
)
def test_a_missing_target_is_waited_for(scene: Scene) -> None:
    scene.task()
    status = scene.sees("TargetFound", "False", "TargetNotFound", "Deployment web does not exist")
    scene.sees("Ready", "False", "TargetNotFound")
    assert (status["phase"], status["breaches"], "lastAction" in status) == ("Pending", 0, False)
    scene.until_passes(3)
    assert scene.events() == [("AITask", "TargetNotFound")]
    scene.use("20m")
    scene.web()
    scene.sees("Ready", "True", "Evaluated", "cpu 20% <= 80% (3 pods)")
    scene.until_events(("AITask", "TargetNotFound"), ("AITask", "Recovered"))
    assert scene.acts() == []


@pytest.mark.behaviour(
    case="target re-created",
    sees="status.target.uid is the new one, breaches and ineffectiveActions start at 0, the cooldown of the last act "
    "stays",
)
def test_a_target_that_was_made_anew_starts_at_zero_but_in_the_same_cooldown(web: Scene) -> None:
    web.task(policy={"cooldownSeconds": 3600})
    web.use("93m")
    web.until_acts(1)
    old = web.wait(lambda t: t["status"].get("ineffectiveActions") == 1 and t["status"]["breaches"] > 1, "no help")
    web.kubectl("delete", "deployment", "web", "--cascade=foreground")
    web.web()
    uid = old["status"]["target"]["uid"]
    web.wait(lambda t: t["status"]["target"]["uid"] != uid, "the new target")
    states = [state["status"] for state in web.api.history(AITASK, "t", web.namespace, old)]
    first = next(status for status in states if status["target"]["uid"] != uid)
    assert (first["ineffectiveActions"], first["breaches"] <= 1) == (0, True)
    status = web.sees("ActionPermitted", "False", "Cooldown", "cpu 93% > 80%", "next action not before")
    assert status["nextActionTime"] == old["status"]["nextActionTime"]
    assert (len(web.acts()), web.replicas()) == (1, 3)


@pytest.mark.behaviour(
    case="target mid-rollout",
    sees="ActionPermitted=False RolloutInProgress saying what is missing; the value is shown but not counted; acts "
    "once the rollout is over",
)
def test_during_a_rollout_samples_are_shown_but_not_counted(web: Scene) -> None:
    patch_template(web, **NOWHERE)
    web.kubectl("wait", "deployment/web", "--for=jsonpath={.status.updatedReplicas}=1", "--timeout=120s")
    web.use("93m")
    web.task()
    status = web.sees("ActionPermitted", "False", "RolloutInProgress", "cpu 93% > 80%", "1 of 3 replicas are updated")
    assert (status["breaches"], status["observedValue"]) == (0, "93")
    web.sees("MetricsAvailable", "True", "Sampled", "not counted")
    assert (web.evaluated()["breaches"], web.acts()) == (0, [])
    patch_template(web, nodeSelector=None)
    assert web.until_acts(1)[0]["spec"] == {"replicas": 4}


@pytest.mark.behaviour(
    case="scaled to 0 by a human",
    sees="Ready=True, ActionPermitted=False ScaledToZero: left at 0, nothing counted as unavailable; goes on when "
    "somebody scales it up",
)
def test_what_was_scaled_to_zero_stays_there(web: Scene) -> None:
    web.task(metric={"type": "UnavailableReplicas"}, threshold=0, action="restart")
    web.kubectl("scale", "deployment/web", "--replicas=0")
    web.sees("ActionPermitted", "False", "ScaledToZero", "web is scaled to 0 by hand, and left there")
    status = web.evaluated()
    assert (status["phase"], status["breaches"], web.replicas(), web.acts()) == ("Running", 0, 0, [])
    web.sees("Ready", "True", "Evaluated")
    web.kubectl("scale", "deployment/web", "--replicas=2")
    web.sees("ThresholdBreached", "False", "WithinThreshold", "2 of 2 available")
    assert web.acts() == []


@pytest.mark.behaviour(
    case="litmus-go PR#430: target absent, random victims",
    sees="TargetNotFound, and another Deployment with the same labels stays as it is; lastAction and history name "
    "the uid of what was acted on",
)
def test_no_other_target_is_ever_picked(web: Scene) -> None:
    before = web.deployment()
    web.use("93m")
    web.task("lost", targetDeployment="webb")
    web.sees("Ready", "False", "TargetNotFound", "webb", name="lost")
    web.until_passes(3, "lost")
    assert (web.acts(), web.deployment()["metadata"]["resourceVersion"]) == ([], before["metadata"]["resourceVersion"])
    web.task("found")
    status = web.sees("ActionPermitted", "True", "Permitted", "scaled 3 -> 4", name="found")
    uid = before["metadata"]["uid"]
    assert (status["lastAction"]["targetUID"], status["history"][0]["targetUID"]) == (uid, uid)


@pytest.mark.behaviour(
    case="kubernetes#72775: pods doubled during a rolling update",
    sees="RolloutInProgress; replicas and the breaches counted so far stay as they were; acts after it settles",
)
def test_breaches_stand_still_during_a_rollout(web: Scene) -> None:
    web.api.patch(DEPLOYMENT, "web", web.namespace, {"spec": {"strategy": {"rollingUpdate": {"maxSurge": "100%"}}}})
    web.settled()
    web.use("95m")
    web.task(evaluation={"consecutiveBreaches": 10})
    web.wait(lambda task: task.get("status", {}).get("breaches", 0) >= 2, "two breached samples")
    patch_template(web, **NOWHERE)
    status = web.sees("ThresholdBreached", "True", "Breached", "not counted: 3 old replicas are left")
    counted = status["breaches"]
    assert 2 <= counted < 10
    assert (web.evaluated()["breaches"], web.replicas(), web.acts()) == (counted, 3, [])
    web.sees("ActionPermitted", "False", "RolloutInProgress", "cpu 95% > 80%")
    patch_template(web, nodeSelector=None)
    assert web.until_acts(1)[0]["spec"] == {"replicas": 4}
    assert web.status()["breaches"] >= 10
