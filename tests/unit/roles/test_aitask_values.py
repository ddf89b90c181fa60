"""Quantities, times and durations, and the reading of a Deployment's selector."""

import json
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from aitask_rules.answers import server_words
from aitask_rules.spec import parse_spec
from aitask_rules.target import pod_selectors
from aitask_rules.values import format_time, format_value, go_duration, parse_quantity, parse_time


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("250m", Fraction(1, 4)),
        ("1", Fraction(1)),
        ("0", Fraction(0)),
        (0.5, Fraction(1, 2)),
        ("123456789n", Fraction(123456789, 10**9)),
        ("10u", Fraction(1, 10**5)),
        ("128Mi", Fraction(128 * 2**20)),
        ("1.5Gi", Fraction(3 * 2**29)),
        ("1e3", Fraction(1000)),
        ("12E", Fraction(12 * 10**18)),
        ("", None),
        ("NaN", None),
        ("Inf", None),
        ("1 Gi", None),
        (None, None),
    ],
)
def test_reads_quantities_exactly_and_takes_nothing_else_for_one(text: object, value: Fraction | None) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize(("value", "text"), [(Fraction(93), "93"), (Fraction(241, 3), "80.333"), (Fraction(0), "0")])
def test_shows_at_most_three_decimals(value: Fraction, text: str) -> None:
    assert format_value(value) == text


def test_times_are_read_in_any_zone_and_written_in_utc() -> None:
    assert format_time(parse_time("2026-01-31T12:00:00+02:00") or datetime.max) == "2026-01-31T10:00:00Z"
    assert parse_time("2026-01-31T10:00:00.5Z") == datetime(2026, 1, 31, 10, 0, 0, 500000, tzinfo=UTC)
    assert parse_time("yesterday") is None
    assert parse_time(None) is None


@pytest.mark.parametrize(("seconds", "text"), [(60.0, "60s"), (54.2, "55s"), (0.6, "600ms"), (2, "2s")])
def test_durations_are_in_the_form_of_go(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text


def test_selectors_of_a_deployment_become_those_of_a_list() -> None:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "app", "operator": "Exists"},
        {"key": "zone", "operator": "NotIn", "values": ["x"]},
    ]
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": expressions}
    assert pod_selectors({"spec": {"selector": selector}}) == [
        "app=web",
        "tier in (a,b)",
        "!old",
        "app",
        "zone notin (x)",
    ]


def test_the_time_scale_of_tests_shortens_every_duration() -> None:
    raw = {"targetDeployment": "web", "threshold": 1, "action": "scale-up", "scale": {"returnAfterSeconds": 60}}
    spec = parse_spec(raw, 0.1)
    durations = (spec.interval, spec.cooldown, spec.window, spec.max_sample_age, spec.scale.return_after)
    assert durations == pytest.approx((6, 30, 30, 18, 6))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('Failed to apply object: {"kind":"Status","message":"no such field","code":500}\n', "no such field"),
        ("Failed to patch object: gateway timeout", "Failed to patch object: gateway timeout"),
        ('a {"kind":"Other","message":"x"}', 'a {"kind":"Other","message":"x"}'),
        ("cut off {", "cut off {"),
        ('{"kind":"Status"}', '{"kind":"Status"}'),
    ],
)
def test_the_servers_words_are_taken_out_of_their_status(said: str, words: str) -> None:
    assert server_words(said) == words


def test_the_servers_words_repeat_no_value() -> None:
    """A pod template may hold literal passwords."""
    status = {"kind": "Status", "message": 'env[0].value: Invalid value: "hunter2": too weak', "code": 422}
    for body in (json.dumps(status), str(json.dumps(status).encode())):
        assert server_words(f"Failed to apply object: {body}") == "env[0].value: Invalid value: …: too weak"
    assert "hunter2" not in server_words('x is invalid: Unsupported value: "hunter2": no')
