"""What Ansible prints is shown only as far as no_log and the run's secrets allow, in its order, and within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator.model.events import Event
from ansible_operator.model.redaction import Redactor
from ansible_operator.reconcile.output import MAX_TEXT, NO_LOG, SafeOutput, plain


def event(name: str, stdout: str = "", task: str = "t1", **data: Any) -> Event:
    return {"event": name, "stdout": stdout, "event_data": {"task": "Task", "task_uuid": task, **data}}


OK = {"changed": False, "_ansible_no_log": False}
CENSORED = {"censored": "the output has been hidden"}
START = event("playbook_on_task_start", "TASK [Task]")
BEGUN = event("runner_on_start")
VERBOSE = event("verbose", "<localhost> EXEC echo hunter2")


def shown(*events: Event, redactor: Redactor | None = None) -> list[str]:
    output = SafeOutput(redactor or Redactor())
    return [each.text for event in events for each in output.after(event) if each.text]


def test_what_is_printed_before_a_result_comes_with_it_in_order() -> None:
    events = (START, BEGUN, VERBOSE, event("runner_on_ok", "ok: [localhost]", res=OK))
    assert shown(*events) == ["TASK [Task]", "<localhost> EXEC echo hunter2", "ok: [localhost]"]


@pytest.mark.parametrize(
    "name", ["runner_on_ok", "runner_on_failed", "runner_on_unreachable", "runner_retry", "runner_item_on_ok"]
)
def test_and_is_hidden_with_it(name: str) -> None:
    events = (START, BEGUN, VERBOSE, event(name, "[ERROR]: hunter2", res=CENSORED))
    assert shown(*events) == ["TASK [Task]", NO_LOG]


def test_after_one_hidden_item_nothing_more_is_shown_of_the_task() -> None:
    item = event("runner_item_on_failed", "failed: hunter2", res=CENSORED)
    assert shown(START, VERBOSE, item, VERBOSE, item, event("runner_on_failed", "...ignoring", res=CENSORED)) == [
        "TASK [Task]",
        NO_LOG,
        NO_LOG,
        NO_LOG,
    ]


def test_not_even_if_a_later_item_is_not_hidden() -> None:
    hidden, open_item = event("runner_item_on_ok", "x", res=CENSORED), event("runner_item_on_ok", "ok: item", res=OK)
    assert shown(hidden, VERBOSE, open_item) == [NO_LOG, "ok: item"]


@pytest.mark.parametrize(
    "later",
    [event("playbook_on_task_start", "TASK [Next]", task="t2"), {"event": "playbook_on_stats", "stdout": "PLAY RECAP"}],
    ids=["task", "recap"],
)
def test_without_a_result_it_is_never_shown(later: Event) -> None:
    assert shown(START, VERBOSE, later) == ["TASK [Task]", later["stdout"]]


def test_a_task_that_is_skipped_has_no_result_and_nothing_to_hide() -> None:
    assert shown(START, VERBOSE, event("runner_on_skipped", "skipping"))[1:] == [
        "<localhost> EXEC echo hunter2",
        "skipping",
    ]


def test_what_belongs_to_no_task_is_shown_at_once() -> None:
    assert shown({"event": "verbose", "stdout": "Using ansible.cfg"}) == ["Using ansible.cfg"]


def test_a_later_task_is_not_hidden_by_an_earlier_one() -> None:
    other = event("verbose", "EXEC true", task="t2")
    events = (VERBOSE, event("runner_on_ok", "x", res=CENSORED), other, event("runner_on_ok", "ok", task="t2", res=OK))
    assert shown(*events) == [NO_LOG, "EXEC true", "ok"]


def test_secrets_are_hidden_also_where_they_were_learnt_after_they_were_printed() -> None:
    redactor = Redactor()
    output = SafeOutput(redactor)
    output.after(VERBOSE)
    redactor.add("hunter2")
    texts = [each.text for each in output.after(event("runner_on_ok", "ok => hunter2", res=OK))]
    assert texts == ["<localhost> EXEC echo ***", "ok => ***"]


def test_colours_and_the_breaks_of_a_terminal_go() -> None:
    assert plain("\r\n\x1b[0;31mfatal:\x1b[0m\r\n\x1b[1;30mno\x1b[0m\r\n") == "fatal:\nno"
    assert shown(event("runner_on_ok", "\x1b[0;32mhun\x1b[0mter2", res=OK), redactor=_knowing("hunter2")) == ["***"]


def _knowing(secret: str) -> Redactor:
    redactor = Redactor()
    redactor.add(secret)
    return redactor


def test_what_is_shown_and_what_waits_is_bounded() -> None:
    (long,) = shown(event("runner_on_ok", "word " * MAX_TEXT, res=OK))
    assert len(long) < MAX_TEXT + 100
    assert long.endswith("more characters)")
    waiting = [event("verbose", f"{n} " + "x" * 1000) for n in range(100)]
    texts = shown(*waiting, event("runner_on_ok", "ok", res=OK))
    assert texts[-2].startswith("99 ")
    assert len(texts) <= MAX_TEXT // 1000
    assert shown(*[event("verbose")] * 10_000, event("runner_on_ok", "ok", res=OK)) == ["ok"]


@pytest.mark.parametrize(
    "odd",
    [{}, {"event": "verbose"}, {"event_data": None}, {"event": "x", "stdout": None, "event_data": {"res": []}}],
    ids=repr,
)
def test_no_event_is_too_strange(odd: Event) -> None:
    assert shown(odd) == []
