"""What rollback, patchResources and diagnose do, and what holds them, against a simulated cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.roles.aitask_simulation import World

REVISION = "deployment.kubernetes.io/revision"


def replica_set(revision: int, image: str, uid: str = "web-uid") -> dict[str, Any]:
    """One revision in the history of the Deployment with this uid."""
    labels = {"app": "web", "pod-template-hash": f"hash{revision}"}
    return {
        "metadata": {
            "name": f"web-hash{revision}",
            "labels": labels,
            "annotations": {REVISION: str(revision)},
            "ownerReferences": [{"kind": "Deployment", "uid": uid, "controller": True}],
        },
        "spec": {"template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}},
    }


def rolling(current: int, *revisions: int, **spec: Any) -> World:
    """A task that rolls back, and a target with these revisions."""
    world = World(action="rollback", **spec)
    assert world.deployment is not None
    world.deployment["metadata"]["annotations"] = {REVISION: str(current), "team": "shop"}
    world.replica_sets = [replica_set(revision, f"web:{revision}") for revision in revisions]
    return world


def image(world: World) -> str:
    assert world.deployment is not None
    return str(world.deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def turn(world: World, revision: int) -> None:
    """What the Deployment controller does after a rollback: the old ReplicaSet gets the next number."""
    assert world.deployment is not None
    wanted = image(world)
    for found in world.replica_sets:
        if found["spec"]["template"]["spec"]["containers"][0]["image"] == wanted:
            found["metadata"]["annotations"][REVISION] = str(revision)
    world.deployment["metadata"]["annotations"][REVISION] = str(revision)
    world.settle()


def resources(world: World) -> dict[str, Any]:
    assert world.deployment is not None
    found: dict[str, Any] = world.deployment["spec"]["template"]["spec"]["containers"][0]["resources"]
    return found


# --- rollback ---


def test_rolls_back_to_the_newest_earlier_revision_and_keeps_everything_else() -> None:
    world = rolling(3, 1, 2, 3).run(cpu="95m")
    assert image(world) == "web:2"
    assert world.deployment is not None
    template, notes = world.deployment["spec"]["template"], world.deployment["metadata"]["annotations"]
    assert template["metadata"]["labels"] == {"app": "web"}
    assert notes["team"] == "shop"
    assert world.status["lastAction"]["from"], world.status["lastAction"]["to"] == ("3", "2")
    assert world.status["state"]["rolledBackFrom"] == ["hash3"]
    assert "rolled back from revision 3 to 2" in world.message("ActionPermitted")
    assert {event["reason"] for event in world.events} == {"RolledBack"}


def test_never_goes_back_to_a_template_it_rolled_away_from() -> None:
    world = rolling(3, 1, 2, 3).run(cpu="95m")
    turn(world, 4)
    world.run(400, cpu="95m")
    assert image(world) == "web:1", "revision 3 is newer, but bad"
    turn(world, 5)
    world.run(400).run(60)
    assert (len(world.acts), world.condition("ActionPermitted")) == (2, ("False", "NoRollbackHistory"))


@pytest.mark.parametrize(
    ("wanted", "revisions", "words"),
    [(1, (1, 2, 3), None), (3, (1, 2, 3), "is the current one"), (9, (1, 2, 3), "is gone"), (None, (3,), "no earlier")],
)
def test_goes_to_the_wanted_revision_or_nowhere(
    wanted: int | None, revisions: tuple[int, ...], words: str | None
) -> None:
    world = rolling(3, *revisions, **({"rollback": {"toRevision": wanted}} if wanted else {})).run(cpu="95m")
    if words is None:
        assert image(world) == f"web:{wanted}"
    else:
        assert world.condition("ActionPermitted") == ("False", "NoRollbackHistory")
        assert words in world.message("ActionPermitted")
        assert world.acts == []


def test_another_deployments_history_with_the_same_labels_is_not_ours() -> None:
    world = rolling(3, 3)
    world.replica_sets += [replica_set(2, "other:2", uid="other")]
    world.run(cpu="95m")
    assert world.condition("ActionPermitted") == ("False", "NoRollbackHistory")


def test_without_a_revision_of_its_own_nothing_is_rolled_back() -> None:
    world = rolling(3, 1, 2, 3)
    assert world.deployment is not None
    del world.deployment["metadata"]["annotations"][REVISION]
    assert world.run(cpu="95m").condition("ActionPermitted") == ("False", "NoRollbackHistory")


@pytest.mark.parametrize(("seen", "acts"), [(1, 1), (0, 0)])
def test_a_rollout_that_does_not_come_forward_is_rolled_back(seen: int, acts: int) -> None:
    """Only once the controller has seen the newest template: the condition may speak of an older one."""
    world = rolling(3, 1, 2, 3, metric={"type": "UnavailableReplicas"}, threshold=0)
    assert world.deployment is not None
    world.deployment["status"] = {
        "observedGeneration": seen,
        "replicas": 4,
        "updatedReplicas": 1,
        "availableReplicas": 2,
        "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}],
    }
    world.run()
    assert len(world.acts) == acts
    if not acts:
        assert world.condition("ActionPermitted") == ("False", "RolloutInProgress")


def test_a_crash_between_intent_and_act_keeps_in_mind_what_was_left() -> None:
    world = rolling(3, 1, 2, 3)
    world.crash_after = "act"
    world.run(cpu="95m")
    world.crash_after = None
    turn(world, 4)
    world.run(5)
    assert (len(world.acts), world.status["lastAction"]["result"]) == (1, "Succeeded")
    assert world.status["state"]["rolledBackFrom"] == ["hash3"]


# --- patchResources ---

GROWTH = {"container": "c", "cpuPercent": 50, "maxCPU": "1", "memoryPercent": 25, "maxMemory": "100Mi"}


def raising(requests: dict[str, str], limits: dict[str, str] | None = None, **growth: Any) -> World:
    world = World(action="patchResources", patchResources={**GROWTH, **growth})
    assert world.deployment is not None
    container = world.deployment["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": requests, **({"limits": limits} if limits else {})}
    return world


@pytest.mark.parametrize(
    ("requests", "limits", "expected"),
    [
        (
            {"cpu": "100m", "memory": "64Mi"},
            None,
            {"requests": {"cpu": "150m", "memory": "80Mi"}},
        ),
        (
            {"cpu": "0.1", "memory": "64Mi"},
            {"cpu": "200m", "memory": "128Mi"},
            {"requests": {"cpu": "150m", "memory": "80Mi"}, "limits": {"cpu": "300m", "memory": "128Mi"}},
        ),
        (
            {"cpu": "900m", "memory": "90Mi"},
            {"cpu": "1", "memory": "90Mi"},
            {"requests": {"cpu": "1", "memory": "100Mi"}, "limits": {"cpu": "1", "memory": "100Mi"}},
        ),
        (
            {"cpu": "3m", "memory": "1000"},
            None,
            {"requests": {"cpu": "5m", "memory": "1250"}},
        ),
    ],
)
def test_raises_request_and_limit_up_to_the_maximum(
    requests: dict[str, str], limits: dict[str, str] | None, expected: dict[str, Any]
) -> None:
    world = raising(requests, limits).run(cpu="95m")
    assert resources(world) == expected
    assert {event["reason"] for event in world.events} == {"ResourcesRaised"}


def test_at_the_maximum_nothing_is_lowered() -> None:
    world = raising({"cpu": "2", "memory": "200Mi"}).run(cpu="95m")
    assert world.condition("ActionPermitted") == ("False", "AtMaximum")
    assert "cpu 1, memory 100Mi" in world.message("ActionPermitted")
    assert world.acts == []


@pytest.mark.parametrize(
    ("requests", "growth", "reason"),
    [
        ({"cpu": "100m"}, {}, "MissingRequests"),
        ({"cpu": "100m", "memory": "64Mi"}, {"container": "other"}, "ContainerNotFound"),
    ],
)
def test_what_cannot_be_raised_is_held(requests: dict[str, str], growth: dict[str, Any], reason: str) -> None:
    world = raising(requests, **growth).run(cpu="95m")
    assert (world.condition("ActionPermitted"), world.acts) == (("False", reason), [])


@pytest.mark.parametrize(
    ("growth", "words"),
    [
        ({}, "patchResources.cpuPercent"),
        ({"container": "c", "cpuPercent": 10}, "patchResources.maxCPU"),
        ({"cpuPercent": 10, "maxCPU": "1"}, "patchResources.container"),
        ({"container": "c", "memoryPercent": 10, "maxMemory": "0"}, "patchResources.maxMemory"),
    ],
)
def test_incomplete_amounts_are_a_fault_of_the_spec(growth: dict[str, Any], words: str) -> None:
    world = World(action="patchResources", patchResources=growth).run(cpu="95m")
    assert world.condition("Ready") == ("False", "InvalidSpec")
    assert words in world.message("Ready")


# --- what holds both ---


@pytest.mark.parametrize("action", ["rollback", "patchResources"])
def test_a_paused_rollout_holds_changes_of_the_template(action: str) -> None:
    world = rolling(3, 1, 2, 3) if action == "rollback" else raising({"cpu": "100m", "memory": "64Mi"})
    assert world.deployment is not None
    world.deployment["spec"]["paused"] = True
    world.run(cpu="95m")
    assert (world.condition("ActionPermitted"), world.acts) == (("False", "TargetPaused"), [])


MARKS: list[tuple[dict[str, Any], str]] = [
    ({"annotations": {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:ns/web", REVISION: "3"}}, "Argo CD"),
    ({"labels": {"kustomize.toolkit.fluxcd.io/name": "shop"}, "annotations": {REVISION: "3"}}, "Flux"),
    ({"managedFields": [{"manager": "argocd-controller"}], "annotations": {REVISION: "3"}}, "Argo CD"),
]


@pytest.mark.parametrize(("mark", "tool"), MARKS)
def test_what_a_repository_says_is_not_changed_behind_its_back(mark: dict[str, Any], tool: str) -> None:
    world = rolling(3, 1, 2, 3)
    assert world.deployment is not None
    world.deployment["metadata"].update(mark)
    world.run(cpu="95m")
    assert (world.condition("ActionPermitted"), world.acts) == (("False", "GitOpsManaged"), [])
    assert tool in world.message("ActionPermitted")
    world.annotate(**{"allow-gitops": "true"})
    world.run(60)
    assert image(world) == "web:2"


def test_scaling_under_gitops_goes_on_and_warns_once() -> None:
    world = World(policy={"cooldownSeconds": 30})
    assert world.deployment is not None
    world.deployment["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "shop"}
    world.run(cpu="95m").settle().run(60).settle().run(60)
    assert len(world.acts) == 3
    assert [event["reason"] for event in world.events].count("GitOpsManaged") == 1


@pytest.mark.parametrize("replicas", [3, None])
def test_a_paused_scaled_object_holds_scaling_as_an_autoscaler_does(replicas: int | None) -> None:
    world = World()
    goal = {"name": "web", **({"kind": "Deployment"} if replicas else {})}
    notes = {"autoscaling.keda.sh/paused": "true"}
    world.scaled_objects = [{"metadata": {"name": "so", "annotations": notes}, "spec": {"scaleTargetRef": goal}}]
    world.run(cpu="95m")
    assert world.condition("ActionPermitted") == ("False", "AutoscalerPresent")
    assert "ScaledObject so" in world.message("ActionPermitted")


# --- the guard ---


def test_without_the_guard_the_operator_only_observes() -> None:
    world = World()
    world.guard = False
    world.run(cpu="95m")
    assert (world.condition("ActionPermitted"), world.acts) == (("False", "GuardAbsent"), [])
    assert "would scale web 3 -> 4" in world.message("ActionPermitted")
    assert "requireGuard: false" in world.message("ActionPermitted")
    world.settings = {"resources": [{"data": {"config.yaml": "requireGuard: no\nproviders: {prometheus: 1}\n"}}]}
    assert world.run(60).acts == [], "a faulty file loosens nothing"
    world.settings = {"resources": [{"data": {"config.yaml": "requireGuard: false\n"}}]}
    world.run(60)
    assert len(world.acts) == 1


def test_whoever_runs_the_role_may_do_without_the_guard() -> None:
    world = World()
    world.guard = world.require_guard = False
    assert len(world.run(cpu="95m").acts) == 1


def test_notifying_needs_no_guard() -> None:
    world = World(action="notify")
    world.guard = False
    world.run(cpu="95m")
    assert world.status["lastAction"]["result"] == "Succeeded"


# --- the rehearsal ---


def test_what_the_server_would_refuse_is_not_begun() -> None:
    world = World()
    world.refusal, world.refuses = {"msg": "exceeded quota: pods", "reason": "Forbidden"}, (True,)
    world.run(cpu="95m")
    assert (world.acts, world.condition("Ready")) == ([], ("False", "Forbidden"))
    assert "exceeded quota" in world.message("Ready")
    assert world.plan["requeue"] == "5s"
    world.refusal = None
    world.run(5)
    assert (len(world.acts), world.condition("Ready")) == (1, ("True", "Evaluated"))


def test_what_the_server_calls_invalid_is_terminal() -> None:
    world = World()
    world.refusal, world.refuses = {"msg": "spec.replicas: Invalid value", "reason": "Unprocessable Entity"}, (True,)
    world.run(cpu="95m")
    assert (world.acts, world.status["phase"], world.plan["requeue"]) == ([], "Failed", "")
    writes = world.writes
    world.run(3600)
    assert world.writes <= writes + 1


# --- diagnose ---


@pytest.mark.parametrize(
    ("fallback", "acts", "last"), [("scale", 1, "scale"), ("restart", 1, "restart"), (None, 0, "notify")]
)
def test_without_a_model_the_fallback_is_done(fallback: str | None, acts: int, last: str) -> None:
    block = {} if fallback is None else {"fallbackAction": fallback, "allowedActions": ["scale", "restart"]}
    world = World(action="diagnose", diagnose=block).run(cpu="95m")
    assert len(world.acts) == acts
    assert world.condition("DiagnosisSucceeded") == ("False", "ProviderNotFound")
    assert (world.status["lastAction"]["type"], world.status["lastAction"]["decidedBy"]) == (last, "fallback")
    assert world.condition("Ready") == ("True", "Evaluated")


def test_the_fallback_may_be_to_do_nothing() -> None:
    world = World(action="diagnose", diagnose={"fallbackAction": "none"}).run(cpu="95m")
    assert (world.acts, world.events) == ([], [])
    assert world.condition("DiagnosisSucceeded") == ("False", "ProviderNotFound")
    assert "fallbackAction is none" in world.message("ActionPermitted")


def test_every_hold_says_when_it_is_looked_at_again() -> None:
    world = World(scale={"maxReplicas": 3}).run(cpu="95m")
    assert world.condition("ActionPermitted") == ("False", "AtMaximum")
    assert "cpu 95% > 80% (1/1 samples, 3 pods), 3 replicas, maxReplicas is 3, next look 10:0" in world.message(
        "ActionPermitted"
    )
