"""What a pass adds to the operator's metrics. A healthy pass adds nothing: what is counted are changes."""

from collections.abc import Mapping
from typing import Any

from .model import Condition, State
from .values import items, mapping, whole

_RESULTS = ("Succeeded", "Failed", "DryRun")


def measured(
    before: State,
    permitted: Mapping[str, Any],
    state: State,
    told: list[Condition],
    reads: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """`before` is the state and `permitted` the condition ActionPermitted as the pass found them."""
    found = []
    last = state.last_action
    if last != before.last_action and last.get("result") in _RESULTS:
        labels = {"action": str(last.get("type")), "result": str(last["result"])}
        found.append(_counter("aitask_actions_total", "Acts of tasks, by action and result", labels))
    held = next((c.reason for c in told if c.type == "ActionPermitted" and c.status == "False"), "DryRun")
    if held != "DryRun" and (permitted.get("status"), permitted.get("reason")) != ("False", held):
        found.append(_counter("aitask_held_total", "How often a reason began to hold an act", {"reason": held}))
    found.extend(consulted(before, state, reads))
    # A restart of the operator forgets it, so it is told again as long as there is something to tell.
    absent = any(c.reason == "GuardAbsent" and c.status == "False" for c in told)
    if "guard" in reads and (found or absent):
        stands = 1 if items(mapping(reads["guard"]).get("resources")) else 0
        text = "Whether the admission guard was there when an act was wanted last"
        found.append({"name": "aitask_guard_installed", "description": text, "labels": {}, "gauge": {"set": stands}})
    return found


def consulted(before: State, state: State, reads: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a diagnosis of this pass came to, and what it cost if a model was asked."""
    if not state.diagnosis or (state.diagnosis == before.diagnosis and state.usage == before.usage):
        return []
    outcome = {"outcome": str(state.diagnosis.get("reason"))}
    found = []
    if "waitingSince" not in state.diagnosis:
        found = [_counter("aitask_diagnoses_total", "Diagnoses with another verdict, by outcome", outcome)]
    earlier = before.usage if state.usage.get("day") == before.usage.get("day") else {}
    calls, tokens = (whole(state.usage.get(name)) - whole(earlier.get(name)) for name in ("calls", "tokens"))
    if calls > 0:
        text = "Requests to language models, by outcome"
        found.append(_counter("aitask_llm_calls_total", text, outcome, calls))
        found.append(_counter("aitask_llm_tokens_total", "Tokens of questions and answers", {}, tokens))
        seconds = mapping(reads.get("model")).get("elapsed") or 0
        text = "Seconds from a question to the verdict on it"
        found.append(
            {"name": "aitask_llm_seconds", "description": text, "labels": {}, "histogram": {"observe": seconds}}
        )
    return found


def _counter(name: str, description: str, labels: dict[str, str], count: int = 1) -> dict[str, Any]:
    return {"name": name, "description": description, "labels": labels, "counter": {"add": count}}
