"""Action diagnose against a simulated cluster: when a model is asked, and what its answer may bring about.

What an answer must look like is for tests/unit/roles/diagnosis; here are good ones, and the ways not to get one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from aitask_rules.values import parse_time

from tests.unit.roles.aitask_simulation import World, deployment

CAUSE = "memory runs out"
PROVIDERS = {"providers": {"llm": {"default": {"url": "http://m.svc/v1", "model": "m", "allowedNamespaces": ["ns"]}}}}


def configured(**settings: Any) -> dict[str, Any]:
    return {"resources": [{"data": {"config.yaml": json.dumps({**PROVIDERS, **settings})}}]}


def answer(action: str = "restart", tokens: int = 700, **parameters: Any) -> dict[str, Any]:
    """As the module gives it."""
    decision = {"rootCause": CAUSE, "action": action, "confidencePercent": 90, "evidence": ["e1"]}
    message = {"role": "assistant", "content": json.dumps({**decision, "parameters": parameters})}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"total_tokens": tokens}}
    sent = {"tries": 1, "elapsed": 1.5, "held": "", "until": "", "late": False, "cut": False}
    return {**sent, "status": 200, "media": "application/json", "body": json.dumps(body), "error": ""}


def patient(*allowed: str, fallback: str = "notify", **spec: Any) -> World:
    """A task that may do this on the advice of a model, a provider, and a model that says restart."""
    diagnose = {"allowedActions": list(allowed), "fallbackAction": fallback, **spec.pop("diagnose", {})}
    world = World(action="diagnose", diagnose=diagnose, **spec)
    world.settings, world.model = configured(), answer()
    return world


def freely(**policy: Any) -> dict[str, Any]:
    return {"approval": "Never", **policy}


def metrics(world: World) -> dict[str, Any]:
    """The values of the counters of the last pass, by name."""
    return {found["name"]: found.get("counter", {}).get("add") for found in world.plan["metrics"]}


# --- what the model chooses ---


def test_what_the_spec_gives_no_amounts_for_is_not_offered() -> None:
    """A task of 0.1.0 is as valid as it was, and does its fallback."""
    world = patient("restart", "patchResources", policy=freely())
    world.model = answer("patchResources")
    world.run(cpu="95m")
    assert world.condition("DiagnosisSucceeded") == ("False", "ActionNotAllowed")
    asked = json.loads(world.questions[0]["messages"][1]["content"])
    assert asked["allowedActions"] == ["none", "restart"]


def test_what_the_model_chooses_is_done_and_counted() -> None:
    world = patient("restart", policy=freely()).run(cpu="95m")
    assert len(world.acts) == 1
    assert (world.status["lastAction"]["type"], world.status["lastAction"]["decidedBy"]) == ("restart", "model")
    assert world.condition("DiagnosisSucceeded") == ("True", "Diagnosed")
    found = world.status["diagnosis"]
    assert (found["rootCause"], found["suggestedAction"], found["source"]) == (CAUSE, "restart", "model")
    assert world.status["usage"] == {"day": "2026-01-31", "tokens": 700, "calls": 1, "consecutiveFailures": 0}
    assert (metrics(world)["aitask_llm_calls_total"], metrics(world)["aitask_llm_tokens_total"]) == (1, 700)
    assert {event["reason"] for event in world.events} == {"Diagnosed", "Restarted"}


def test_a_restart_that_waits_for_a_person_is_not_asked_about_again() -> None:
    """Whatever the evidence says by then; and what is approved is done as it was proposed."""
    world = patient("restart").run(cpu="95m")
    assert world.condition("ActionPermitted") == ("False", "AwaitingApproval")
    world.told = [event("OOMKilling")]
    world.model = answer("notify")
    world.run(60, cpu="99m").run(60)
    assert (len(world.questions), world.acts) == (1, [])
    world.annotate(approve=world.status["proposal"]["id"])
    world.run(1)
    assert (len(world.acts), world.status["proposal"]["state"]) == (1, "Approved")
    assert (world.status["lastAction"]["decidedBy"], len(world.questions)) == ("model", 1)


def test_a_fallback_that_changes_something_needs_no_approval_of_the_kind_for_models() -> None:
    world = patient("restart", fallback="restart")
    world.model = {"status": 503, "tries": 1, "media": "application/json", "body": "{}"}
    world.run(cpu="95m")
    assert (len(world.acts), world.status["lastAction"]["decidedBy"]) == (1, "fallback")
    assert world.condition("DiagnosisSucceeded") == ("False", "ProviderUnreachable")
    assert world.status["usage"]["consecutiveFailures"] == 1


def test_a_model_that_advises_nothing_is_heard() -> None:
    world = patient("restart", fallback="restart", policy=freely())
    world.model = answer("none")
    world.run(cpu="95m")
    assert (world.acts, world.condition("ActionPermitted")) == ([], ("False", "NothingAdvised"))
    world.run(60).run(60)
    assert len(world.questions) == 1, "nothing changed"


def test_a_notification_tells_the_cause_once_and_nobody_is_asked_again() -> None:
    world = patient("notify")
    world.model = answer("notify")
    world.run(cpu="95m")
    told = [event["message"] for event in world.events if event["reason"] == "ThresholdBreached"]
    assert len(told) == 2
    assert all(f"a model takes this for the cause: {CAUSE}" in text for text in told)
    world.told = [event("OOMKilling")]
    world.run(60).run(60)
    assert (len(world.questions), len(world.events)) == (1, 3)


def test_in_a_rollout_that_is_stuck_only_a_rollback_may_be_chosen() -> None:
    world = patient("restart", "rollback", policy=freely(), metric={"type": "UnavailableReplicas"}, threshold=0)
    assert world.deployment is not None
    progress = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    counts = {"observedGeneration": 1, "replicas": 4, "updatedReplicas": 1, "availableReplicas": 2}
    world.deployment["status"] = {**counts, "conditions": [progress]}
    world.run()
    assert (world.acts, world.condition("ActionPermitted")) == ([], ("False", "RolloutInProgress"))
    assert len(world.questions) == 1
    assert patient("restart", metric={"type": "UnavailableReplicas"}, threshold=0).run().questions == []


@pytest.mark.parametrize("approval", ["Never", "Always"])
def test_a_long_name_behind_a_pseudonym_does_not_make_the_status_too_long(approval: str) -> None:
    """The pseudonym of an image in the place of a container: it fits, and the image does not."""
    image = f"registry.example.com/{'team/' * 12}web:1.2.3"
    world = patient("restart", fallback="none", policy={"approval": approval})
    assert world.deployment is not None
    world.deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image
    world.is_slow = True
    world.run(cpu="95m")
    [hidden] = set(re.findall(r"image-[0-9a-f]{6,}", json.dumps(world.questions)))
    world.model = answer(container=hidden)
    for _ in range(3):
        world.run(60)
        assert (world.acts, world.condition("DiagnosisSucceeded")) == ([], ("False", "UnknownContainer"))
    assert (len(world.questions), world.status["usage"]["calls"]) == (1, 1)


# --- when nobody is asked ---


def test_the_way_back_after_a_breach_is_no_matter_of_a_model() -> None:
    """Nothing is wrong any more, and nobody has to approve what the author of the task wrote."""
    world = patient("restart", fallback="scale", scale={"minReplicas": 3, "returnAfterSeconds": 60})
    world.model = {"held": "Busy", "status": 0, "tries": 0}
    world.run(cpu="95m").run(40).run(60).settle()
    assert world.replicas == 4
    world.model = answer("restart")
    for _ in range(8):
        world.run(60, cpu="20m").settle()
    assert (world.questions, world.replicas, len(world.acts)) == ([], 3, 2)
    done = world.status["lastAction"]
    assert (done["type"], done["reason"], done["decidedBy"]) == ("scale", "Return", "rule")


def test_nobody_is_asked_while_a_gate_holds() -> None:
    world = patient("restart", policy=freely(cooldownSeconds=600)).run(cpu="95m").settle()
    for _ in range(3):
        world.run(60)
    assert world.condition("ActionPermitted") == ("False", "Cooldown")
    assert len(world.questions) == 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"mode": "Off"}, "OperatorOff"), ({"excludedNamespaces": ["ns"]}, "NamespaceExcluded")],
)
def test_nobody_is_asked_where_nothing_may_be_done(settings: dict[str, Any], reason: str) -> None:
    world = patient("restart")
    world.settings = configured(**settings)
    world.run(cpu="95m")
    assert (world.questions, world.condition("ActionPermitted")) == ([], ("False", reason))


@pytest.mark.parametrize("allowed", ["restart", "notify"])
def test_without_the_guard_no_evidence_leaves(allowed: str) -> None:
    """Whoever writes the task may not be allowed to read what the model would be told."""
    world = patient(allowed, fallback="notify", policy=freely(), diagnose={"includeLogs": True})
    world.guard = False
    world.run(cpu="95m").run(60)
    assert (world.questions, world.letter, world.acts) == ([], None, [])
    assert world.condition("DiagnosisSucceeded") == ("False", "GuardAbsent")
    assert "config/guard" in world.message("DiagnosisSucceeded")
    assert world.status["lastAction"]["decidedBy"] == "fallback"
    world.guard = True
    world.run(60, cpu="20m").run(600, cpu="95m")
    assert len(world.questions) == 1
    for settings, required in [(configured(requireGuard=False), True), (configured(), False)]:
        world = patient(allowed)
        world.guard, world.settings, world.require_guard = False, settings, required
        assert len(world.run(cpu="95m").questions) == 1


def test_an_operator_that_only_observes_asks_and_tells() -> None:
    world = patient("restart", policy=freely())
    world.settings = configured(mode="Observe")
    world.run(cpu="95m")
    assert (len(world.questions), world.acts) == (1, [])
    assert world.condition("DiagnosisSucceeded") == ("True", "Diagnosed")
    assert world.condition("ActionPermitted") == ("False", "ObserveMode")


def test_a_provider_that_is_closed_to_the_namespace_costs_no_reads() -> None:
    world = patient("restart", fallback="restart")
    world.task["metadata"]["namespace"] = "elsewhere"
    world.cpu = "95m"
    reads: dict[str, Any] = {}
    plan = world._read(world._task(), reads)
    assert (plan["next"], "events" in reads, world.questions) == ("act", False, [])


def test_the_same_evidence_is_not_asked_about_again_and_other_evidence_is() -> None:
    world = patient("restart", policy=freely(cooldownSeconds=30, maxIneffectiveActions=5))
    world.model = answer("none")
    world.run(cpu="95m").run(60, cpu="95m").run(60, cpu="95m")
    assert len(world.questions) == 1
    world.told = [event("OOMKilling")]
    world.run(60)
    assert len(world.questions) == 2


def test_an_answer_that_cannot_be_used_stands_and_no_answer_is_asked_for_again() -> None:
    world = patient("restart", fallback="none")
    world.model = answer("scale")
    world.run(cpu="95m").run(60)
    assert (len(world.questions), world.condition("DiagnosisSucceeded")) == (1, ("False", "ActionNotAllowed"))
    world = patient("restart", fallback="none")
    world.model = {"status": 0, "late": True, "tries": 1, "error": "no answer within 30 s"}
    world.run(cpu="95m").run(60)
    assert (len(world.questions), world.condition("DiagnosisSucceeded")) == (2, ("False", "Timeout"))
    assert sum(event["reason"] == "DiagnosisFailed" for event in world.events) == 1


def test_an_answer_that_was_cut_off_is_asked_for_again_with_more_room() -> None:
    world = patient("restart", fallback="none")
    whole = world.model
    world.model = {**whole, "body": whole["body"].replace('"stop"', '"length"')}
    world.run(cpu="95m").run(60)
    assert (len(world.questions), world.condition("DiagnosisSucceeded")) == (1, ("False", "Truncated"))
    world.model = whole
    world.edit(diagnose={**world.task["spec"]["diagnose"], "maxOutputTokens": 2000})
    world.run(5)
    assert [asked["max_tokens"] for asked in world.questions] == [800, 2000]
    assert world.condition("DiagnosisSucceeded") == ("True", "Diagnosed")


def test_a_budget_that_is_used_up_ends_in_the_fallback_until_the_next_day() -> None:
    world = patient("restart", fallback="none", diagnose={"dailyTokenBudget": 2500})
    world.model = answer("scale", tokens=2000)
    world.run(cpu="95m")
    world.told = [event("OOMKilling")]
    world.run(60)
    assert (len(world.questions), world.condition("DiagnosisSucceeded")) == (1, ("False", "BudgetExhausted"))
    writes = world.writes
    world.run(60, cpu="95m").run(60, cpu="95m")
    assert world.writes <= writes + 2, "told once"
    world.run(15 * 3600)
    assert (len(world.questions), world.status["usage"]["tokens"]) == (2, 2000)


def test_without_its_credential_nothing_is_sent() -> None:
    world = patient("restart", fallback="none")
    world.model = {"unsent": True}
    world.run(cpu="95m")
    assert world.condition("DiagnosisSucceeded") == ("False", "Unauthorized")
    assert "usage" not in world.status


# --- what happens meanwhile ---


def test_who_waits_for_a_turn_says_so_and_asks_again_until_the_answer_would_be_late() -> None:
    world = patient("restart", fallback="restart", diagnose={"timeoutSeconds": 12})
    world.model = {"status": 0, "tries": 0, "held": "Busy", "until": ""}
    world.run(cpu="95m")
    assert (world.condition("ActionPermitted"), world.plan["requeue"]) == (("False", "DiagnosisPending"), "5s")
    since = world.status["diagnosis"]["waitingSince"]
    world.run(5).run(5)
    assert (world.status["diagnosis"]["waitingSince"], world.acts) == (since, [])
    world.run(5)
    assert (len(world.acts), world.condition("DiagnosisSucceeded")) == (1, ("False", "Busy"))


def test_an_answer_is_waited_for_without_reading_or_writing_anything() -> None:
    world = patient("restart", policy=freely())
    world.hangs = True
    world.run(cpu="95m")
    assert (world.condition("ActionPermitted"), world.plan["requeue"]) == (("False", "DiagnosisPending"), "2s")
    assert world.condition("DiagnosisSucceeded") == ("Unknown", "Pending")
    done = (world.writes, world.observations)
    for use in range(80, 105):
        world.run(2, cpu=f"{use}m")
        assert world.plan["status"] == {}
    assert ((world.writes, world.observations), world.acts) == (done, [])
    world.run(10, cpu="93m")
    assert (world.observations, world.status["observedValue"]) == (2, "93"), "the next evaluation was due"
    world.hangs = False
    world.run(2)
    assert (len(world.questions), len(world.acts), world.status["lastAction"]["decidedBy"]) == (1, 1, "model")
    assert "DiagnosisPending" not in [entry["reason"] for entry in world.status["history"]], "it pushes out the acts"


def test_an_answer_that_takes_long_is_looked_for_less_often() -> None:
    world = patient("restart", diagnose={"timeoutSeconds": 300})
    world.hangs = True
    world.run(cpu="95m")
    waits = []
    while sum(waits) < 290:
        waits.append(float(world.plan["requeue"].removesuffix("s")))
        world.run(waits[-1])
    assert (waits[0], max(waits)) == (2, 10)
    assert len(waits) < 60
    assert all(wait <= max(2, sum(waits[:number]) / 9) for number, wait in enumerate(waits))


def test_who_waits_long_for_a_turn_asks_for_it_less_often_and_in_time() -> None:
    world = patient("restart", fallback="restart", diagnose={"timeoutSeconds": 300})
    world.model = busy()
    world.run(cpu="95m")
    waits = []
    while not world.acts:
        waits.append(float(world.plan["requeue"].removesuffix("s")))
        world.run(waits[-1])
    assert waits[:4] == [5, 5, 10, 20]
    assert (sum(waits), max(waits)) == (300, 30)


@pytest.mark.parametrize("ends", ["with an answer", "without one"])
def test_on_a_target_of_its_own_that_an_autoscaler_keeps_the_answer_is_heard(ends: str) -> None:
    """`spec.replicas` is not applied there, so each pass looks after the target before it comes to the act."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "shop:1"}]}}
    world = patient("restart", "notify", policy=freely(), template=template, metric={"type": "UnavailableReplicas"})
    world.deployment = None
    world.edit(threshold=0, replicas=4)
    goal = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}
    world.autoscalers = [{"metadata": {"name": "by-load"}, "spec": goal}]
    world.run().settle().run(60)
    assert world.condition("TemplateApplied") == ("False", "AutoscalerPresent")
    assert world.deployment is not None
    world.deployment["status"]["availableReplicas"] = 0
    world.hangs = True
    world.run(60)
    assert world.condition("DiagnosisSucceeded") == ("Unknown", "Pending")
    world.hangs = False
    if ends == "without one":
        world.model = {"status": 503, "tries": 1}
    world.run(60)
    expected = ("True", "Diagnosed") if ends == "with an answer" else ("False", "ProviderUnreachable")
    assert world.condition("DiagnosisSucceeded") == expected
    assert world.status["lastAction"]["result"] == "Succeeded"


