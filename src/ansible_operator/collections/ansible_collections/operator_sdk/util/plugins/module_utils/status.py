# Copyright the ansible-operator authors
# Apache License 2.0 (see LICENSE)
"""What a new status looks like, given the old one. Pure; no I/O, the time comes in as a text."""

from __future__ import annotations

import copy
import re

STATUSES = ("True", "False", "Unknown")
FIELDS = frozenset(
    {"type", "status", "reason", "message", "observedGeneration", "lastHeartbeatTime", "lastTransitionTime"}
)
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")  # as the pattern of metav1.Condition
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(\.\d+)?([+-]\d\d:\d\d|Z)", re.ASCII)


def check_conditions(conditions):
    """The conditions with booleans written as words. Raises ValueError, naming the field and the cure."""
    return [_check(index, dict(condition)) for index, condition in enumerate(conditions)]


def _check(index, condition):
    where = f"conditions[{index}]"
    unknown = set(condition) - FIELDS
    if unknown:
        raise ValueError(
            f"{where}: {', '.join(sorted(unknown))} is not a field of a condition; use {', '.join(sorted(FIELDS))}"
        )
    if not condition.get("type"):
        raise ValueError(f"{where}.type is missing; name the condition")
    if isinstance(condition.get("status"), bool):
        condition["status"] = str(condition["status"])
    if condition.get("status") not in STATUSES:
        raise ValueError(f"{where}.status is {condition.get('status')!r}; write one of {', '.join(STATUSES)}")
    if condition.get("reason") and not _REASON.fullmatch(str(condition["reason"])):
        raise ValueError(f"{where}.reason is {condition['reason']!r}; write one CamelCase word")
    for field in ("lastHeartbeatTime", "lastTransitionTime"):
        if condition.get(field) and not _RFC3339.fullmatch(str(condition[field])):
            raise ValueError(
                f"{where}.{field} is {condition[field]!r}; write an RFC 3339 time such as 2026-01-31T12:00:00Z"
            )
    return condition


def merged(old, changes, now, force=False):
    """The whole new status: ``changes`` as a JSON merge patch, but conditions merged by type.

    With ``force`` nothing of the old status stays. A condition without lastTransitionTime keeps the old one while its
    status is the same, and gets ``now`` otherwise. Raises ValueError, naming the field and the cure.
    """
    conditions = changes.get("conditions")
    fields = {key: value for key, value in changes.items() if key != "conditions"}
    result = _merge_patch({} if force else old, fields)
    if "conditions" in changes and conditions is None:
        result.pop("conditions", None)
    elif conditions is not None:
        before = old.get("conditions") or []
        timed = [_timed(index, condition, before, now) for index, condition in enumerate(_list_of(conditions))]
        result["conditions"] = _by_type([] if force else before, timed)
    return result


def _list_of(conditions):
    if isinstance(conditions, list):
        return conditions
    raise ValueError("status.conditions is not a list; write a list of conditions")


def _timed(index, condition, before, now):
    """The condition with its lastTransitionTime."""
    where = f"status.conditions[{index}]"
    if not isinstance(condition, dict) or not condition.get("type") or "status" not in condition:
        raise ValueError(f"{where} is not a condition; give it a type and a status")
    old = next((other for other in before if _is(other, condition["type"])), {})
    same = old.get("status") == condition["status"]
    time = condition.get("lastTransitionTime") or (old.get("lastTransitionTime") if same else None) or now
    return {**condition, "lastTransitionTime": time}


def _by_type(old, new):
    """Old conditions with the new ones in their places; others stay untouched, unknown types go to the end."""
    result = copy.deepcopy(old)
    for condition in new:
        place = next((i for i, other in enumerate(result) if _is(other, condition["type"])), len(result))
        result[place : place + 1] = [condition]
    return result


def _is(condition, kind):
    return isinstance(condition, dict) and condition.get("type") == kind


def _merge_patch(target, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = copy.deepcopy(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge_patch(result.get(key), value)
    return result
