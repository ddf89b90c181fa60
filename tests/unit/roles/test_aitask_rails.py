"""The rails of the whole operator: what its configuration may say of them, and what a task shows that runs into one."""

import json
from typing import Any

import pytest
import yaml
from aitask_rules import asks_for_labels
from aitask_rules.config import Config, ConfigError, parse_config
from aitask_rules.rails import Rails

from tests.unit.roles.aitask_simulation import World
from tests.unit.roles.test_aitask_approval import proposing
from tests.unit.roles.test_aitask_decisions import rival
from tests.unit.roles.test_aitask_owned import made, template, world


def configured(text: Any) -> dict[str, Any]:
    """The ConfigMap, as the task that reads it finds it."""
    return {"resources": [{"data": {"config.yaml": text if isinstance(text, str) else yaml.safe_dump(text)}}]}


def breached(config: Any = "", **spec: Any) -> World:
    world = World(**spec)
    world.settings = configured(config)
    return world.run(cpu="93m")


def test_the_defaults_are_those_that_the_documentation_gives() -> None:
    rails = parse_config("").rails
    assert (rails.mode, rails.concurrent, rails.hourly, rails.hourly_in_namespace) == ("Active", 3, 30, None)
    assert (rails.storm_percent, rails.storm_tasks, rails.storm_seconds) == (30, 5, 600)
    excluded = [name for name in ("kube-system", "kube-x", "own", "kubernetes", "shop") if rails.excludes(name, "own")]
    assert excluded == ["kube-system", "kube-x", "own"]


def test_everything_said_is_read() -> None:
    text = """
    mode: Observe
    excludedNamespaces: [kube-system, team-*]
    allowedNamespaces: {example.com/aitask: "true"}
    limits: {maxConcurrentActions: 1, maxActionsPerHour: 2, maxActionsPerNamespacePerHour: 3}
    storm: {percent: 4, minTasks: 5, cooldownSeconds: 6}
    """
    rails = Rails("Observe", ("kube-system", "team-*"), {"example.com/aitask": "true"}, 1, 2, 3, 4, 5, 6)
    assert parse_config(text) == Config(rails=rails)
    assert [rails.excludes(name, "own") for name in ("kube-system", "team-a", "own", "kube-x")] == [True, True] + [
        False
    ] * 2


