"""What the runtime makes of what Ansible reports: recorded runs (events/record.py), contract 4.5 "Event facts"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.model.events import Outcome, Progress, RunEnd, Stats, outcome_of

RECORDED = Path(__file__).parent / "events"


def progress_of(name: str) -> tuple[Progress, dict[str, Any]]:
    recorded = json.loads((RECORDED / f"{name}.json").read_text())
    progress = Progress()
    for event in recorded["events"]:
        progress = progress.after(event)
    return progress, recorded


def outcome(name: str) -> Outcome:
    progress, recorded = progress_of(name)
    return outcome_of(progress, RunEnd(recorded["exit_code"], recorded["output"]), run_timeout=600)


def test_a_good_run() -> None:
    assert outcome("succeeds") == Outcome(True, "", Stats(ok=2), None, loaded=True)


@pytest.mark.parametrize("name", ["rescued", "ignored", "skipped", "no_hosts"])
def test_a_success_is(name: str) -> None:
    assert outcome(name).succeeded
    assert outcome(name).message == ""


@pytest.mark.parametrize(
    ("name", "stats"),
    [
        ("rescued", Stats(ok=1, rescued=1)),
        ("ignored", Stats(ok=1)),
        ("skipped", Stats(skipped=1)),
        ("no_hosts", Stats()),
        ("fails", Stats(failures=1)),
        ("unreachable", Stats(unreachable=1)),
    ],
)
def test_the_counts_are_those_of_the_recap(name: str, stats: Stats) -> None:
    assert outcome(name).stats == stats


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fails", "no such thing"),
        ("loop", "One or more items failed"),
        ("unreachable", "host unreachable: Task failed: Failed to connect to the host via ssh"),
        ("missing_include", "Could not find or access '<directory>/project/no_such_file.yml'"),
        ("requeue_badly", "time is '1d'; write a duration"),
        ("load_error", "couldn't resolve module/action 'no_such_ns.x.module'"),
    ],
)
def test_a_failure_says_why(name: str, message: str) -> None:
    assert not outcome(name).succeeded
    assert message in outcome(name).message


def test_a_load_error_leaves_no_recap_and_shows_the_error_without_colours_and_with_the_exit_code() -> None:
    verdict = outcome("load_error")
    assert not verdict.loaded
    assert verdict.message.startswith("[ERROR]: couldn't resolve module/action")
    assert verdict.message.endswith("(exit code 4)")
    assert "\x1b" not in verdict.message


def test_a_play_that_failed_was_loaded() -> None:
    assert outcome("fails").loaded


@pytest.mark.parametrize("name", ["no_log", "no_log_loop"])
def test_a_task_with_no_log_is_named_and_its_text_hidden(name: str) -> None:
    assert outcome(name).message.startswith("task 'Hide' failed; the output has been hidden")
    assert "hunter2" not in outcome(name).message


@pytest.mark.parametrize("name", ["no_log", "no_log_loop"])
def test_the_output_stays_hidden_when_the_process_dies_after_such_a_task_was_rescued(name: str) -> None:
    """ansible-core 2.19 prints the text of such a failure on standard output all the same."""
    progress, recorded = progress_of(name)
    assert "hunter2" in recorded["output"]
    forgiven = Progress(hides_output=progress.hides_output)
    verdict = outcome_of(forgiven, RunEnd(137, recorded["output"]), run_timeout=600)
    assert "hunter2" not in verdict.message
    assert verdict.message.endswith("a task with no_log has failed (exit code 137)")


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("requeue", 7),
        ("requeue_twice", 7),
        ("requeue_loop", 7),
        ("requeue_skipped", None),
        ("requeue_then_fails", None),
        ("requeue_badly", None),
        ("succeeds", None),
    ],
)
def test_the_first_request_of_a_good_run_counts(name: str, seconds: float | None) -> None:
    assert outcome(name).requeue_after == seconds


def test_a_play_goes_on_after_its_request() -> None:
    assert outcome("requeue").stats == Stats(ok=2)
