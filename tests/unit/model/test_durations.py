"""Go durations: what ``time.ParseDuration`` takes and what it refuses (contract 4.2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.model.durations import format_duration, parse_duration

TAKEN = {
    "0": 0,
    "+0": 0,
    "-0": 0,
    "0s": 0,
    "5s": 5,
    "+5s": 5,
    "-5s": -5,
    "24h": 86400,
    "1.5h": 5400,
    "1h30m": 5400,
    "1h0m0s": 3600,
    "30m1h": 5400,
    "1m1m": 120,
    ".5s": 0.5,
    "1.s": 1,
    "300ms": 0.3,
    "10us": 1e-5,
    "10µs": 1e-5,
    "10μs": 1e-5,
    "7ns": 7e-9,
    "0.000001h": 0.0036,
    "2562047h": 2562047 * 3600,
}
REFUSED = [
    "",
    "1d",
    "1w",
    "5",
    "00",
    "0.0",
    " 5s",
    "5s ",
    "5 s",
    "1h 30m",
    "5S",
    "1H",
    "s",
    ".",
    ".s",
    "+",
    "-",
    "--5s",
    "+-5s",
    "1h-30m",
    "1e3s",
    "1_0s",
    "0x5s",
    "1,5s",
    "1..5s",
    "٣s",  # digits, but not Go's
    "3s\n",
    "ten minutes",
    "2562048h",  # more than Go's int64 of nanoseconds holds
    "9" * 400 + "s",
]


@pytest.mark.parametrize(("text", "seconds"), TAKEN.items(), ids=TAKEN)
def test_go_takes(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text)[:20])
def test_go_refuses_and_so_do_we_with_a_cure(text: str) -> None:
    with pytest.raises(ValueError, match="write numbers with units"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0001, "0s"),
        (0.3, "300ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (10, "10s"),
        (60, "1m0s"),
        (90, "1m30s"),
        (3600, "1h0m0s"),
        (3661.25, "1h1m1.25s"),
        (36000, "10h0m0s"),
        (59.9999, "1m0s"),
        (-90, "-1m30s"),
    ],
)
def test_it_is_printed_as_go_prints_it(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(-(10**12), 10**12))
def test_what_is_printed_is_read_back(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000, abs=5e-4)


@given(st.text() | st.text("0123456789.hmsnu+- "))
def test_any_text_is_a_number_or_a_complaint(text: str) -> None:
    try:
        assert isinstance(parse_duration(text), float)
    except ValueError as error:
        assert repr(text) in str(error)