@pytest.mark.parametrize("mode", ["Off", '"Off"', "off", "no", "false"])
def test_off_is_off_though_yaml_takes_it_for_a_boolean(mode: str) -> None:
    assert parse_config(f"mode: {mode}").rails.mode == "Off"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mode: on", "mode must be one of Active, Observe, Off"),
        ("mode: active", "mode must be one of"),
        ("mode: [Off]", "mode must be one of"),
        ("mode:", "mode must be one of"),
        ("limits: 3", "limits must be a mapping"),
        ("limits: {maxConcurrentActions: 0}", "limits.maxConcurrentActions must be a whole number from 1 to 1000"),
        ("limits: {maxActionsPerHour: many}", "limits.maxActionsPerHour must be"),
        ("limits: {maxActionsPerHour: true}", "limits.maxActionsPerHour must be"),
        ("limits: {maxActionsPerNamespacePerHour: 1.5}", "limits.maxActionsPerNamespacePerHour must be"),
        ("limits: {maxActions: 1}", "limits.maxActions is not known; known are maxConcurrentActions"),
        ("storm: {percent: 101}", "storm.percent must be a whole number from 1 to 100"),
        ("storm: {minTasks: -1}", "storm.minTasks must be"),
        ("storm: {cooldownSeconds: 600s}", "storm.cooldownSeconds must be"),
        ("storm: {after: 1}", "storm.after is not known"),
        ("excludedNamespaces: kube-system", "excludedNamespaces must be a list"),
        ("excludedNamespaces: [A]", "excludedNamespaces must be a list"),
        ("allowedNamespaces: [shop]", "allowedNamespaces must be a mapping"),
        ("allowedNamespaces: {team: true}", "allowedNamespaces.team must be a label and its value, a text; put true"),
        ("allowedNamespaces: {'a b': x}", "allowedNamespaces.a b must be a label"),
    ],
)
def test_a_bad_value_names_the_field_and_the_cure_and_nothing_is_changed(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as fault:
        parse_config(text)
    assert words in str(fault.value)
    world = breached(text)
    assert world.condition("ActionPermitted") == ("False", "OperatorOff")
    assert words in world.message("ActionPermitted")
    assert (world.acts, world.ledger.data) == ([], None)
    world.settings = configured("")
    assert len(world.run(60).acts) == 1


@pytest.mark.parametrize("settings", [{"msg": "timed out"}, {"msg": "is forbidden: Forbidden"}])
def test_a_configuration_that_cannot_be_read_lets_nothing_be_changed(settings: dict[str, Any]) -> None:
    world = World()
    world.settings = settings
    world.run(cpu="93m")
    assert world.condition("ActionPermitted") == ("False", "OperatorOff")
    assert world.acts == []


def test_off_does_nothing_at_all_and_goes_on_when_it_is_over() -> None:
    for action in ("scale-up", "notify"):
        world = breached("mode: Off", action=action)
        assert world.condition("ActionPermitted") == ("False", "OperatorOff")
        assert "mode: Off" in world.message("ActionPermitted")
        assert (world.acts, world.events, "lastAction" in world.status) == ([], [], False)
        assert world.condition("ThresholdBreached") == ("True", "Breached")
        world.settings = configured("mode: Active")
        world.run(60)
        assert world.condition("ActionPermitted") == ("True", "Permitted")
        assert world.status["lastAction"]["result"] == "Succeeded"


def test_off_is_also_for_the_notice_that_a_breach_is_over() -> None:
    world = World(action="notify", notify={"webhookRef": "main"})
    world.configuration = yaml.safe_dump(
        {"providers": {"webhook": {"main": {"url": "https://h", "allowedNamespaces": ["*"]}}}}
    )
    world.run(cpu="93m")
    world.configuration = f"mode: Off\n{world.configuration}"
    world.run(60, cpu="20m")
    assert "webhook main not told: the operator is switched off" in world.events[-1]["message"]


@pytest.mark.parametrize("config", ["mode: Off", "excludedNamespaces: [ns]", "allowedNamespaces: {team: shop}"])
@pytest.mark.parametrize("webhook", [{}, {"webhookRef": "main"}])
def test_where_nothing_may_be_told_the_end_of_a_breach_is_not(config: str, webhook: dict[str, str]) -> None:
    """Nor is it told later, and the next breach is news again."""
    world = World(action="notify", notify=webhook).run(cpu="93m")
    told = (len(world.events), len(world.notices))
    world.settings = configured(config)
    world.run(60, cpu="20m").run(60)
    assert (len(world.events), len(world.notices)) == told
    assert world.condition("ThresholdBreached") == ("False", "WithinThreshold")
    assert "told" not in world.status["state"]
    world.settings = configured("")
    assert (len(world.run(60).events), len(world.notices)) == told
    world.run(60, cpu="93m").run(60, cpu="20m")
    reasons = [event["reason"] for event in world.events]
    assert reasons == ["ThresholdBreached"] * 4 + ["ThresholdCleared"] * 2
    assert len(world.notices) == (3 if webhook else 0)


def test_only_the_end_of_a_breach_that_was_told_asks_whether_it_may_be_told() -> None:
    world = World(action="notify").run(cpu="20m")
    world._permit = None  # type: ignore[method-assign, assignment]
    world.run(60).run(60)
    assert world.condition("ActionPermitted") == ("Unknown", "NotBreached")


def test_observe_says_what_would_be_done_and_notifies() -> None:
    world = breached("mode: Observe")
    assert world.condition("ActionPermitted") == ("False", "ObserveMode")
    assert "would scale web 3 -> 4" in world.message("ActionPermitted")
    assert (world.acts, world.ledger.data, "lastAction" in world.status) == ([], None, False)
    assert [(entry["result"], entry["reason"]) for entry in world.status["history"]] == [("Held", "ObserveMode")]
    assert world.run(60).status["history"][0]["reason"] == "ObserveMode"
    assert len(world.status["history"]) == 1
    told = breached("mode: Observe", action="notify")
    assert told.condition("ActionPermitted") == ("True", "Permitted")


def test_nobody_is_asked_to_approve_what_would_not_be_done() -> None:
    world = World(policy={"approval": "Always"})
    world.settings = configured("mode: Observe")
    world.run(cpu="93m")
    assert "proposal" not in world.status
    asked = proposing()
    asked.settings = configured("mode: Off")
    asked.run(60)
    assert asked.condition("ActionPermitted") == ("False", "OperatorOff")


@pytest.mark.parametrize(
    ("config", "labels", "acts"),
    [
        ("excludedNamespaces: [n*]", {}, 0),
        ("excludedNamespaces: [other]", {}, 1),
        ("allowedNamespaces: {team: shop}", {"team": "shop", "more": "x"}, 1),
        ("allowedNamespaces: {team: shop}", {"team": "bank"}, 0),
        ("allowedNamespaces: {team: shop, tier: web}", {"team": "shop"}, 0),
        ("allowedNamespaces: {team: shop}", None, 0),
        ("allowedNamespaces: {}", None, 1),
    ],
)
@pytest.mark.parametrize("action", ["scale-up", "notify"])
def test_only_in_some_namespaces_anything_is_done(config: str, labels: Any, acts: int, action: str) -> None:
    world = World(action=action)
    world.settings, world.namespace_labels = configured(config), labels
    world.run(cpu="93m")
    assert ("lastAction" in world.status) == bool(acts)
    expected = ("True", "Permitted") if acts else ("False", "NamespaceExcluded")
    assert world.condition("ActionPermitted") == expected


def test_the_labels_of_a_namespace_are_read_only_where_they_are_asked_for() -> None:
    assert asks_for_labels(configured("allowedNamespaces: {a: b}")) is True
    for settings in ({}, {"msg": "no"}, configured(""), configured("x: ["), configured("allowedNamespaces: {}")):
        assert asks_for_labels(settings) is False


def test_a_place_is_taken_before_the_intent_is_written_and_a_rehearsal_takes_none() -> None:
    world = breached()
    assert [entry["id"] for entry in world.ledger.acts] == [world.status["lastAction"]["id"]]
    assert breached(dryRun=True).ledger.data is None
    assert breached(action="notify").ledger.data is None


@pytest.mark.parametrize("crash", ["intent", "act"])
def test_after_a_crash_the_same_act_has_its_place_still(crash: str) -> None:
    world = World()
    world.settings = configured("limits: {maxConcurrentActions: 1, maxActionsPerHour: 1}")
    world.crash_after = crash
    world.run(cpu="93m")
    world.crash_after = None
    world.run(3)
    assert (len(world.acts), len(world.ledger.acts)) == (1, 1)
    assert world.status["lastAction"]["result"] == "Succeeded"


def others(world: World, count: int, seconds: int = 60, namespace: str = "shop") -> None:
    """Acts of other tasks are under way."""
    for number in range(count):
        question = {**QUESTION, "act": f"other{number}", "task": f"{namespace}/other", "seconds": seconds}
        assert world._admit(question)["admitted"]


QUESTION = {
    "hour": 3600, "concurrent": 99, "hourly": 99, "hourly_in_namespace": 99, "storm_percent": 100, "storm_tasks": 1,
    "storm_seconds": 600, "check_seconds": 10,
}  # fmt: skip


def test_what_is_held_by_the_limits_says_so_until_it_may_be_done() -> None:
    world = World(intervalSeconds=30)
    others(world, 3)
    world.run(cpu="93m")
    assert world.condition("ActionPermitted") == ("False", "GlobalLimit")
    text = "cpu 93% > 80% (1/1 samples, 3 pods), 3 acts are under way, maxConcurrentActions is 3, not before 10:01:00Z"
    assert world.message("ActionPermitted") == text
    assert world.status["nextActionTime"] == "2026-01-31T10:01:00Z"
    assert [entry["reason"] for entry in world.status["history"]] == ["GlobalLimit"]
    world.run(30)
    assert world.condition("ActionPermitted") == ("False", "GlobalLimit")
    world.run(33)
    assert len(world.acts) == 1


@pytest.mark.parametrize(("hourly", "most"), [(1, 1), (2, 1), (3, 1), (30, 10), (1000, 333)])
def test_one_namespace_has_a_third_of_the_hourly_limit(hourly: int, most: int) -> None:
    assert parse_config(f"limits: {{maxActionsPerHour: {hourly}}}").rails.most_in_namespace == most
    said = f"limits: {{maxActionsPerHour: {hourly}, maxActionsPerNamespacePerHour: {most + 1}}}"
    assert parse_config(said).rails.most_in_namespace == most + 1


def test_one_namespace_cannot_use_up_what_is_there_for_all() -> None:
    config = configured("limits: {maxActionsPerHour: 6, maxConcurrentActions: 9}")
    crowded = World()
    others(crowded, 2, namespace="ns")
    crowded.settings = config
    crowded.run(cpu="93m")
    assert crowded.condition("ActionPermitted") == ("False", "GlobalLimit")
    words = "2 acts in ns in the last hour, maxActionsPerNamespacePerHour is 2, not before 11:01:00Z"
    assert words in crowded.message("ActionPermitted")
    elsewhere = World()
    others(elsewhere, 2)
    elsewhere.settings = config
    assert len(elsewhere.run(cpu="93m").acts) == 1


def test_a_higher_limit_counts_at_once_though_a_later_time_was_said() -> None:
    world = World()
    others(world, 3, seconds=600)
    world.run(cpu="93m")
    assert world.condition("ActionPermitted") == ("False", "GlobalLimit")
    world.settings = configured("limits: {maxConcurrentActions: 9}")
    assert len(world.run(60).acts) == 1


@pytest.mark.parametrize("change", ["healthy", "no data", "rollout", "conflict"])
@pytest.mark.parametrize("cause", ["GlobalLimit", "Storm"])
def test_the_time_of_a_hold_of_all_tasks_is_no_cooldown_of_the_one(cause: str, change: str) -> None:
    """Neither after its own condition has gone, while the time would still lie ahead."""
    world = World()
    if cause == "Storm":
        world.ledger.breached, world.ledger.tasks = {"ns": 3, "shop": 3}, 10
    else:
        world.settings = configured("limits: {maxActionsPerHour: 3}")
        others(world, 3)
    world.run(cpu="93m")
    assert world.condition("ActionPermitted") == ("False", cause)
    assert "nextActionTime" in world.status
    between(world, change)
    assert world.condition("ActionPermitted")[1] != cause
    assert "nextActionTime" not in world.status
    world.settle().others = []
    world.ledger.data, world.ledger.breached = None, {}
    assert len(world.run(60, cpu="93m").acts) == 1


def between(world: World, change: str) -> None:
    """A pass that gives another reason."""
    assert world.deployment is not None
    if change == "rollout":
        world.deployment["status"]["updatedReplicas"] = 0
    if change == "conflict":
        world.others = [rival("older", -60)]
    world.run(60, cpu={"healthy": "20m", "no data": None}.get(change, "93m"))


def test_the_time_of_a_hold_is_shown_as_long_as_it_stands() -> None:
    world = World()
    others(world, 3, seconds=600)
    time = world.run(cpu="93m").status["nextActionTime"]
    world.run(10, cpu="20m")  # nothing is evaluated yet
    assert world.condition("ActionPermitted") == ("False", "GlobalLimit")
    assert world.status["nextActionTime"] == time


def test_a_storm_holds_acts_and_lets_notifications_be_told() -> None:
    world = World()
    world.ledger.breached, world.ledger.tasks = {"ns": 3, "shop": 3}, 10
    world.run(cpu="93m")
    assert world.condition("ActionPermitted") == ("False", "Storm")
    assert "6 of 10 tasks were breached when last counted, not before 10:10:00Z" in world.message("ActionPermitted")
    told = World(action="notify")
    told.ledger = world.ledger
    assert told.run(cpu="93m").condition("ActionPermitted") == ("True", "Permitted")


@pytest.mark.parametrize(
    ("data", "exists", "words"),
    [
        (None, False, "it is not there; bring it back: kubectl -n operator create configmap aitask-ledger"),
        ({"ledger.json": "{"}, True, "patch configmap aitask-ledger --type=merge -p '{\"data\":null}'"),
        ({"ledger.json": json.dumps({"acts": [{}]})}, True, "acts[0] must have id, task and until"),
    ],
)
def test_a_ledger_that_cannot_be_used_holds_with_the_cure_and_heals(data: Any, exists: bool, words: str) -> None:
    world = World()
    world.ledger.data, world.ledger.exists = data, exists
    world.run(cpu="93m")
    assert world.condition("ActionPermitted") == ("False", "GlobalLimit")
    assert words in world.message("ActionPermitted")
    assert world.acts == []
    world.ledger.data, world.ledger.exists = None, True
    assert len(world.run(60).acts) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"msg": "forbidden", "status": 403}, "may not read or write it"),
        ({"msg": "timed out\nat line 5", "status": 500}, "timed out at line 5"),
        ({"msg": "MODULE FAILURE"}, "MODULE FAILURE"),
        ({"rc": 1}, "it gives no answer"),
        ({"admitted": "yes"}, "it gives no answer"),
        ({"admitted": False, "reason": "Nonsense", "until": "soon"}, "it gives no answer"),
    ],
)
def test_no_answer_of_the_ledger_admits_nothing(answer: dict[str, Any], words: str) -> None:
    world = World()
    world._admit = lambda question: answer  # type: ignore[method-assign]
    world.run(cpu="93m")
    assert world.condition("ActionPermitted") == ("False", "GlobalLimit")
    assert words in world.message("ActionPermitted")
    assert world.acts == []


