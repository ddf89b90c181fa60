"""What a pass adds to the operator's metrics. A healthy pass adds nothing: what is counted are changes."""

from collections.abc import Mapping
from typing import Any

from .model import Condition, State
from .values import items, mapping

_RESULTS = ("Succeeded", "Failed", "DryRun")


def measured(
    before: Mapping[str, Any],
    permitted: Mapping[str, Any],
    state: State,
    told: list[Condition],
    reads: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """`before` is lastAction and `permitted` the condition ActionPermitted as the pass found them."""
    found = []
    last = state.last_action
    if last != before and last.get("result") in _RESULTS:
        labels = {"action": str(last.get("type")), "result": str(last["result"])}
        found.append(_counter("aitask_actions_total", "Acts of tasks, by action and result", labels))
    held = next((c.reason for c in told if c.type == "ActionPermitted" and c.status == "False"), "DryRun")
    if held != "DryRun" and (permitted.get("status"), permitted.get("reason")) != ("False", held):
        found.append(_counter("aitask_held_total", "How often a reason began to hold an act", {"reason": held}))
    # A restart of the operator forgets it, so it is told again as long as there is something to tell.
    absent = any(c.reason == "GuardAbsent" and c.status == "False" for c in told)
    if "guard" in reads and (found or absent):
        stands = 1 if items(mapping(reads["guard"]).get("resources")) else 0
        text = "Whether the admission guard was there when an act was wanted last"
        found.append({"name": "aitask_guard_installed", "description": text, "labels": {}, "gauge": {"set": stands}})
    return found


def _counter(name: str, description: str, labels: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "description": description, "labels": labels, "counter": {"increment": True}}
