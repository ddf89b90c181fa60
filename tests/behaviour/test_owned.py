"""The Deployment that a task owns: made, edited, resized, changed by others, lost, gone with its task."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.behaviour.scene import AITASK, ALWAYS, Scene, requests
from tests.roles.aitask_lab import ACCOUNT, wait_for
from tests.support.kinds import DEPLOYMENT
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

OLD, NEW = "registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.10"


def template(image: str = OLD, **container: Any) -> dict[str, Any]:
    one = {"name": "web", "image": image, "resources": requests(), **container}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [one]}}


def own(scene: Scene, replicas: int = 2, **spec: Any) -> None:
    """A task and the Deployment that it has made, with its pods ready."""
    scene.task(**{"template": template(command=["/pause"]), "replicas": replicas, "action": "notify", **spec})
    scene.settled(replicas)


def container(scene: Scene) -> dict[str, Any]:
    found: dict[str, Any] = scene.deployment()["spec"]["template"]["spec"]["containers"][0]
    return found


def eventually(scene: Scene, holds: Any, what: str) -> None:
    until(holds, what, scene.patience, scene.api.checks)


@pytest.mark.behaviour(
    case="operator-sdk#3367, jaeger-operator#963: operator resets replicas the HPA set",
    sees="an edit of spec.template is applied without replicas, and what goes from it goes from the Deployment; each "
    "change of spec.replicas is applied once, unless an autoscaler is there: TemplateApplied=False AutoscalerPresent",
)
def test_an_edit_of_the_template_leaves_the_replicas_alone(scene: Scene) -> None:
    own(scene)
    scene.kubectl("scale", "deployment", "web", "--replicas=5")
    scene.edit(template=template(NEW))
    eventually(scene, lambda: container(scene)["image"] == NEW, "the image is the new one")
    assert ("command" in container(scene), scene.replicas()) == (False, 5)
    scene.kubectl("scale", "aitask", "t", "--replicas=3")
    eventually(scene, lambda: scene.replicas() == 3, "the size that the task asks for")
    scaled = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 9}},
    }
    hpa = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    scene.kubectl("create", "-f", "-", manifest={**hpa, "spec": {**scaled, "maxReplicas": 9, "metrics": [metric]}})
    scene.kubectl("scale", "aitask", "t", "--replicas=8")
    scene.sees(
        "TemplateApplied", "False", "AutoscalerPresent", "replicas 8 is not applied", "HorizontalPodAutoscaler h"
    )
    scene.evaluated()
    assert scene.replicas() == 3
    scene.kubectl("delete", "hpa", "h")
    eventually(scene, lambda: scene.replicas() == 8, "the size, once nobody else sets it")
    assert scene.events().count(("AITask", "TemplateApplied")) == 2


@pytest.mark.behaviour(
    case="a Deployment from a template is changed by hand, or deleted",
    sees="what the template says is brought back, at once; what others add beside it stays",
)
def test_what_others_change_or_delete_is_brought_back(scene: Scene) -> None:
    own(scene)
    notes = {"metadata": {"annotations": {"team": "shop"}}}
    scene.api.patch(DEPLOYMENT, "web", scene.namespace, notes)
    scene.kubectl("set", "image", "deployment/web", f"web={NEW}")
    eventually(scene, lambda: container(scene)["image"] == OLD, "the image is brought back")
    assert scene.deployment()["metadata"]["annotations"]["team"] == "shop"
    before = scene.deployment()["metadata"]["uid"]
    scene.kubectl("delete", "deployment", "web", "--wait=false")
    eventually(
        scene,
        lambda: (
            (scene.api.get(DEPLOYMENT, "web", scene.namespace) or {"metadata": {}})["metadata"].get("uid", before)
            != before
        ),
        "it is made again",
    )
    scene.settled(2)


@pytest.mark.behaviour(
    case="a task with a template is deleted",
    sees="its Deployment goes with it; an adopted one never does",
)
def test_what_a_task_owns_goes_with_it(scene: Scene) -> None:
    own(scene)
    scene.kubectl("delete", "aitask", "t")
    eventually(scene, lambda: scene.api.get(DEPLOYMENT, "web", scene.namespace) is None, "the Deployment is gone")
    scene.web()
    scene.task(**ALWAYS)
    scene.until_acts(1)
    scene.kubectl("delete", "aitask", "t")
    assert "ownerReferences" not in scene.deployment()["metadata"]


@pytest.mark.behaviour(
    case="the name of a template's Deployment is taken",
    sees="Ready=False TargetExists, phase Failed; the other Deployment is left as it is",
)
def test_a_deployment_of_somebody_else_is_never_taken_over(web: Scene) -> None:
    before = web.deployment()["spec"]
    web.task(template=template())
    web.sees("Ready", "False", "TargetExists", "never takes over")
    assert (web.deployment()["spec"], web.acts()) == (before, [])


@pytest.mark.behaviour(
    case="a template that the API server refuses",
    sees="Ready=False InvalidSpec with its words, phase Failed, no retry; an edit heals it",
)
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"imagePullPolicy": "Sometimes"}, "imagePullPolicy"),
        ({"wiggle": True}, "wiggle"),
        ({"resources": {"requests": {"cpu": "lots"}}}, "quantities must match"),
    ],
)
def test_a_template_that_the_server_refuses_is_said(scene: Scene, wrong: dict[str, Any], words: str) -> None:
    scene.task(template=template(**wrong), action="notify")
    status = scene.sees("Ready", "False", "InvalidSpec", "spec.template cannot be applied", words)
    assert (status["phase"], '"Status"' in str(status["conditions"])) == ("Failed", False)
    scene.edit(template=template())
    scene.sees("TemplateApplied", "True", "Applied")


@pytest.mark.behaviour(
    case="the operator may not create Deployments (templates-role is not installed)",
    sees="Ready=False Forbidden, tried again; it heals once the right is there",
)
def test_without_the_right_to_create_it_says_so(scene: Scene) -> None:
    binding = "aitask-operator-templates-rolebinding"
    who = "system:serviceaccount:" + ":".join(ACCOUNT)
    kept = json.loads(scene.kubectl("get", "clusterrolebinding", binding, "-o", "json"))

    def may_create() -> bool:
        said = scene.kubectl("auth", "can-i", "create", "deployments", check=False, user=who)
        return said.strip().endswith("yes")

    def tasks_of_the_operator() -> list[Any]:
        label = {"test.example.com/operator": scene.label}
        return [task for task in scene.api.list(AITASK) if task["metadata"].get("labels") == label]

    # Tasks of other tests, whose namespaces are still going, would be refused as well.
    eventually(scene, lambda: not tasks_of_the_operator(), "no other task of the operator is left")
    scene.kubectl("delete", "clusterrolebinding", binding)
    try:
        wait_for(lambda: not may_create())
        scene.task(template=template(), action="notify")
        scene.sees("Ready", "False", "Forbidden", "spec.template cannot be applied")
    finally:
        kept["metadata"] = {"name": binding}
        scene.apply(kept)
    scene.sees("TemplateApplied", "True", "Applied")


@pytest.mark.behaviour(
    case="patchResources or rollback on a Deployment from a template",
    sees="what the act changed stays until spec.template is edited: TemplateApplied=True ChangedByAct",
)
def test_an_act_on_an_owned_deployment_stays(scene: Scene) -> None:
    growth = {"container": "web", "cpuPercent": 50, "maxCPU": "150m"}
    own(scene, action="patchResources", patchResources=growth, **ALWAYS, policy={"cooldownSeconds": 30})
    scene.sees("TemplateApplied", "True", "ChangedByAct", "next edit")
    scene.sees("ActionPermitted", "False", "AtMaximum")
    assert container(scene)["resources"] == requests("150m")
    scene.edit(template=template(NEW))
    eventually(scene, lambda: container(scene)["image"] == NEW, "the edit is applied")


@pytest.mark.behaviour(
    case="spec.template is edited after a rollback of its Deployment",
    sees="the template counts again, and nothing of what the rollback brought back is left",
)
def test_nothing_of_a_rollback_outlives_the_next_edit(scene: Scene) -> None:
    two = template(env=[{"name": "A", "value": "1"}])
    two["spec"]["containers"].append({"name": "debug", "image": OLD})
    secret = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}}
    own(scene, template=two)
    scene.edit(template=template(env=[secret]))
    eventually(scene, lambda: "valueFrom" in str(container(scene)), "the second template is applied")
    scene.settled(2)
    scene.edit(**{**ALWAYS, "action": "rollback"})
    eventually(scene, lambda: "debug" in str(scene.deployment()["spec"]), "it is rolled back")
    scene.sees("TemplateApplied", "True", "ChangedByAct")
    scene.settled(2)
    scene.edit(template=template(NEW, env=[secret]), action="notify")
    scene.sees("TemplateApplied", "True", "Applied")
    (left,) = scene.deployment()["spec"]["template"]["spec"]["containers"]
    assert (left["image"], left["env"]) == (NEW, [secret])


@pytest.mark.behaviour(
    case="somebody writes into a template's Deployment what excludes what the template says",
    sees="it is brought back like any other change, in a second try",
)
def test_a_change_that_excludes_what_the_template_says_is_brought_back(scene: Scene) -> None:
    own(scene, template=template(env=[{"name": "A", "value": "1"}]), **ALWAYS)
    secret = {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}
    change = {"containers": [{"name": "web", "env": [{"name": "A", "value": None, "valueFrom": secret}]}]}
    body = {"spec": {"template": {"spec": change}}}
    scene.api.request("PATCH", DEPLOYMENT.path(scene.namespace, "web"), body, "application/strategic-merge-patch+json")
    eventually(scene, lambda: container(scene)["env"] == [{"name": "A", "value": "1"}], "the value is back")
    scene.sees("Ready", "True", "Evaluated")
