"""The rails of the whole operator, as its configuration lays them: whether it acts, where, and how much at once.

mode: Active                        # Observe: everything but the act. Off: nothing, and no notification either
excludedNamespaces: [kube-*]        # left out: kube-* and the operator's own
allowedNamespaces: {team: shop}     # labels that the namespace of a task must have
limits: {maxConcurrentActions: 3, maxActionsPerHour: 30, maxActionsPerNamespacePerHour: 10}
storm: {percent: 30, minTasks: 5, cooldownSeconds: 600}
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from .fields import number, part, unknown
from .values import mapping

FIELDS = ("mode", "excludedNamespaces", "allowedNamespaces", "limits", "storm")
ACTIVE, OBSERVE, OFF = MODES = ("Active", "Observe", "Off")
_MOST = 1000
_PATTERN = re.compile(r"[-a-z0-9*]{1,63}")
_LABEL = re.compile(r"([a-z0-9][-a-z0-9.]{0,252}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True)
class Rails:
    """What the file says, or the defaults."""

    mode: str = ACTIVE
    excluded: tuple[str, ...] | None = None
    """Names of namespaces, `*` for any end; None is kube-* and the operator's own."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the namespace of a task must be labelled with; empty asks nothing."""
    concurrent: int = 3
    hourly: int = 30
    hourly_in_namespace: int | None = None
    """None is a third of `hourly`."""
    storm_percent: int = 30
    storm_tasks: int = 5
    storm_seconds: int = 600

    @property
    def most_in_namespace(self) -> int:
        """Acts of one namespace in an hour: unless it is said otherwise, no one can use up what is there for all."""
        return self.hourly_in_namespace or max(self.hourly // 3, 1)

    def excludes(self, namespace: str, own: str) -> bool:
        """`own` is the namespace of the operator."""
        patterns = ("kube-*", own) if self.excluded is None else self.excluded
        return any(fnmatchcase(namespace, pattern) for pattern in patterns)


def parse_rails(raw: Mapping[str, Any], faults: list[str]) -> Rails:
    """`raw` is the whole file. Faults are added to those that there are."""
    limits, storm = part(raw, "limits", "", faults), part(raw, "storm", "", faults)
    unknown(limits, ("maxConcurrentActions", "maxActionsPerHour", "maxActionsPerNamespacePerHour"), "limits.", faults)
    unknown(storm, ("percent", "minTasks", "cooldownSeconds"), "storm.", faults)
    return Rails(
        mode=_mode(raw, faults),
        excluded=_excluded(raw, faults),
        labels=_labels(raw, faults),
        concurrent=number(limits, "maxConcurrentActions", "limits.", 3, _MOST, faults),
        hourly=number(limits, "maxActionsPerHour", "limits.", 30, _MOST, faults),
        hourly_in_namespace=number(limits, "maxActionsPerNamespacePerHour", "limits.", None, _MOST, faults),
        storm_percent=number(storm, "percent", "storm.", 30, 100, faults),
        storm_tasks=number(storm, "minTasks", "storm.", 5, _MOST, faults),
        storm_seconds=number(storm, "cooldownSeconds", "storm.", 600, 86400, faults),
    )


def _mode(raw: Mapping[str, Any], faults: list[str]) -> str:
    mode = raw.get("mode", ACTIVE)
    if mode is False:
        return OFF  # to YAML 1.1 `Off` is a boolean
    if mode not in MODES:
        faults.append(f"mode must be one of {', '.join(MODES)}")
        return OFF
    return str(mode)


def _excluded(raw: Mapping[str, Any], faults: list[str]) -> tuple[str, ...] | None:
    names = raw.get("excludedNamespaces")
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) and _PATTERN.fullmatch(name) for name in names):
        faults.append(
            "excludedNamespaces must be a list of names of namespaces; * stands for any letters, as in kube-*"
        )
        return None
    return tuple(names)


def _labels(raw: Mapping[str, Any], faults: list[str]) -> Mapping[str, str]:
    part(raw, "allowedNamespaces", "", faults)
    labels = mapping(raw.get("allowedNamespaces"))
    for name, value in labels.items():
        if not isinstance(name, str) or not _LABEL.fullmatch(name) or not isinstance(value, str) or len(value) > 63:
            cure = "must be a label and its value, a text; put true and numbers in quotes"
            faults.append(f"allowedNamespaces.{str(name)[:63]} {cure}")
    return labels
