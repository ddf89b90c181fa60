"""Who led when, by the API server's audit log: each change of the Lease, with the pod whose token it was made with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from tests.e2e.site import Site, pod_of
from tests.support.audit_log import entries


@dataclass(frozen=True)
class HandOver:
    """From one pod to the next: seconds between the last change that the one made and the first of the other."""

    old: str
    new: str
    seconds: float


def hand_overs(site: Site, log: Path, since: int) -> list[HandOver]:
    """In their order. A pod that only waits for the lease does not change it."""
    return [
        HandOver(a[0], b[0], (b[1] - a[1]).total_seconds())
        for a, b in pairwise(_changes(site, log, since))
        if a[0] != b[0]
    ]


def _changes(site: Site, log: Path, since: int) -> list[tuple[str, datetime]]:
    found = []
    for entry in entries(log, since, f"/leases/{site.lease}"):
        subject = entry["objectRef"]
        ours = (subject.get("namespace"), subject.get("name")) == (site.namespace, site.lease)
        if ours and entry["verb"] in ("update", "patch", "create") and entry["responseStatus"]["code"] < 300:
            found.append((pod_of(entry), datetime.fromisoformat(entry["stageTimestamp"])))
    return found