def test_who_came_too_late_at_the_ledger_comes_again_soon_and_writes_nothing() -> None:
    world = World()

    def another() -> None:
        world.ledger.version += 1

    world.ledger.before_write = another
    world.run(cpu="93m")
    assert (world.acts, world.status, world.writes) == ([], {}, 0)
    assert 1 <= int(world.plan["requeue"].removesuffix("ms").removesuffix("s")) <= 5000
    world.ledger.before_write = None
    assert len(world.run(3).acts) == 1


# --- what is counted ---


def counted(world: World) -> list[tuple[str, dict[str, str]]]:
    return [(metric["name"], metric["labels"] or metric["gauge"]) for metric in world.plan["metrics"]]


def test_acts_and_the_beginnings_of_holds_are_counted_and_nothing_else() -> None:
    healthy = World().run(cpu="20m")
    assert counted(healthy) == []
    world = breached()
    acted = ("aitask_actions_total", {"action": "scale", "result": "Succeeded"})
    assert counted(world) == [acted, ("aitask_guard_installed", {"set": 1})]
    world.settle().run(60)
    assert counted(world) == [("aitask_held_total", {"reason": "Cooldown"})]
    assert counted(world.run(60)) == []
    rehearsed = breached(dryRun=True)
    assert counted(rehearsed)[0] == ("aitask_actions_total", {"action": "scale", "result": "DryRun"})


