"""What each level tells of which event (contract 4.9): items, variables, retries, and what Ansible prints instead."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from ansible_operator.model.events import Event
from ansible_operator.reconcile.event_log import EventLog
from ansible_operator.telemetry.logs import get_logger


def event(name: str, action: str = "command", **data: Any) -> Event:
    common = {"task": "Do it", "task_uuid": "t1", "task_action": action}
    return {"event": name, "stdout": f"\x1b[0;32mtext of {name}\x1b[0m\r\n", "event_data": {**common, **data}}


def logged(level: str, *events: Event, raw: bool = False) -> list[dict[str, Any]]:
    with capture_logs() as lines:
        log = EventLog(get_logger("run"), level, raw=raw)
        for each in events:
            log(each)
    return [{key: value for key, value in line.items() if key != "log_level"} for line in lines]


@pytest.mark.parametrize(
    ("result", "item"),
    [
        ({"item": "a", "changed": True}, "a"),
        ({"item": {"name": "a", "password": "b"}}, {"name": "a", "password": "***"}),
        ({"item": {"name": "a"}, "_ansible_item_label": "the label"}, "the label"),
        ({"item": "a", "censored": "hidden"}, "hidden by no_log"),
    ],
    ids=str,
)
def test_an_item_is_told_by_its_label(result: dict[str, Any], item: Any) -> None:
    (line,) = logged("tasks", event("runner_item_on_ok", res=result))
    assert line == {"event": "item ok", "task": "Do it", "item": item, "changed": bool(result.get("changed"))}


def test_an_item_that_fails_says_why() -> None:
    (line,) = logged("tasks", event("runner_item_on_failed", res={"item": "a", "msg": "no such thing"}))
    assert line == {"event": "item failed", "task": "Do it", "item": "a", "error": "no such thing"}


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ({"msg": "hello", "changed": False}, "hello"),
        ({"msg": {"a": [1, 2]}}, {"a": [1, 2]}),
        ({"some.var": 5, "changed": False, "failed": False, "_ansible_verbose_always": True}, {"some.var": 5}),
        ({"msg": None}, None),
    ],
    ids=str,
)
def test_debug_shows_its_message_or_its_variable(result: dict[str, Any], output: Any) -> None:
    (line,) = logged("tasks", event("runner_on_ok", "debug", res=result))
    assert line == {"event": "debug", "task": "Do it", "output": output}


def test_debug_in_a_loop_shows_each_item_once() -> None:
    items = [event("runner_item_on_ok", "debug", res={"item": n, "msg": f"it is {n}"}) for n in (1, 2)]
    whole = event("runner_on_ok", "debug", res={"results": [{"msg": "it is 1"}], "msg": "All items completed"})
    assert [(line["item"], line["output"]) for line in logged("tasks", *items, whole)] == [
        (1, "it is 1"),
        (2, "it is 2"),
    ]


@pytest.mark.parametrize("name", ["runner_on_ok", "runner_on_skipped", "runner_on_start", "runner_retry", "verbose"])
def test_nothing_else_is_told_at_level_tasks(name: str) -> None:
    assert logged("tasks", event(name, res={"msg": "x", "item": 1})) == []


def test_with_verbosity_what_each_task_prints_is_told_instead() -> None:
    events = [
        {"event": "playbook_on_start", "stdout": "PLAYBOOK"},
        event("playbook_on_task_start"),
        event("runner_on_start"),
        event("verbose"),
        event("runner_on_ok", res={"changed": False}),
        {"event": "playbook_on_stats", "stdout": "PLAY RECAP"},
    ]
    lines = logged("tasks", *events, raw=True)
    names = ("playbook_on_task_start", "runner_on_start", "verbose", "runner_on_ok")
    assert lines == [{"event": "output", "task": "Do it", "stdout": f"text of {name}"} for name in names]


def test_but_not_at_level_nothing() -> None:
    assert logged("nothing", event("runner_on_ok", res={"changed": False}), raw=True) == []


def test_at_level_everything_all_events_are_told_in_their_order() -> None:
    names = ["playbook_on_task_start", "runner_on_start", "verbose", "verbose", "runner_on_ok", "runner_on_skipped"]
    lines = logged("everything", *(event(name, res={"changed": False}) for name in names))
    assert [(line["ansible_event"], line["stdout"]) for line in lines] == [(name, f"text of {name}") for name in names]
    assert all(line["task"] == "Do it" for line in lines)
