"""Annotations of a watched object that change how it is run (contract 4.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_operator.model.durations import parse_duration
from ansible_operator.model.gvk import Object

PREFIX = "ansible.sdk.operatorframework.io/"
RECONCILE_PERIOD = PREFIX + "reconcile-period"
MAX_RUNNER_ARTIFACTS = PREFIX + "max-runner-artifacts"
VERBOSITY = PREFIX + "verbosity"

MAX_VERBOSITY = 7
"""Ansible knows no more; whoever may annotate an object must not get to write a command line of any length."""

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")


@dataclass(frozen=True)
class RunOptions:
    """What one object's run uses: seconds between two runs (0: no resync), directories kept (0: all), number of v's."""

    reconcile_period: float
    max_runner_artifacts: int
    verbosity: int


def run_options(obj: Object, defaults: RunOptions) -> tuple[RunOptions, list[str]]:
    """The options of this object and complaints about annotations that were ignored.

    Raises ValueError for a bad period: the run must not happen (contract 4.5), the others are only complained about.
    """
    annotations = obj["metadata"].get("annotations") or {}
    complaints: list[str] = []

    def number(name: str, default: int) -> int:
        text = annotations.get(name)
        if text is None:
            return default
        if _WHOLE_NUMBER.fullmatch(text):
            return int(text)
        complaints.append(f"annotation {name}: {text!r} is not a whole number; {default} is used")
        return default

    period = defaults.reconcile_period
    if RECONCILE_PERIOD in annotations:
        try:
            period = parse_duration(annotations[RECONCILE_PERIOD])
        except ValueError as error:
            raise ValueError(f"annotation {RECONCILE_PERIOD}: {error}") from error
    options = RunOptions(
        reconcile_period=max(0.0, period),
        max_runner_artifacts=max(0, number(MAX_RUNNER_ARTIFACTS, defaults.max_runner_artifacts)),
        verbosity=min(max(0, number(VERBOSITY, defaults.verbosity)), MAX_VERBOSITY),
    )
    return options, complaints
