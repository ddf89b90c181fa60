"""What is gathered of a run: nothing secret in any of it, whatever the events hold and at whatever level."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from ansible_operator.model.events import Event, Outcome, RunEnd
from ansible_operator.model.redaction import Redactor
from ansible_operator.reconcile import collector as collector_module
from ansible_operator.reconcile.collector import Collector, FailedTask, Phases
from ansible_operator.reconcile.event_log import EventLog, shows_output
from ansible_operator.telemetry.logs import get_logger

PASSWORD = "Tr0ub4dor & 3"
SECRET = {"apiVersion": "v1", "kind": "Secret", "data": {"password": base64.b64encode(PASSWORD.encode()).decode()}}


def event(name: str, stdout: str = "", **data: Any) -> Event:
    return {"event": name, "stdout": stdout, "event_data": data}


def read_secret() -> Event:
    return event("runner_on_ok", task="Read", task_uuid="t0", res={"resources": [SECRET]})


def collect(*events: Event, level: str = "nothing", raw: bool = False, keep_output: bool = False) -> Collector:
    redactor = Redactor()
    log = EventLog(get_logger("run"), level, redactor, raw=raw)
    collector = Collector(log, redactor, Phases(), keep_output=keep_output)
    for each in events:
        collector(each)
    return collector


BAD = RunEnd(2)


def verdict(collector: Collector, end: RunEnd = BAD) -> Outcome:
    return collector.outcome(end, 600)


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["msg", "reason", "exception"])
def test_the_message_of_a_failure_holds_no_secret_that_the_run_has_seen(reason: str) -> None:
    failed = event("runner_on_failed", task="Connect", res={reason: f"\x1b[31mno {PASSWORD}\x1b[0m https://a:b@c"})
    assert verdict(collect(read_secret(), failed, event("playbook_on_stats"))).message == "no *** https://a:***@c"


def test_a_message_is_cut_only_after_its_secrets_are_hidden() -> None:
    secret = "".join(chr(97 + n % 26) for n in range(5000))  # so long that a cut would leave two halves of it
    known = {"kind": "Secret", "stringData": {"x": secret}}
    failed = event("runner_on_failed", res={"msg": f"a {secret} b"})
    assert verdict(collect(event("runner_on_ok", res={"resources": [known]}), failed)).message == "a *** b"


def test_a_secret_that_the_failing_task_itself_shows_is_hidden_too() -> None:
    failed = event(
        "runner_on_failed", res={"msg": f"bad {PASSWORD}", "invocation": {"module_args": {"definition": SECRET}}}
    )
    assert verdict(collect(failed)).message == "bad ***"


def test_the_end_of_the_output_is_looked_at_as_well() -> None:
    tail = f"\x1b[31mERROR! {PASSWORD}\r\nbearer abcdefghijklmnop\x1b[0m"
    assert verdict(collect(read_secret()), RunEnd(4, tail)).message == "ERROR! ***\nbearer *** (exit code 4)"


def test_the_first_line_of_a_tail_that_is_cut_is_left_out() -> None:
    tail = PASSWORD[4:] + "x" * 100 + "\n" + "y" * (16 * 1024 - 115) + "\nlast"
    message = verdict(collect(read_secret()), RunEnd(4, tail)).message
    assert PASSWORD[4:] not in message
    assert message.endswith("last (exit code 4)")


@pytest.mark.parametrize(
    ("events", "task"),
    [
        ([], None),
        ([event("runner_on_failed", task="A", task_path="/r/a.yml:3", res={})], FailedTask("A", "/r/a.yml:3")),
        ([event("runner_on_unreachable", task="A", res={})], FailedTask("A", "")),
        ([event("runner_on_failed", task="A", ignore_errors=True, res={})], None),
        ([event("runner_item_on_failed", task="A", res={})], None),
        ([event("runner_on_failed", task=name, res={}) for name in ("A", "B")], FailedTask("B", "")),
        ([read_secret(), event("runner_on_failed", task=f"With {PASSWORD}", res={})], FailedTask("With ***", "")),
    ],
    ids=str,
)
def test_the_failing_task_is_the_last_that_counts(events: list[Event], task: FailedTask | None) -> None:
    assert collect(*events).failed_task == task


# --- the rest --------------------------------------------------------------------------------------------------------


def test_the_recap_has_the_words_of_ansible() -> None:
    stats = event(
        "playbook_on_stats", ok={"localhost": 3, "db": 1}, dark={"db": 1}, ignored={"localhost": 2}, failures=None
    )
    none = dict.fromkeys(("ok", "changed", "unreachable", "failed", "skipped", "rescued", "ignored"), 0)
    assert collect(stats).recap == {
        "db": {**none, "ok": 1, "unreachable": 1},
        "localhost": {**none, "ok": 3, "ignored": 2},
    }


def test_the_phases_of_a_run_are_told_apart() -> None:
    times = iter([10.0, 12.0, 15.0, 22.0])
    phases = Phases(lambda: next(times))
    phases.begun()
    phases.event()
    phases.event()
    assert phases.ended() == {"queue": 2.0, "start": 3.0, "play": 7.0}


def test_a_run_that_never_began_has_only_waited() -> None:
    times = iter([10.0, 12.0])
    assert Phases(lambda: next(times)).ended() == {"queue": 2.0, "start": 0.0, "play": 0.0}


def test_output_is_kept_where_it_is_asked_for_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector_module, "MAX_OUTPUT", 25)
    lines = [event("runner_on_ok", f"line {n} {PASSWORD}", res={"x": 1}) for n in range(10)]
    assert collect(*lines).output == ""
    assert collect(read_secret(), *lines, keep_output=True).output == "line 8 ***\nline 9 ***"


@pytest.mark.parametrize(
    ("annotation", "verbosity", "wanted"),
    [
        ("1", "", True),
        ("4", "0", True),
        ("0", "", False),
        ("-1", "", False),
        ("x", "", False),
        ("x", "2", True),
        (None, "", False),
    ],
)
def test_who_asks_for_verbosity_gets_what_is_printed(annotation: str | None, verbosity: str, wanted: bool) -> None:
    annotations = {} if annotation is None else {"ansible.sdk.operatorframework.io/verbosity": annotation}
    assert shows_output({"metadata": {"annotations": annotations}}, verbosity) is wanted


# --- any events ------------------------------------------------------------------------------------------------------

# Neither in our own words nor in those of the marks that are put in place.
secrets = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+ \"'\\/\n&=", min_size=8, max_size=40).filter(
    lambda text: len(text.strip()) >= 8 and len(set(text)) > 3
)
names = st.sampled_from(
    [
        "runner_on_ok",
        "runner_on_failed",
        "runner_item_on_ok",
        "runner_item_on_failed",
        "runner_on_unreachable",
        "runner_retry",
        "verbose",
        "runner_on_skipped",
        "playbook_on_task_start",
    ]
)


def shapes(secret: str) -> list[Any]:
    encoded = base64.b64encode(secret.encode()).decode()
    return [
        secret,
        encoded,
        {"a": [secret]},
        [{secret: 1}],
        f"x {secret} y",
        json.dumps({"p": secret}),
        f"{encoded}\n{secret}",
    ]


@st.composite
def runs(draw: st.DrawFn) -> tuple[str, list[Event]]:
    secret = draw(secrets)
    known = {"kind": "Secret", "apiVersion": "v1", "data": {"key": base64.b64encode(secret.encode()).decode()}}
    something = st.sampled_from(shapes(secret))
    events = [event("runner_on_ok", task="Read", task_uuid="t", res={"resources": [known]})]
    for name in draw(st.lists(names, max_size=6)):
        result = draw(
            st.fixed_dictionaries(
                {"changed": st.booleans()},
                optional={
                    "msg": something,
                    "item": something,
                    "_ansible_item_label": something,
                    "stdout": something,
                    "exception": something,
                },
            )
        )
        action = draw(st.sampled_from(["debug", "command", "kubernetes.core.k8s"]))
        events.append(
            event(
                name, str(draw(something)), task=f"Do {draw(something)}", task_uuid="t", task_action=action, res=result
            )
        )
    return secret, events


@pytest.mark.parametrize(
    ("level", "raw"), [("nothing", False), ("tasks", False), ("tasks", True), ("everything", False)]
)
@given(runs())
def test_no_secret_is_left_in_anything_that_is_told(level: str, raw: bool, run: tuple[str, list[Event]]) -> None:
    secret, events = run
    with capture_logs() as lines:
        collector = collect(*events, level=level, raw=raw, keep_output=True)
    outcome = verdict(collector, RunEnd(2, f"fatal: {secret}"))
    told = [outcome.message, collector.output, str(collector.failed_task), *_texts([dict(line) for line in lines])]
    forms = {secret.strip(), base64.b64encode(secret.encode()).decode()}
    assert [text for text in told for form in forms if form in text] == []


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (str(key), *_texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [str(value)]