def test_a_guard_that_is_absent_is_told_in_each_pass_that_would_act() -> None:
    world = World()
    world.guard = False
    assert counted(world.run(cpu="93m")) == [
        ("aitask_held_total", {"reason": "GuardAbsent"}),
        ("aitask_guard_installed", {"set": 0}),
    ]
    assert counted(world.run(60)) == [("aitask_guard_installed", {"set": 0})]


def test_a_guard_that_is_absent_is_told_also_where_a_template_would_be_applied() -> None:
    owning = world()
    owning.guard = False
    absent = ("aitask_guard_installed", {"set": 0})
    assert absent in counted(owning.run())
    assert owning.condition("Ready") == ("False", "GuardAbsent")
    assert absent in counted(owning.run(60))


def test_an_act_that_a_crash_hid_is_counted_when_it_is_found() -> None:
    world = World()
    world.crash_after = "act"
    world.run(cpu="93m")
    world.crash_after = None
    assert ("aitask_actions_total", {"action": "scale", "result": "Succeeded"}) in counted(world.run(3))


# --- a Deployment that the task owns ---


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ("mode: Off", "OperatorOff"),
        ("mode: Observe", "ObserveMode"),
        ("excludedNamespaces: [ns]", "NamespaceExcluded"),
        ("limits: 5", "OperatorOff"),
    ],
)
def test_what_a_task_owns_is_neither_made_nor_changed_where_nothing_may_be_done(config: str, reason: str) -> None:
    owning = world()
    owning.settings = configured(config)
    owning.run()
    assert (owning.applied, owning.condition("Ready")) == ([], ("False", reason))
    assert "would apply spec.template, but" in owning.message("Ready")
    owning.settings = configured("")
    owning.run(60)
    owning.settle().settings = configured(config)
    owning.edit(template=template("web:2"))
    owning.run(60)
    assert (len(owning.applied), owning.condition("TemplateApplied")) == (1, ("False", reason))
    owning.settings = configured("")
    assert len(owning.run(60).applied) == 2


def test_a_query_that_has_read_the_configuration_is_no_reason_to_read_nothing_else() -> None:
    """Neither the guard before what is owned is changed, nor the labels before a notification."""
    query = {"type": "Prometheus", "prometheus": {"query": "up"}}
    owning = made(metric=query)
    owning.configuration = "requireGuard: true"
    owning.edit(template=template("web:2"))
    assert len(owning.run(60).applied) == 2
    telling = World(action="notify", metric=query)
    config = {"allowedNamespaces": {"a": "b"}, "providers": {"prometheus": {"default": PROVIDER}}}
    telling.configuration, telling.settings = yaml.safe_dump(config), configured(config)
    telling.namespace_labels = {"a": "b"}
    telling.answer = {"status": 200, "body": ANSWER}
    assert telling.run().condition("ActionPermitted") == ("True", "Permitted")


PROVIDER = {"url": "https://prom:9090", "allowedNamespaces": ["*"]}
ANSWER = json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [1, "93"]}})


def test_what_is_owned_is_made_where_no_guard_is_asked_for() -> None:
    owning = world()
    owning.guard, owning.require_guard = False, False
    assert len(owning.run().applied) == 1
