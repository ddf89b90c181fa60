"""What rollback and patchResources change of a real Deployment, what holds them, and what happens without the guard."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.behaviour.scene import ALWAYS, Scene, requests
from tests.roles.aitask_lab import wait_for
from tests.support.kinds import DEPLOYMENT
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

GUARD = "aitask-guard.aiops.example.com"


def set_image(scene: Scene, image: str) -> None:
    """A new revision."""
    containers = [{"name": "web", "image": image}]
    body = {"spec": {"template": {"spec": {"containers": containers}}}}
    path = DEPLOYMENT.path(scene.namespace, "web")
    scene.api.request("PATCH", path, body, "application/strategic-merge-patch+json")
    scene.settled()


def image_of(scene: Scene) -> str:
    return str(scene.deployment()["spec"]["template"]["spec"]["containers"][0]["image"])


@pytest.mark.behaviour(
    case="argo-rollouts#3039: rolls back to the known-bad revision; loses annotations",
    sees="back to the newest earlier revision that this task has not rolled away from, or NoRollbackHistory; labels "
    "and annotations of the Deployment stay",
)
def test_a_rollback_never_goes_back_to_what_it_left(web: Scene) -> None:
    good, bad = "registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.10"
    set_image(web, good)
    notes = {"meta.helm.sh/release-name": "shop", "team": "shop"}
    web.api.patch(DEPLOYMENT, "web", web.namespace, {"metadata": {"annotations": notes}})
    set_image(web, bad)
    assert image_of(web) == bad
    # revision 1 had the bad image first: it is revision 3 now, and 2 is the good one
    web.task(action="rollback", **ALWAYS, policy={"cooldownSeconds": 30})
    first = web.until_acts(1)[0]
    assert first["spec"]["template"]["$patch"] == "replace"
    until(lambda: image_of(web) == good, "it is rolled back", web.patience, web.api.checks)
    web.sees("ActionPermitted", "False", "NoRollbackHistory", "has not rolled away from", "next look")
    assert (len(web.acts()), image_of(web)) == (1, good)
    meta = web.deployment()["metadata"]
    assert notes.items() <= meta["annotations"].items()
    assert ("Deployment", "RolledBack") in web.events()


@pytest.mark.behaviour(
    case="rollback of a rollout that does not come forward",
    sees="rollback may act where Progressing says ProgressDeadlineExceeded; every other action waits "
    "(RolloutInProgress)",
)
def test_a_stuck_rollout_is_rolled_back(web: Scene) -> None:
    good = image_of(web)
    containers = [{"name": "web", "image": "no-such", "resources": requests("1000")}]
    body = {"spec": {"progressDeadlineSeconds": 1, "template": {"spec": {"containers": containers}}}}
    path = DEPLOYMENT.path(web.namespace, "web")
    web.api.request("PATCH", path, body, "application/strategic-merge-patch+json")

    def stuck() -> bool:
        found = web.deployment().get("status", {}).get("conditions", [])
        return any(entry["reason"] == "ProgressDeadlineExceeded" for entry in found)

    wait_for(stuck)
    metric: dict[str, Any] = {"metric": {"type": "UnavailableReplicas"}, "comparison": "GreaterThanOrEqual"}
    web.task("restarts", action="restart", **ALWAYS)
    web.sees("ActionPermitted", "False", "RolloutInProgress", "next look", name="restarts")
    web.task("back", action="rollback", **{**ALWAYS, **metric, "comparison": "LessThanOrEqual"})
    web.until_acts(1)
    until(lambda: image_of(web) == good, "it is rolled back", web.patience, web.api.checks)
    assert [act["spec"]["template"]["$patch"] for act in web.acts()] == ["replace"]


@pytest.mark.behaviour(
    case="patchResources",
    sees="request and limit of the named container grow by percent up to the maximum, then AtMaximum",
)
def test_resources_grow_up_to_the_maximum(web: Scene) -> None:
    growth = {"container": "web", "cpuPercent": 50, "maxCPU": "150m"}
    web.task(action="patchResources", patchResources=growth, **ALWAYS, policy={"cooldownSeconds": 30})
    web.sees("ActionPermitted", "False", "AtMaximum", "container web is at its maximum (cpu 150m)", "next look")
    found = web.deployment()["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert found == {"requests": {"cpu": "150m", "memory": "64Mi"}}
    assert len(web.acts()) == 1
    assert ("Deployment", "ResourcesRaised") in web.events()


@pytest.mark.behaviour(
    case="paused rollout",
    sees="restart, rollback and patchResources: ActionPermitted=False TargetPaused; scale goes on",
)
def test_a_paused_deployment_is_scaled_and_nothing_else(scene: Scene) -> None:
    scene.web(paused=True, settle=False)
    growth = {"container": "web", "cpuPercent": 50, "maxCPU": "1"}
    always = {**ALWAYS, "comparison": "GreaterThanOrEqual", "threshold": 1}
    for action, more in {"restart": {}, "rollback": {}, "patchResources": {"patchResources": growth}}.items():
        scene.task(action.lower(), action=action, **{**always, **more})
        scene.sees("ActionPermitted", "False", "TargetPaused", "resume it", name=action.lower())
        scene.kubectl("delete", "at", action.lower())
    scene.task("scales", **always)
    scene.sees("ActionPermitted", "True", "Permitted", "scaled 3 -> 4", name="scales")
    assert len(scene.acts()) == 1


@pytest.mark.behaviour(
    case="adopted Deployment under Argo CD/Flux",
    sees="rollback, patchResources: ActionPermitted=False GitOpsManaged, unless the task is annotated "
    'aiops.example.com/allow-gitops: "true"; scale and restart act and warn once',
)
def test_what_a_repository_says_is_left_alone(web: Scene) -> None:
    notes = {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:x/web"}
    web.api.patch(DEPLOYMENT, "web", web.namespace, {"metadata": {"annotations": notes}})
    growth = {"container": "web", "cpuPercent": 50, "maxCPU": "1"}
    web.task("raises", action="patchResources", patchResources=growth, **ALWAYS)
    web.sees("ActionPermitted", "False", "GitOpsManaged", "Argo CD manages web", "allow-gitops", name="raises")
    assert web.acts() == []
    web.kubectl("delete", "at", "raises")
    brakes = {"cooldownSeconds": 30, "maxActionsPerHour": 1}
    notes = {"aiops.example.com/allow-gitops": "true"}
    web.task("allowed", notes, action="patchResources", patchResources=growth, **ALWAYS, policy=brakes)
    web.sees("ActionPermitted", "True", "Permitted", "raised web", name="allowed")
    web.kubectl("delete", "at", "allowed")
    web.task("scales", **ALWAYS, policy=brakes)
    web.until_acts(2)
    web.sees("ActionPermitted", "False", "HourlyLimit", name="scales")
    assert (web.replicas(), web.events().count(("AITask", "GitOpsManaged"))) == (4, 1)


@pytest.mark.behaviour(
    case="a server that refuses the act",
    sees="the server is asked by a dry run before anything is written: Ready=False with its words, lastAction Failed, "
    "the target untouched. What it calls invalid (422, as policies do): ActionFailed, phase Failed, not tried before "
    "an edit (or the hourly net); all else is tried again with growing gaps",
)
def test_what_the_server_would_refuse_is_not_begun(web: Scene) -> None:
    name = f"no-scaling-{web.namespace}"
    rule = {"apiGroups": ["apps"], "resources": ["deployments"]}
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": web.namespace}},
                "resourceRules": [{**rule, "apiVersions": ["v1"], "operations": ["UPDATE"]}],
            },
            "validations": [{"expression": "object.spec.replicas <= 3", "message": "three are enough"}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    web.kubectl("create", "-f", "-", manifest=policy)
    web.kubectl("create", "-f", "-", manifest=binding)
    scale = ("patch", "deployment/web", "--dry-run=server", "-p", '{"spec":{"replicas":9}}')
    wait_for(lambda: "three are enough" in web.kubectl(*scale, check=False))
    try:
        web.task(**ALWAYS)
        web.wait(lambda task: "three are enough" in str(task.get("status", {})), "the refusal is told")
        status = web.status()
        assert (status["lastAction"]["result"], status["phase"], web.replicas()) == ("Failed", "Failed", 3)
        web.sees("Ready", "False", "ActionFailed", "three are enough")
        assert web.acts() == []
    finally:
        web.kubectl("delete", "validatingadmissionpolicybinding", name)
        web.kubectl("delete", "validatingadmissionpolicy", name)


@pytest.mark.behaviour(
    case="diagnose without a model provider",
    sees="DiagnosisSucceeded=False ProviderNotFound, fallbackAction is done, Ready stays True; lastAction.decidedBy is "
    "fallback",
)
def test_without_a_model_the_fallback_is_done(web: Scene) -> None:
    web.task(action="diagnose", diagnose={"fallbackAction": "scale", "allowedActions": ["scale"]}, **ALWAYS)
    web.until_acts(1)
    web.sees("DiagnosisSucceeded", "False", "ProviderNotFound", "fallbackAction is scale")
    status = web.evaluated(1)
    assert (status["lastAction"]["decidedBy"], web.replicas()) == ("fallback", 2), "down, as the comparison says"
    web.sees("Ready", "True", "Evaluated")


@pytest.mark.behaviour(
    case="ScaledObject on target, also a paused one",
    sees="scale: ActionPermitted=False AutoscalerPresent naming it",
)
def test_what_keda_scales_is_not_scaled(web: Scene) -> None:
    body = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "so", "annotations": {"autoscaling.keda.sh/paused": "true"}},
        "spec": {"scaleTargetRef": {"name": "web"}},
    }
    web.kubectl("create", "-f", "-", manifest=body)
    web.task(**ALWAYS)
    web.sees("ActionPermitted", "False", "AutoscalerPresent", "ScaledObject so scales web", "next look")
    web.evaluated()
    assert web.acts() == []


@pytest.mark.behaviour(
    case="the admission guard is not installed",
    sees="ActionPermitted=False GuardAbsent with what would be done and how to go on; nothing is done until the guard "
    "is back; notify goes on",
)
def test_without_the_guard_the_operator_only_observes(web: Scene) -> None:
    binding = web.kubectl("get", "validatingadmissionpolicybinding", GUARD, "-o", "json")
    web.kubectl("delete", "validatingadmissionpolicybinding", GUARD)
    try:
        web.task(**ALWAYS)
        web.sees(
            "ActionPermitted", "False", "GuardAbsent", "would scale web 3 -> 4", "requireGuard: false", "next look"
        )
        web.task("tells", action="notify", **ALWAYS)
        web.sees("ActionPermitted", "True", "Permitted", "notified", name="tells")
        assert web.acts() == []
    finally:
        body = json.loads(binding)
        body["metadata"] = {"name": GUARD}
        web.kubectl("create", "-f", "-", manifest=body)
    web.until_acts(1)