@pytest.mark.parametrize("allowed", ["restart", "notify"])
def test_a_younger_task_on_the_target_waits_for_the_choice_of_the_older_one(allowed: str) -> None:
    """Else it would act meanwhile, and what was asked be paid for nothing. One that may only tell holds nobody."""
    older, younger = patient(allowed), World(action="restart")
    older.hangs = True
    older.run(cpu="95m")
    assert older.condition("ActionPermitted") == ("False", "DiagnosisPending")
    meta = {**older.task["metadata"], "name": "older", "uid": "older-uid", "creationTimestamp": "2026-01-30T00:00:00Z"}
    younger.others = [{**older.task, "metadata": meta}]
    younger.run(cpu="95m")
    assert len(younger.acts) == (0 if allowed == "restart" else 1)
    if allowed == "restart":
        assert younger.condition("ActionPermitted") == ("False", "TargetConflict")


def test_what_changes_while_an_answer_is_awaited_counts() -> None:
    """The switch, and what the spec allows."""
    world = patient("restart", policy=freely())
    world.is_slow = True
    world.run(cpu="95m")
    world.settings = configured(mode="Off")
    assert world.run(2).condition("ActionPermitted") == ("False", "OperatorOff")
    world.settings = configured()
    world.edit(diagnose={"allowedActions": ["notify"], "fallbackAction": "none"})
    world.run(2)
    assert (world.acts, world.condition("DiagnosisSucceeded")) == ([], ("False", "ActionNotAllowed"))
    assert world.status["usage"]["calls"] == 1


