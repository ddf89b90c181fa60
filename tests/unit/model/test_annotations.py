"""Annotations that change how one object is run (contract 4.5)."""

from __future__ import annotations

import pytest

from ansible_operator.model.annotations import (
    MAX_RUNNER_ARTIFACTS,
    RECONCILE_PERIOD,
    VERBOSITY,
    RunOptions,
    run_options,
)

DEFAULTS = RunOptions(reconcile_period=36000.0, max_runner_artifacts=20, verbosity=2)


def options(annotations: dict[str, str] | None) -> tuple[RunOptions, list[str]]:
    return run_options({"metadata": {"name": "a", "annotations": annotations}}, DEFAULTS)


def test_the_names_are_those_of_the_go_operator() -> None:
    assert RECONCILE_PERIOD == "ansible.sdk.operatorframework.io/reconcile-period"
    assert MAX_RUNNER_ARTIFACTS == "ansible.sdk.operatorframework.io/max-runner-artifacts"
    assert VERBOSITY == "ansible.sdk.operatorframework.io/verbosity"


@pytest.mark.parametrize("annotations", [None, {}, {"other": "5"}], ids=["null", "none", "foreign"])
def test_without_annotations_the_defaults_hold(annotations: dict[str, str] | None) -> None:
    assert options(annotations) == (DEFAULTS, [])


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        (RECONCILE_PERIOD, "5m", "reconcile_period", 300),
        (RECONCILE_PERIOD, "0s", "reconcile_period", 0),
        (RECONCILE_PERIOD, "-5s", "reconcile_period", 0),
        (MAX_RUNNER_ARTIFACTS, "3", "max_runner_artifacts", 3),
        (MAX_RUNNER_ARTIFACTS, "0", "max_runner_artifacts", 0),
        (MAX_RUNNER_ARTIFACTS, "-1", "max_runner_artifacts", 0),
        (VERBOSITY, "4", "verbosity", 4),
        (VERBOSITY, "+4", "verbosity", 4),
        (VERBOSITY, "0", "verbosity", 0),
        (VERBOSITY, "-3", "verbosity", 0),
    ],
)
def test_an_annotation_beats_the_default(name: str, text: str, field: str, value: float) -> None:
    assert getattr(options({name: text})[0], field) == value


@pytest.mark.parametrize("name", [MAX_RUNNER_ARTIFACTS, VERBOSITY])
@pytest.mark.parametrize("text", ["", "many", "1.5", "1_0", " 3", "٣"], ids=repr)
def test_a_bad_number_is_complained_about_and_the_default_used(name: str, text: str) -> None:
    found, complaints = options({name: text})
    assert found == DEFAULTS
    assert len(complaints) == 1
    assert name in complaints[0]
    assert repr(text) in complaints[0]


@pytest.mark.parametrize("text", ["", "1d", "soon", "5"], ids=repr)
def test_a_bad_period_forbids_the_run(text: str) -> None:
    with pytest.raises(ValueError, match=r"reconcile-period: .* is not a duration"):
        options({RECONCILE_PERIOD: text})


def test_nobody_can_ask_for_a_command_line_without_end() -> None:
    assert options({VERBOSITY: "100000000"})[0].verbosity == 7
