"""The Event of a failed run: about whom, what it says, and when two are the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.model.failure_event import MAX_NOTE, failure_event, name_of, namespace_of, note

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
OBJECT = {
    "apiVersion": "example.com/v1",
    "kind": "Web",
    "metadata": {"name": "web", "namespace": "a", "uid": "uid-1", "resourceVersion": "7"},
}
CLUSTER_SCOPED = {"kind": "Planet", "metadata": {"name": "system:earth", "uid": "uid-2"}}


def test_an_event_is_about_its_object() -> None:
    assert failure_event(OBJECT, "web.1", "no such thing", NOW) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.1", "namespace": "a"},
        "involvedObject": {
            "apiVersion": "example.com/v1",
            "kind": "Web",
            "namespace": "a",
            "name": "web",
            "uid": "uid-1",
            "resourceVersion": "7",
        },
        "type": "Warning",
        "reason": "ReconcileFailed",
        "message": "no such thing",
        "source": {"component": "ansible-operator"},
        "reportingComponent": "ansible-operator",
        "firstTimestamp": "2026-01-31T12:00:00Z",
        "lastTimestamp": "2026-01-31T12:00:00Z",
        "count": 1,
    }


def test_an_object_without_a_namespace_has_its_events_where_the_api_server_wants_them() -> None:
    event = failure_event(CLUSTER_SCOPED, "x", "m", NOW)
    assert (event["metadata"]["namespace"], event["involvedObject"]["namespace"]) == ("default", "")
    assert (namespace_of(CLUSTER_SCOPED), namespace_of(OBJECT)) == ("default", "a")


def test_one_object_and_one_failing_task_are_one_event() -> None:
    remade = {**OBJECT, "metadata": {**OBJECT["metadata"], "uid": "uid-9"}}  # type: ignore[dict-item]
    names = [name_of(OBJECT, "A"), name_of(OBJECT, "B"), name_of(remade, "A"), name_of(CLUSTER_SCOPED, "A")]
    assert len(set(names)) == 4
    assert name_of(dict(OBJECT), "A") == names[0]
    assert names[0].startswith("web.")
    assert names[3].startswith("planet.")


@given(st.text(max_size=300), st.text())
def test_its_name_is_one_that_the_api_server_takes(name: str, task: str) -> None:
    made = name_of({"kind": "Web", "metadata": {"name": name, "uid": "u"}}, task)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", made)
    assert len(made) <= 253


@pytest.mark.parametrize(
    ("message", "task", "path", "said"),
    [
        ("no", "Connect", "/r/main.yml:3", "task 'Connect' (/r/main.yml:3) failed: no"),
        ("no", "Connect", "", "task 'Connect' failed: no"),
        ("[ERROR]: no such role", "", "", "[ERROR]: no such role"),
        (
            "task 'Hide' failed; the output has been hidden",
            "Hide",
            "/r",
            "task 'Hide' failed; the output has been hidden",
        ),
    ],
)
def test_it_says_which_task_failed_and_why(message: str, task: str, path: str, said: str) -> None:
    assert note(message, task, path) == said


def test_it_says_no_more_than_fits() -> None:
    assert len(note("x" * 5000, "y" * 2000, "/z")) <= MAX_NOTE