def test_an_answer_to_a_breach_long_ago_is_paid_for_and_asked_for_anew() -> None:
    world = patient("restart", policy=freely())
    world.is_slow = True
    world.run(cpu="95m").run(60, cpu="20m")
    world.run(3600, cpu="95m")
    assert (world.acts, world.status["usage"]["calls"], len(world.questions)) == ([], 1, 1)
    world.run(2).run(2)
    assert (len(world.acts), world.status["usage"]["calls"], len(world.questions)) == (1, 2, 2)


def test_an_answer_outlives_a_ledger_that_another_task_has_just_written() -> None:
    world = patient("restart", policy=freely())
    world.ledger.before_write = lambda: setattr(world.ledger, "version", world.ledger.version + 1)
    world.run(cpu="95m")
    assert (world.acts, world.status["usage"]["calls"], world.status["diagnosis"]["reason"]) == ([], 1, "Diagnosed")
    world.ledger.before_write = None
    world.run(3)
    assert (len(world.questions), len(world.acts)) == (1, 1)


def test_a_question_that_was_lost_is_asked_again() -> None:
    """The pod was killed while it was under way."""
    world = patient("restart", policy=freely())
    world.is_slow = True
    world.run(cpu="95m")
    world.letter, world.is_slow = None, False
    world.run(2)
    assert (len(world.questions), len(world.acts)) == (2, 1)


