"""What `spec.diagnose` says, and what a diagnosis starts from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..model import Diagnose, Spec, State, Target, Task
from ..values import items

CHOICES = ("notify", "scale", "restart", "rollback", "patchResources")
FALLBACKS = ("none", "notify", "scale", "restart", "rollback")
_MOST_TOKENS = 2**53 - 1


@dataclass(frozen=True)
class Facts:
    """What the evidence is made of. `reads` holds the results of the role's reading tasks: deployment, pods, events,
    history (ReplicaSets) and logs; what was not read is left out."""

    task: Task
    spec: Spec
    target: Target
    state: State
    reads: Mapping[str, Any]


def parse_diagnose(raw: Mapping[str, Any]) -> Diagnose:
    """Raises ValueError that names the field and the cure: what the CRD refuses too, where the cluster checks it."""
    allowed = items(raw["allowedActions"]) if raw.get("allowedActions") is not None else ["notify"]
    if any(action not in CHOICES for action in allowed):
        raise ValueError(f"diagnose.allowedActions may hold {', '.join(CHOICES)}")
    fallback = raw.get("fallbackAction") or "notify"
    if fallback not in FALLBACKS:
        raise ValueError(f"diagnose.fallbackAction must be one of {', '.join(FALLBACKS)}")
    return Diagnose(
        provider=str(raw.get("providerRef") or "default"),
        allowed=tuple(action for action in CHOICES if action in allowed),
        timeout=_number(raw, "timeoutSeconds", 30, 1, 300),
        max_tokens=_number(raw, "maxOutputTokens", 800, 64, 8192),
        daily_tokens=_number(raw, "dailyTokenBudget", 50000, 0, _MOST_TOKENS),
        min_confidence=_number(raw, "minConfidencePercent", 70, 0, 100),
        include_logs=raw.get("includeLogs") is True,
        fallback=str(fallback),
    )


def _number(raw: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = default if raw.get(name) is None else raw[name]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"diagnose.{name} must be a whole number from {least} to {most}")
    return value
