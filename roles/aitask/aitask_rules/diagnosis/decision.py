"""The answer that a model must give, as a JSON schema, and the check that relies on nobody having kept to it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .text import visible

ACTIONS = ("none", "notify", "scale", "restart", "rollback", "patchResources")
_FIELDS = ("rootCause", "action", "confidencePercent", "evidence", "parameters")
_PARAMETERS = ("direction", "toRevision", "container")
_CAUSE = 1000
_IDS = 10
_ID = re.compile(r"e[0-9]{1,3}")
_LONGEST = 16384
"""Characters of an answer: what the schema allows takes a tenth."""
_FENCE = re.compile(r"```(?:json|JSON)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


class Unusable(ValueError):
    """An answer that is not used. `reason` is what DiagnosisSucceeded says."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Decision:
    """What a model answered, as it is allowed to be: form only."""

    root_cause: str
    action: str
    confidence: int
    evidence: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


def answer_schema(allowed: Sequence[str], ids: Sequence[str]) -> dict[str, Any]:
    """For `response_format`: `decision.schema.json` cut down to what may be chosen here. Parameters may be null rather
    than left out, for strict servers take only schemas whose every property is required."""
    optional = {
        "direction": {"type": ["string", "null"], "enum": ["Up", "Down", None]},
        "toRevision": {"type": ["integer", "null"]},
        "container": {"type": ["string", "null"]},
    }
    properties = {
        "rootCause": {"type": "string"},
        "action": {"type": "string", "enum": ["none", *allowed]},
        "confidencePercent": {"type": "integer", "minimum": 0, "maximum": 100},
        # Without an end of the list small models repeat the ids until they are cut off.
        "evidence": {
            "type": "array",
            "items": {"type": "string", "enum": list(ids)},
            "minItems": 1,
            "maxItems": _IDS,
        },
        "parameters": _closed(optional),
    }
    return _closed(properties)


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(properties)
    return {"type": "object", "additionalProperties": False, "required": list(kept), "properties": kept}


def parse_decision(content: str) -> Decision:
    """One JSON object, in a code fence or not, with nothing before and after it. Raises Unusable."""
    text = content.strip()
    if len(text) > _LONGEST:
        raise _violation(f"the answer is longer than {_LONGEST} characters")
    fenced = _FENCE.fullmatch(text)
    found = strict_json(fenced[1] if fenced else text)
    if not isinstance(found, dict):
        raise _violation("the answer is JSON, but no object")
    _only(found, _FIELDS, "")
    missing = [name for name in _FIELDS if name not in found]
    if missing:
        raise _violation(f"the answer has no {missing[0]}")
    return Decision(
        _cause(found["rootCause"]), _action(found["action"]), _percent(found["confidencePercent"]),
        _ids(found["evidence"]), _parameters(found["parameters"]),
    )  # fmt: skip


def strict_json(text: str) -> Any:
    """One value, no key twice, no NaN or infinity. Raises Unusable."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except Unusable:
        raise
    except (ValueError, RecursionError):
        raise _violation("the answer is not one JSON object and nothing else") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _violation("the answer has a key twice")
    return found


def _no_number(_: str) -> Any:
    raise _violation("the answer has a number that is none")


def _violation(message: str) -> Unusable:
    """None of what the model said is in it."""
    return Unusable("SchemaViolation", message)


def _only(found: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    if not found.keys() <= set(known):
        raise _violation(f"the answer has other fields{where} than {', '.join(known)}")


def _cause(value: Any) -> str:
    """One line of what can be seen: signs without a shape, or that turn the direction, could hide or fake words."""
    if not isinstance(value, str) or not 1 <= len(value) <= _CAUSE:
        raise _violation(f"rootCause is no text of 1 to {_CAUSE} characters")
    cause = " ".join(visible(value).split())
    if not cause:
        raise _violation("rootCause has nothing that can be read")
    return cause


def _action(value: Any) -> str:
    if value not in ACTIONS or not isinstance(value, str):
        raise _violation(f"action is none of {', '.join(ACTIONS)}")
    return value


def _percent(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 100:
        raise _violation("confidencePercent is no whole number from 0 to 100")
    return value


def _ids(value: Any) -> tuple[str, ...]:
    good = isinstance(value, list) and 1 <= len(value) <= _IDS
    if not good or not all(isinstance(name, str) and _ID.fullmatch(name) for name in value):
        raise _violation(f"evidence is no list of 1 to {_IDS} ids such as e1")
    return tuple(dict.fromkeys(value))


def _parameters(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _violation("parameters is no object")
    _only(value, _PARAMETERS, " in parameters")
    found = {name: item for name, item in value.items() if item is not None}
    if found.get("direction", "Up") not in ("Up", "Down"):
        raise _violation("parameters.direction is neither Up nor Down")
    revision = found.get("toRevision", 1)
    if not isinstance(revision, int) or isinstance(revision, bool) or not 1 <= revision < 2**63:
        raise _violation("parameters.toRevision is no whole number from 1 on")
    container = found.get("container", "")
    if not isinstance(container, str) or len(container) > 63:
        raise _violation("parameters.container is no text of at most 63 characters")
    return found
