"""The fold over events and the verdict, by events made here; recorded ones are in tests/contract."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given

from ansible_operator.model.events import (
    MAX_MESSAGE,
    Event,
    Outcome,
    Progress,
    RunEnd,
    Stats,
    error_tail,
    failure_message,
    outcome_of,
    shorten,
)
from tests.support.properties import json_values


def event(name: str, /, **data: Any) -> Event:
    return {"event": name, "event_data": data}


def stats(**counts: int) -> Event:
    return event("playbook_on_stats", **{name: {"localhost": count} for name, count in counts.items()})


def failed(message: str, **data: Any) -> Event:
    return event("runner_on_failed", res={"msg": message}, ignore_errors=None, **data)


def asked(period: str, name: str = "runner_on_ok", action: str = "operator_sdk.util.requeue_after") -> Event:
    return event(name, task_action=action, res={"period": period})


def progress(*events: Event) -> Progress:
    return reduce(Progress.after, events, Progress())


GOOD_END = RunEnd(0)


def verdict(*events: Event, end: RunEnd = GOOD_END) -> Outcome:
    return outcome_of(progress(*events), end, run_timeout=600)


def test_a_rescued_task_is_a_success() -> None:
    assert verdict(failed("bad"), stats(ok=1, rescued=1)).succeeded


def test_an_ignored_failure_leaves_no_message() -> None:
    ignored = event("runner_on_failed", res={"msg": "bad"}, ignore_errors=True)
    assert progress(ignored).messages == ()


def test_the_failure_of_an_item_is_told_once_with_its_task() -> None:
    items = [event("runner_item_on_failed", res={"msg": f"item {n}"}) for n in range(2)]
    assert progress(*items, failed("One or more items failed")).messages == ("One or more items failed",)


def test_a_failure_on_another_host_is_a_failure() -> None:
    elsewhere = event("playbook_on_stats", ok={"localhost": 3}, failures={"db1": 1})
    assert not verdict(failed("bad"), elsewhere).succeeded
    assert verdict(failed("bad"), elsewhere).stats == Stats(ok=3)


def test_an_unreachable_host_is_a_failure_even_with_exit_code_0() -> None:
    unreachable = event("runner_on_unreachable", res={"msg": "no route"})
    assert verdict(unreachable, stats(dark=1)).message == "host unreachable: no route"
    assert not verdict(unreachable, stats(dark=1)).succeeded


def test_a_process_that_failed_is_a_failure_whatever_the_recap_says() -> None:
    outcome = verdict(stats(ok=5), end=RunEnd(2, "plain words\n"))
    assert not outcome.succeeded
    assert outcome.message == "plain words (exit code 2)"
    assert outcome.loaded


def test_no_recap_is_a_failure_even_with_exit_code_0() -> None:
    outcome = verdict(event("playbook_on_start"))
    assert (outcome.succeeded, outcome.loaded, outcome.stats) == (False, False, Stats())
    assert outcome.message == "unknown playbook failure (exit code 0)"


def test_a_killed_process_without_a_word_still_says_its_exit_code() -> None:
    assert verdict(end=RunEnd(-9)).message == "unknown playbook failure (exit code -9)"


def test_a_run_that_took_too_long_says_so_and_names_the_flag() -> None:
    outcome = verdict(failed("bad"), stats(failures=1), end=RunEnd(-15, "", timed_out=True))
    assert outcome.message == "the run was stopped: it took longer than 600 s (--run-timeout)"
    assert (outcome.succeeded, outcome.loaded) == (False, False)


def test_a_run_that_was_stopped_with_the_operator_says_so() -> None:
    outcome = verdict(end=RunEnd(-15, "", cancelled=True))
    assert not outcome.succeeded
    assert outcome.message == "the run was stopped, since the operator is shutting down"


def test_messages_are_joined_by_lines_and_said_once() -> None:
    assert verdict(failed("a"), failed("b"), failed("a"), stats(failures=3)).message == "a\nb"


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"msg": "m", "reason": "r", "exception": "e"}, "m"),
        ({"msg": " ", "reason": "r", "exception": "e"}, "r"),
        ({"exception": "e"}, "e"),
        ({"exception": "(traceback unavailable)"}, "unknown playbook failure"),
        ({"msg": {"a": 1}}, "{'a': 1}"),
        ({}, "unknown playbook failure"),
        (None, "unknown playbook failure"),
    ],
    ids=str,
)
def test_the_message_of_a_failed_task(result: Any, message: str) -> None:
    assert failure_message({"res": result}) == message


@pytest.mark.parametrize("sign", [{"_ansible_no_log": True}, {"censored": "hidden"}], ids=["mark", "censored"])
def test_what_no_log_hides_stays_hidden(sign: dict[str, Any]) -> None:
    message = failure_message({"task": "Set the password", "res": {"msg": "hunter2", **sign}})
    assert message.startswith("task 'Set the password' failed; the output has been hidden")
    assert "hunter2" not in message


def test_the_output_is_not_shown_once_a_task_with_no_log_has_failed() -> None:
    hidden = event("runner_item_on_failed", res={"censored": "hidden"})
    outcome = verdict(hidden, end=RunEnd(1, "[ERROR]: hunter2"))
    assert "hunter2" not in outcome.message
    assert "(exit code 1)" in outcome.message


def test_a_good_task_with_no_log_hides_no_output() -> None:
    assert not progress(event("runner_on_ok", res={"censored": "hidden"})).hides_output


# --- requeue_after ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["operator_sdk.util.requeue_after", "requeue_after"])
@pytest.mark.parametrize("name", ["runner_on_ok", "runner_item_on_ok"])
def test_a_request_is_known_by_its_action(action: str, name: str) -> None:
    assert verdict(asked("1h30m", name, action), stats(ok=1)).requeue_after == 5400


def test_the_first_request_counts_and_the_play_goes_on() -> None:
    outcome = verdict(asked("7s"), asked("3s"), event("runner_on_ok", task_action="debug", res={}), stats(ok=3))
    assert (outcome.succeeded, outcome.requeue_after) == (True, 7)


@pytest.mark.parametrize(
    "other",
    [
        event("runner_on_skipped", task_action="requeue_after"),
        event("runner_on_ok", task_action="other.collection.requeue_after", res={"period": "7s"}),
        event("runner_on_ok", task_action="requeue_after", res=None),
        event("runner_on_ok", task_action="requeue_after", res={"period": "soon"}),
        event("runner_on_ok", task_action="requeue_after", res={"period": "0s"}),
        event("runner_on_ok", task_action="requeue_after", res={"period": "-7s"}),
        event("runner_on_failed", task_action="requeue_after", res={"period": "7s"}, ignore_errors=True),
    ],
    ids=["skipped", "foreign", "no result", "no duration", "zero", "negative", "failed"],
)
def test_no_request_is(other: Event) -> None:
    assert verdict(other, stats(ok=1)).requeue_after is None


def test_a_run_that_failed_asks_for_nothing() -> None:
    assert verdict(asked("7s"), failed("bad"), stats(failures=1)).requeue_after is None


# --- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("PLAY [x]\n\nERROR! no action\nThe error was here\n", "ERROR! no action\nThe error was here"),
        ("ERROR! the first line", "ERROR! the first line"),
        ("[WARNING]: w\n[ERROR]: no module\nOrigin: x\n", "[ERROR]: no module\nOrigin: x"),
        ("\x1b[0;31m[ERROR]: red\x1b[0m\r\n", "[ERROR]: red"),
        ("\n".join(f"line {n}" for n in range(30)), "\n".join(f"line {n}" for n in range(10, 30))),
        (" \n", "unknown playbook failure"),
    ],
    ids=["old form", "at the start", "new form", "colours", "last lines", "nothing"],
)
def test_the_tail_of_the_output_begins_at_the_error(output: str, message: str) -> None:
    assert error_tail(RunEnd(4, output)) == f"{message} (exit code 4)"


def test_long_texts_are_cut_in_the_middle() -> None:
    text = shorten("a" * 5000 + "z" * 5000)
    assert len(text) <= MAX_MESSAGE
    assert text.startswith("aaa")
    assert text.endswith("zzz")
    assert " ... " in text
    assert shorten("short") == "short"


def test_a_thousand_failures_stay_a_short_message() -> None:
    events = [failed(f"number {n} " * 50) for n in range(1000)]
    assert len(verdict(*events, stats(failures=1)).message) <= MAX_MESSAGE


@given(json_values)
def test_no_result_is_too_strange(result: Any) -> None:
    data = {"res": result} if isinstance(result, dict) else {"res": {"msg": result}}
    assert failure_message(data)