def busy() -> dict[str, Any]:
    return {"status": 0, "tries": 0, "held": "Busy", "until": ""}


def heal(world: World) -> None:
    world.run(60, cpu="20m")


def let_another_act(world: World) -> None:
    world.edit(action="notify")
    world.run(5)
    world.edit(action="diagnose")


def pause(world: World) -> None:
    world.edit(suspend=True)
    world.run(5)
    world.edit(suspend=False)


def switch_off(world: World) -> None:
    assert world.deployment is not None
    world.deployment = deployment(0)
    world.run(60)
    world.deployment = deployment(3)


@pytest.mark.parametrize("end", [heal, let_another_act, pause, switch_off])
@pytest.mark.parametrize("waits_for", ["Busy", "Pending"])
def test_the_wait_of_an_earlier_breach_does_not_count(end: Callable[[World], None], waits_for: str) -> None:
    """Else the fallback would be done at once, and the question be sent for nothing."""
    world = patient("restart", fallback="restart", policy=freely())
    if waits_for == "Busy":
        world.model = busy()
    else:
        world.hangs = True
    world.run(cpu="95m")
    assert world.status["diagnosis"]["reason"] == waits_for
    end(world)
    assert world.condition("DiagnosisSucceeded") == ("Unknown", "NotBreached")
    assert "aitask_diagnoses_total" not in metrics(world), "nothing was diagnosed"
    world.letter = None  # whoever waited for it died meanwhile
    world.run(3600, cpu="95m").run(2)
    assert (world.acts, world.condition("ActionPermitted")) == ([], ("False", "DiagnosisPending"))
    assert parse_time(world.status["diagnosis"]["waitingSince"]) == world.now - timedelta(seconds=2)


