"""Notices to a webhook: when they are sent, what they hold, and what is said of their delivery."""

from typing import Any

import pytest

from tests.unit.roles.aitask_simulation import START, World, stamp

FILE = "providers: {webhook: {ops: {url: 'https://hook', secretRef: {key: k}, allowedNamespaces: [ns]}}}"


def world(**spec: Any) -> World:
    made = World(**{"action": "notify", "notify": {"webhookRef": "ops"}, **spec})
    made.configuration = FILE
    return made


def test_the_beginning_and_the_end_of_a_breach_are_told_once_each() -> None:
    found = world().run(cpu="93m").run(60).run(60, cpu="20m").run(60)
    assert [notice["status"] for notice in found.notices] == ["Breached", "Cleared"]
    assert [event["reason"] for event in found.events] == ["ThresholdBreached"] * 2 + ["ThresholdCleared"] * 2
    assert found.notices[0]["id"] == found.notices[1]["id"] == found.status["lastAction"]["id"]
    assert "webhook ops told" in found.status["lastAction"]["message"]


def test_a_notice_is_what_the_documentation_says() -> None:
    found = world().run(cpu="93m")
    assert found.notices == [
        {
            "version": "aiops.example.com/notice/v1",
            "id": found.status["lastAction"]["id"],
            "status": "Breached",
            "time": stamp(START),
            "task": {"namespace": "ns", "name": "t", "uid": "task-uid"},
            "target": {"kind": "Deployment", "name": "web", "uid": "web-uid"},
            "metric": {"type": "CPUUtilization", "value": "93", "comparison": "GreaterThan", "threshold": 80},
            "message": "cpu 93% > 80% (1/1 samples, 3 pods) on web",
        }
    ]


@pytest.mark.parametrize(
    ("delivery", "words"),
    [
        ({"status": 503, "body": "hidden"}, "not told: it answers 503"),
        ({"status": 307, "body": ""}, "it answers 307 (a redirect is not followed)"),
        ({"status": 0, "error": "no answer within 5 s"}, "not told: no answer within 5 s"),
        ({"skipped": True}, "its credential cannot be read: Secret aitask-operator-providers, key k"),
        ({"msg": "MODULE\nFAILURE"}, "MODULE FAILURE"),
    ],
)
def test_a_failed_delivery_is_said_and_fails_nothing(delivery: dict[str, Any], words: str) -> None:
    found = world()
    found.delivery = delivery
    found.run(cpu="93m")
    assert words in found.status["lastAction"]["message"]
    assert words in found.status["history"][0]["message"]
    assert found.status["lastAction"]["result"] == "Succeeded"
    assert found.condition("Ready") == ("True", "Evaluated")
    assert "hidden" not in str(found.status)
    found.run(60, cpu="20m")
    assert words in found.events[-1]["message"]


@pytest.mark.parametrize("text", [None, FILE.replace("[ns]", "[]"), FILE.replace("ops", "other"), "providers: 1"])
def test_a_webhook_that_is_not_there_leaves_the_events(text: str | None) -> None:
    found = world()
    found.configuration, found.delivery = text, {"skipped": True}
    found.run(cpu="93m")
    assert [event["reason"] for event in found.events] == ["ThresholdBreached"] * 2
    assert "Events only" in found.status["lastAction"]["message"]


def test_a_crash_after_the_delivery_makes_it_come_again() -> None:
    found = world()
    found.crash_after = "act"
    found.run(cpu="93m")
    found.crash_after = None
    found.run(10)
    assert [notice["status"] for notice in found.notices] == ["Breached", "Breached"]
    assert found.status["lastAction"]["result"] == "Succeeded"


def test_a_dry_run_and_a_task_without_a_webhook_send_nothing() -> None:
    for spec in ({"dryRun": True}, {"notify": {}}, {"action": "scale-up"}):
        found = world(**spec).run(cpu="93m").settle().run(400, cpu="20m")
        assert found.notices == []
        assert "webhook" not in str(found.status)
