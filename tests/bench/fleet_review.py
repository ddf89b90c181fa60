"""What the operator did in the fleet soak, by the API server's audit log, and which of its rules that broke."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.bench.fleet_site import (
    ACCOUNT,
    COOLDOWN,
    LEAST,
    LIMITS,
    MOST,
    PLACE_SECONDS,
    Target,
    has_autoscaler,
)

_USER = "system:serviceaccount:" + ":".join(ACCOUNT)
_ID, _TIME = "aiops.example.com/last-action", "aiops.example.com/last-action-time"
# Times in the ledger are whole seconds, those of the audit log are not.
_SLACK = 1.0


@dataclass(frozen=True)
class Act:
    """One change of a Deployment that the API server let through."""

    target: Target
    uid: str
    id: str
    decided: datetime
    done: datetime
    replicas: int | None
    """What it was scaled to; None for any other act."""


@dataclass
class Review:
    """Counts of acts, and every rule that was broken, in words."""

    acts: list[Act]
    violations: list[str] = field(default_factory=list)

    def check(self) -> None:
        self.violations += [
            *_twice(self.acts), *_too_soon(self.acts), *_out_of_bounds(self.acts), *_beside_autoscalers(self.acts),
            *_too_many(self.acts),
        ]  # fmt: skip


def read_acts(audit_log: Path) -> list[Act]:
    """Every act in the log, in its order."""
    acts = []
    with audit_log.open() as lines:
        for line in lines:
            if _USER in line and '"deployments"' in line and '"patch"' in line:
                act = _act(json.loads(line))
                if act is not None:
                    acts.append(act)
    return acts


def _act(entry: dict[str, Any]) -> Act | None:
    subject, body = entry["objectRef"], entry.get("requestObject") or {}
    notes = body.get("metadata", {}).get("annotations", {})
    if subject["resource"] != "deployments" or entry["responseStatus"]["code"] >= 300 or _ID not in notes:
        return None
    if "dryRun" in entry["requestURI"]:
        return None
    return Act(
        target=(subject["namespace"], subject["name"]),
        uid=subject.get("uid", ""),
        id=notes[_ID],
        decided=datetime.fromisoformat(notes[_TIME]),
        done=datetime.fromisoformat(entry["stageTimestamp"]),
        replicas=body.get("spec", {}).get("replicas"),
    )


def _twice(acts: Iterable[Act]) -> Iterator[str]:
    for identity, times in Counter(act.id for act in acts).items():
        if times > 1:
            yield f"act {identity} was done {times} times"


def _too_soon(acts: Iterable[Act]) -> Iterator[str]:
    """Whoever acts on a target honours the cooldown since the last act on it; one made anew begins anew."""
    by_target: dict[tuple[Target, str], list[Act]] = {}
    for act in acts:
        by_target.setdefault((act.target, act.uid), []).append(act)
    for (target, _), own in by_target.items():
        for one, next_one in pairwise(sorted(own, key=lambda act: act.decided)):
            gap = (next_one.decided - one.decided).total_seconds()
            if gap < COOLDOWN:
                yield f"{'/'.join(target)}: acts {gap:.0f} s apart, the cooldown is {COOLDOWN} s"


def _out_of_bounds(acts: Iterable[Act]) -> Iterator[str]:
    for act in acts:
        if act.replicas is not None and not LEAST <= act.replicas <= MOST:
            yield f"{'/'.join(act.target)}: scaled to {act.replicas}, the limits are {LEAST} and {MOST}"


def _beside_autoscalers(acts: Iterable[Act]) -> Iterator[str]:
    for act in acts:
        if act.replicas is not None and has_autoscaler(act.target):
            yield f"{'/'.join(act.target)}: scaled beside its autoscaler"


def _too_many(acts: list[Act]) -> Iterator[str]:
    everywhere = sorted(act.done for act in acts)
    yield from _windows(everywhere, PLACE_SECONDS - _SLACK, LIMITS["maxConcurrentActions"], "places")
    yield from _windows(everywhere, 3600, LIMITS["maxActionsPerHour"], "acts an hour")
    for namespace in {act.target[0] for act in acts}:
        times = sorted(act.done for act in acts if act.target[0] == namespace)
        yield from _windows(times, 3600, LIMITS["maxActionsPerNamespacePerHour"], f"acts an hour in {namespace}")


def _windows(times: list[datetime], seconds: float, most: int, what: str) -> Iterator[str]:
    """The first window with more than `most`."""
    for first, last in zip(times, times[most:], strict=False):
        if (last - first).total_seconds() < seconds:
            yield f"more than {most} {what}: {most + 1} within {(last - first).total_seconds():.1f} s from {first}"
            return