def test_an_edit_while_an_answer_is_awaited_begins_the_wait_anew() -> None:
    world = patient("restart")
    world.hangs = True
    world.run(cpu="95m")
    world.edit(threshold=70)
    world.run(2)
    assert (world.condition("DiagnosisSucceeded"), len(world.questions)) == (("Unknown", "Pending"), 1)
    assert parse_time(world.status["diagnosis"]["waitingSince"]) == world.now


def test_after_the_fallback_a_turn_is_waited_for_anew() -> None:
    world = patient("restart", fallback="restart", diagnose={"timeoutSeconds": 12}, policy=freely(cooldownSeconds=60))
    world.model = busy()
    world.run(cpu="95m").run(5).run(10).settle()
    assert len(world.acts) == 1
    world.run(70, cpu="95m").settle().run(5)
    assert (len(world.acts), world.condition("ActionPermitted")) == (1, ("False", "DiagnosisPending"))


def test_a_question_that_is_lost_again_and_again_ends_in_the_fallback_and_is_not_sent_for_it() -> None:
    world = patient("restart", fallback="none", diagnose={"timeoutSeconds": 10})
    world.is_slow = True
    world.run(cpu="95m")
    for _ in range(7):
        world.letter = None
        world.run(10)
    sent = len(world.questions)
    world.letter = None
    world.run(10)
    assert world.condition("DiagnosisSucceeded") == ("False", "Timeout")
    assert (world.condition("ActionPermitted"), len(world.questions)) == (("False", "DiagnosisFailed"), sent)


def test_logs_are_sent_only_where_they_are_asked_for() -> None:
    line = "worker 7 cannot reach the queue"
    for asked in (True, False):
        world = patient("restart", diagnose={"includeLogs": asked})
        world.log = {"log": f"{line}\n"}
        world.run(cpu="95m")
        assert (line in json.dumps(world.questions)) is asked


def event(reason: str) -> dict[str, Any]:
    """What the kubelet or a controller tells of the target."""
    about = {"kind": "Deployment", "name": "web", "uid": "web-uid"}
    return {"involvedObject": about, "type": "Warning", "reason": reason, "message": "killed", "count": 1}
