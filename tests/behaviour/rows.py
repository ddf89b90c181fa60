"""The rows that docs/behaviour.md must have, by section. A test names its row by `case` in its marker."""

from __future__ import annotations

EDGE, COMPLAINT, MORE = "Edge cases", "What went wrong elsewhere", "And besides"

REQUIRED = {
    EDGE: (
        "target missing",
        "target re-created",
        "target mid-rollout",
        "paused rollout",
        "metric missing / NaN / Inf / stale / >1 series",
        "requests missing on one container",
        "pods not ready or young",
        "HPA on target",
        "two tasks, same target",
        "scaled to 0 by a human",
        "threshold 0",
        "unknown action",
        "target namespace terminating",
        "clock jumps",
        "spec edited in cooldown",
        "approval for an older proposal, or target changed since",
        "operator upgraded / two replicas",
        "adopted Deployment under Argo CD/Flux",
    ),
    COMPLAINT: (
        "keda#3065: empty query result read as 0",
        "kubernetes#72775: pods doubled during a rolling update",
        "keda#3083: two scalers on one target flap",
        "keda#6421: paused at creation never resumes; paused ones query",
        "argo-rollouts#3259: status grew until etcd refused it",
        "garage-operator#351: own status timestamp triggers the loop",
        "litmus-go PR#430: target absent, random victims",
        "argo-rollouts#3039: rolls back to the known-bad revision; loses annotations",
        "k8sgpt-operator#648: runs once, then idle; the object shows nothing",
        "operator-sdk#1513: namespace stuck",
    ),
}
"""Each must have a test, or stand in OPEN."""

OPEN: dict[str, str] = {}
"""Rows without a test, and why. Take one out with the test that it waits for."""
