"""What is logged of a run, and what never is (contract 4.9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from ansible_operator.model.events import Event
from ansible_operator.reconcile.event_log import EventLog
from ansible_operator.telemetry.logs import get_logger

RECORDED = Path(__file__).parents[2] / "contract/events"


def logged(level: str, *events: Event) -> list[dict[str, Any]]:
    with capture_logs() as lines:
        log = EventLog(get_logger("run").bind(job="7"), level)
        for event in events:
            log(event)
    assert all(line.pop("job") == "7" for line in lines)
    return [dict(line) for line in lines]


def recorded(name: str) -> list[Event]:
    events: list[Event] = json.loads((RECORDED / f"{name}.json").read_text())["events"]
    return events


def event(name: str, /, **data: Any) -> Event:
    return {"event": name, "event_data": data, "stdout": f"text of {name}"}


def test_at_level_tasks_a_run_reads_as_a_story() -> None:
    assert logged("tasks", *recorded("succeeds")) == [
        {"event": "debug", "log_level": "info", "task": "Speak", "output": "hello"},
    ]
    assert logged("tasks", *recorded("fails")) == [
        {"event": "task started", "log_level": "info", "task": "Fail"},
        {
            "event": "task failed",
            "log_level": "error",
            "task": "Fail",
            "path": None,
            "error": "no such thing",
            "ignored": False,
        },
    ]


def test_a_failure_that_is_ignored_is_no_error() -> None:
    (_, line) = logged("tasks", *recorded("ignored"))
    assert (line["log_level"], line["ignored"]) == ("info", True)


def test_an_unreachable_host_is_one() -> None:
    assert logged("tasks", *recorded("unreachable"))[-1]["event"] == "host unreachable"
    assert logged("tasks", *recorded("unreachable"))[-1]["log_level"] == "error"


@pytest.mark.parametrize("action", ["set_fact", "ansible.builtin.set_fact", "debug", "ansible.builtin.debug"])
def test_the_start_of_a_mere_fact_or_word_is_not_told(action: str) -> None:
    assert logged("tasks", event("playbook_on_task_start", task="x", task_action=action)) == []


def test_a_task_without_a_name_is_told_by_its_action() -> None:
    (line,) = logged("tasks", event("playbook_on_task_start", task="", task_action="kubernetes.core.k8s"))
    assert line["task"] == "kubernetes.core.k8s"


@pytest.mark.parametrize("name", ["succeeds", "fails", "load_error", "no_log"])
def test_at_level_nothing_nothing_is_logged(name: str) -> None:
    assert logged("nothing", *recorded(name)) == []


def test_at_level_everything_each_event_is_logged_with_what_it_printed() -> None:
    lines = logged("everything", event("playbook_on_start"), event("runner_on_ok", task="x", res={"secret": "hunter2"}))
    assert lines == [
        {"event": "event", "log_level": "info", "ansible_event": name, "task": task, "stdout": f"text of {name}"}
        for name, task in (("playbook_on_start", None), ("runner_on_ok", "x"))
    ]


@pytest.mark.parametrize("name", ["no_log", "no_log_loop"])
def test_what_no_log_hides_is_not_logged(name: str) -> None:
    lines = logged("tasks", *recorded(name))
    assert "the output has been hidden" in json.dumps(lines)
    assert "hunter2" not in json.dumps(lines)


@pytest.mark.parametrize(
    "result",
    [{"_ansible_no_log": True, "msg": "hunter2"}, {"censored": "hidden", "msg": "hunter2"}],
    ids=["mark", "text"],
)
def test_nor_is_a_debug_with_no_log(result: dict[str, Any]) -> None:
    (line,) = logged("tasks", event("runner_on_ok", task="x", task_action="debug", res=result))
    assert line["output"] == "hidden by no_log"


@pytest.mark.parametrize("level", ["tasks", "everything"])
def test_the_arguments_of_a_task_are_never_logged(level: str) -> None:
    started = event("playbook_on_task_start", task="Make", task_action="k8s", task_args="password=hunter2")
    failed = event(
        "runner_on_failed", task="Make", task_args="password=hunter2", res={"msg": "no", "invocation": "hunter2"}
    )
    assert "hunter2" not in json.dumps(logged(level, started, failed))


@pytest.mark.parametrize("odd", [{}, {"event": "x"}, {"event": "runner_on_failed", "event_data": None}], ids=repr)
@pytest.mark.parametrize("level", ["nothing", "tasks", "everything"])
def test_no_event_is_too_strange(level: str, odd: Event) -> None:
    logged(level, odd)


def test_what_a_task_with_no_log_prints_is_not_logged_either() -> None:
    failed = {
        "event": "runner_on_failed",
        "event_data": {"task": "Hide", "res": {"censored": "hidden"}},
        "stdout": "[ERROR]: Task failed: Action failed: hunter2",
    }
    assert "hunter2" not in json.dumps(logged("everything", failed))
