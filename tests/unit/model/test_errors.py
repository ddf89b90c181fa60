"""Errors say what happened by their class, and all of it in their text."""

from __future__ import annotations

import pytest

from ansible_operator.model import errors
from ansible_operator.model.errors import ApiError, ConfigError, Fault


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (0, errors.Unavailable),
        (400, ApiError),
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (410, errors.Gone),
        (422, errors.Invalid),
        (429, errors.TooManyRequests),
        (500, errors.Unavailable),
        (503, errors.Unavailable),
    ],
)
def test_the_status_chooses_the_class(status: int, kind: type[ApiError]) -> None:
    assert type(ApiError.of(status, "Reason", "text")) is kind


def test_an_api_error_reads_as_one_line() -> None:
    assert str(ApiError.of(404, "NotFound", "no such thing", 2.0)) == "404 NotFound: no such thing"
    assert str(ApiError.of(0, "NoAnswer", "no answer")) == "no answer"


def test_the_faults_of_a_file_are_listed_by_line_with_place_and_cure() -> None:
    error = ConfigError(
        "watches.yaml", [Fault(9, "[1].kind", "is missing", "add it"), Fault(2, "[0].role", "bad", "mend")]
    )
    assert str(error).splitlines() == [
        "watches.yaml: 2 faults",
        "  line 2: [0].role: bad; mend",
        "  line 9: [1].kind: is missing; add it",
    ]
    assert str(ConfigError("w", [Fault(1, "a", "b", "c")])).startswith("w: 1 fault\n")
