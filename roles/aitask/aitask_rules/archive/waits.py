"""Why a backup or restore is not at work now and comes back: the operator is to keep off, or something is in the way
that passes.

Neither is an attempt: those count starts that ended nowhere.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..memory import condition_of, merge_conditions
from ..model import Condition
from ..permission import keeps_off
from ..values import first, go_duration, items, mapping, one_line, parse_time, whole
from .run import FINAL, Refusal, Run, end, parse_refusal, parse_run, status_with

Plan = dict[str, Any]
HELD, UNKEPT = 60.0, 600.0
"""Seconds after which it looks again: whether the hold is gone, and whether a finished backup can be kept by now."""
RETRIES, PATIENCE = 5, 120.0
"""How often, and for how many seconds after its first start, it is tried again at least."""
_FIRST, _LONGEST = 5.0, 60.0
_ACCOUNT = re.compile(r"system:serviceaccount:([-a-z0-9]+):([-.a-z0-9]+)")
_STORES = re.compile(r'cannot \w+ resource "?(?:secrets|configmaps)\b')


def held(run: Run) -> Plan | None:
    """The plan of a pass that must do nothing; None if it may. Over a final phase nothing is written."""
    hold = keeps_off(run)
    if hold is None:
        return None
    plan: Plan = {"next": "report", "status": {}, "requeue": go_duration(HELD)}
    if run.is_final:
        return plan
    text = f"{hold.message}; until then nothing is saved or restored; it is looked at again in a minute"
    condition = Condition("Complete", "False", hold.reason, text)
    counted = {"retries": 0} if run.status.get("retries") else {}
    return {**plan, "status": status_with(run, str(run.status.get("phase") or "Pending"), condition, **counted)}


def retry(run: Run, refused: Refusal, where: str = "") -> Plan:
    """The plan of a pass that could not go on: come back later each time, and give up in the end, with the cause."""
    words = one_line(f"{where}: {refused.words}" if where else refused.words, 450) + _cure(run, refused)
    retries = whole(run.status.get("retries"))
    started = parse_time(run.status.get("startTime")) or run.now
    if retries >= RETRIES and (run.now - started).total_seconds() >= PATIENCE:
        return end(run, "Failed", refused.reason, f"{words}; given up after {retries} more tries")
    wait = go_duration(min(_FIRST * 2 ** min(retries, 10), _LONGEST))
    condition = Condition("Complete", "False", refused.reason, f"{words}; tried again in {wait}")
    fields = {"startTime": run.status.get("startTime") or run.stamp, "attempts": run.attempts, "retries": retries + 1}
    return {"next": "report", "status": status_with(run, "Running", condition, **fields), "requeue": wait}


def plan_trouble(world: Mapping[str, Any], where: str, message: str) -> Plan:
    """The plan of a pass in which a task of the role failed. `world` has the object as the pass began with it, and
    under `seen` what a new reading of it gave: the answer to a write may be lost though the write was not."""
    run, refused = parse_run(world), parse_refusal(message)
    if run.is_final:
        return _unkept(run, refused, where)
    if mapping(first(run.reads.get("seen")).get("status")).get("phase") in FINAL:
        return {"next": "report", "status": {}, "requeue": go_duration(_FIRST)}
    if refused.is_terminating:
        return {"next": "nothing", "status": {}, "requeue": ""}
    # Also after the end: a backup may have a time to go.
    return {"requeue": go_duration(_FIRST), **retry(run, refused, where)}


def _unkept(run: Run, refused: Refusal, where: str) -> Plan:
    """What is finished stays so, with its words; that the rest cannot be done is said beside it."""
    wait = go_duration(UNKEPT)
    words = f"{one_line(f'{where}: {refused.words}', 450)}{_cure(run, refused)}; tried again in {wait}"
    status = _store_kept(run, Condition("StoreKept", "False", refused.reason, words))
    return {"next": "report", "status": status, "requeue": wait}


def kept_again(run: Run) -> dict[str, Any]:
    """What takes back the words of `_unkept`, where they stand."""
    if not is_unkept(run):
        return {}
    return _store_kept(run, Condition("StoreKept", "True", "Kept", "the store follows the retention"))


def is_unkept(run: Run) -> bool:
    return condition_of(run.status, "StoreKept").get("status") == "False"


def _store_kept(run: Run, condition: Condition) -> dict[str, Any]:
    merged = merge_conditions(
        items(run.status.get("conditions")), [condition], whole(run.meta.get("generation")), run.now
    )
    return {"conditions": [entry for entry in merged if entry["type"] == condition.type]}


def _cure(run: Run, refused: Refusal) -> str:
    """The right that the operator is not installed with; the server says which account has not got it."""
    if refused.code != 403 or not _STORES.search(refused.words):
        return ""
    found = _ACCOUNT.search(refused.words)
    account = f"{found[1]}:{found[2]}" if found else "aitask-operator-system:aitask-operator-controller-manager"
    role = "--clusterrole=aitask-operator-backup-store-role"
    binding = f"create rolebinding aitask-backup-store {role} --serviceaccount={account}"
    return f"; allow it: kubectl -n {run.namespace} {binding}"
