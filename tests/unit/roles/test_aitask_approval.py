"""Approval: from the proposal to the one act that was approved, and every way in which it must not be done."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.roles.aitask_simulation import World


def proposing(**spec: Any) -> World:
    """A task with approval Always whose first breach has just been seen."""
    policy = {"approval": "Always", "approvalTimeoutSeconds": 600, **spec.pop("policy", {})}
    return World(policy=policy, **spec).run(cpu="95m")


def reasons(world: World) -> list[str]:
    return [event["reason"] for event in world.events]


def proposal(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.status["proposal"]
    return found


def approve(world: World, identity: str | None = None) -> World:
    world.annotate(approve=identity or proposal(world)["id"])
    return world


def test_a_breach_makes_a_proposal_that_says_exactly_what_would_be_done() -> None:
    world = proposing()
    found = proposal(world)
    assert (found["action"], found["parameters"], found["state"]) == ("scale", "scale web 3 -> 4", "Pending")
    assert (found["createdAt"], found["expiresAt"]) == ("2026-01-31T10:00:00Z", "2026-01-31T10:10:00Z")
    assert world.condition("ActionPermitted") == ("False", "AwaitingApproval")
    message = world.message("ActionPermitted")
    assert "cpu 95% > 80%" in message
    assert f"aiops.example.com/approve={found['id']} before 2026-01-31T10:10:00Z" in message
    event = next(event for event in world.events if event["reason"] == "ApprovalRequired")
    assert "asks to scale web 3 -> 4" in event["message"]
    assert found["id"] in event["message"]
    assert (world.acts, world.status["phase"]) == ([], "Running")


def test_waiting_changes_nothing_and_asks_once() -> None:
    world = proposing()
    before = proposal(world)
    world.run(60).run(60).run(60)
    assert (proposal(world), world.acts) == (before, [])
    assert reasons(world).count("ApprovalRequired") == 1


@pytest.mark.parametrize("action", ["scale-up", "restart"])
def test_approved_it_is_done_once_at_once_and_carries_the_proposals_id(action: str) -> None:
    world = proposing(action=action)
    identity = proposal(world)["id"]
    approve(world).run(3)
    assert len(world.acts) == 1
    assert world.deployment is not None
    assert world.deployment["metadata"]["annotations"]["aiops.example.com/last-action"] == identity
    assert (world.status["lastAction"]["id"], world.status["lastAction"]["result"]) == (identity, "Succeeded")
    assert proposal(world)["state"] == "Approved"
    world.settle().run(400).run(60)
    assert len(world.acts) == 1, "one approval, one act"
    assert (proposal(world)["state"], proposal(world)["id"] != identity) == ("Pending", True)


@pytest.mark.parametrize("point", ["intent", "act"])
@pytest.mark.parametrize("action", ["scale-up", "restart"])
def test_a_crash_around_an_approved_act_leaves_exactly_one(point: str, action: str) -> None:
    world = proposing(action=action)
    identity = proposal(world)["id"]
    world.crash_after = point
    approve(world).run(3)
    world.crash_after = None
    if point == "act":
        world.settle()
    world.run(5).run(60)
    assert len(world.acts) == 1
    assert (world.status["lastAction"]["id"], world.status["lastAction"]["result"]) == (identity, "Succeeded")
    assert proposal(world)["state"] == "Approved"


def test_denied_it_stays_so_until_the_breach_is_over() -> None:
    world = proposing()
    identity = proposal(world)["id"]
    approve(world, f"deny:{identity}").run(3)
    assert world.condition("ActionPermitted") == ("False", "ApprovalDenied")
    world.run(60).run(3600)
    assert (world.acts, proposal(world)["id"], reasons(world).count("ApprovalDenied")) == ([], identity, 1)
    world.run(60, cpu="20m").run(60, cpu="95m")
    assert (proposal(world)["state"], proposal(world)["id"] != identity) == ("Pending", True)


def test_a_denied_proposal_cannot_be_approved_later() -> None:
    world = proposing()
    identity = proposal(world)["id"]
    approve(world, f"deny:{identity}").run(3)
    approve(world, identity).run(3)
    assert (world.acts, proposal(world)["state"]) == ([], "Denied")


def test_expired_it_is_never_done_and_asked_again_after_the_cooldown() -> None:
    world = proposing()
    identity = proposal(world)["id"]
    approve(world).run(600)
    assert world.acts == []
    assert (proposal(world)["state"], world.condition("ActionPermitted")) == ("Expired", ("False", "ApprovalExpired"))
    assert "asks again at 10:15:00Z" in world.message("ActionPermitted")
    world.run(240)
    assert proposal(world)["id"] == identity
    world.run(60)
    assert (proposal(world)["state"], proposal(world)["id"] != identity, world.acts) == ("Pending", True, [])
    assert reasons(world).count("ApprovalExpired") == 1


@pytest.mark.parametrize("change", ["spec", "target", "new target"])
def test_after_a_change_of_spec_or_target_an_old_approval_is_not_executed(change: str) -> None:
    world = proposing()
    identity = proposal(world)["id"]
    assert world.deployment is not None
    if change == "spec":
        world.edit(historyLimit=9)
    elif change == "target":
        world.deployment["metadata"].update(generation=2, resourceVersion="9")
        world.settle()
    else:
        world.deployment["metadata"].update(uid="another", resourceVersion="9")
    approve(world, identity).run(60)
    assert world.acts == []
    assert (proposal(world)["state"], proposal(world)["id"] != identity) == ("Pending", True)
    assert "ProposalSuperseded" in reasons(world)
    assert "no answer to this proposal" in world.message("ActionPermitted")
    assert [entry["result"] for entry in world.status["history"][:2]] == ["Proposed", "Superseded"]


def test_when_the_breach_is_over_the_proposal_is_too() -> None:
    world = proposing()
    world.run(60, cpu="20m")
    assert proposal(world)["state"] == "Superseded"
    approve(world).run(3)
    assert world.acts == []


@pytest.mark.parametrize("how", ["suspend", "paused", "gone", "zero"])
def test_a_task_that_rests_withdraws_its_proposal(how: str) -> None:
    world = proposing()
    assert world.deployment is not None
    if how == "suspend":
        world.edit(suspend=True)
    elif how == "paused":
        world.annotate(paused="true")
    elif how == "gone":
        world.deployment = None
    else:
        world.deployment["spec"]["replicas"] = 0
    approve(world).run(60)
    assert (proposal(world)["state"], world.acts) == ("Superseded", [])


def test_an_approved_act_still_needs_open_gates_and_data() -> None:
    world = proposing()
    approve(world).run(60, cpu=None)
    assert (world.acts, proposal(world)["state"]) == ([], "Pending")
    world.autoscalers = [
        {"metadata": {"name": "hpa"}, "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}}
    ]
    world.run(60, cpu="95m")
    assert (world.acts, world.condition("ActionPermitted")) == ([], ("False", "AutoscalerPresent"))
    world.autoscalers = []
    world.run(60)
    assert (len(world.acts), proposal(world)["state"]) == (1, "Approved")


@pytest.mark.parametrize("spec", [{"action": "notify"}, {"dryRun": True}])
def test_what_changes_nothing_needs_no_approval(spec: dict[str, Any]) -> None:
    world = proposing(**spec)
    assert "proposal" not in world.status
    assert world.status["lastAction"]["result"] in ("Succeeded", "DryRun")


def test_the_fallback_of_a_diagnosis_is_the_rules_choice_and_needs_no_approval_unless_asked() -> None:
    block = {"fallbackAction": "scale", "allowedActions": ["scale"]}
    assert len(World(action="diagnose", diagnose=block).run(cpu="95m").acts) == 1
    world = World(action="diagnose", diagnose=block, policy={"approval": "Always"}).run(cpu="95m")
    assert (world.acts, proposal(world)["parameters"]) == ([], "scale web 3 -> 4")


def test_the_way_back_is_proposed_as_well() -> None:
    world = proposing(scale={"returnAfterSeconds": 60})
    approve(world).run(3)
    world.settle().run(60, cpu="20m").run(400)
    assert proposal(world)["parameters"] == "scale web 4 -> 3"
    approve(world).run(3)
    assert world.replicas == 3
