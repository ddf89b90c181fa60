"""What a restore does next: find the archive, look at what exists, write what is missing, say what became of each."""

from collections.abc import Mapping
from typing import Any

from ..permission import has_read_all
from ..values import first, items, mapping
from .content import Unreadable, check_sum, unpack
from .objects import creation, replacement, wanted_spec
from .results import PENDING, Result, choose, judge, tally
from .run import MAX_ATTEMPTS, Refusal, Run, begin, end, listed, parse_run, worn_out
from .store import as_store, belongs_to, content_of, is_store, stated_sum
from .waits import held, retry

Plan = dict[str, Any]
MAX_ROUNDS = 3


def plan_restore(world: Mapping[str, Any]) -> Plan:
    """The next step of a pass: `next` names it, the rest is what its tasks need.

    `nothing`: the pass is over. `permit`: read what the operator as a whole may do. `find`: write `status`, then read
    the backup. `fetch`: read the Secret `secret`, then, if there is none, the ConfigMap `configmap`; an empty name is
    not read. `look`: read all tasks. `put`: apply `to_create`, patch with `to_update`, both lists of manifests, only
    asking the server if `rehearse`. `again`: `look` once more, a moment later. `report`: write `status` if there is
    one, come back after `requeue` if that is set.

    Who gives the archive itself acts with rights of his own, and without a status."""
    run = parse_run(world)
    if run.is_final or run.is_going:
        return {"next": "nothing"}
    try:
        return _next(run)
    except Unreadable as error:
        counts = {"restored": 0, "skipped": 0, "failed": 0}
        return end(run, "Failed", error.reason, f"{error}; nothing was written", **counts)


def _next(run: Run) -> Plan:
    if "archive" not in run.reads:
        if "begun" not in run.reads:
            return _begin(run)
        store, expected = _store(run)
        if store is None:
            return {"next": "fetch", **_names(run)}
        check_sum(content_of(store), expected)
        if "tasks" not in run.reads:
            unpack(content_of(store))
            return {"next": "look"}
    else:
        store = as_store(str(run.reads["archive"]))
        if "tasks" not in run.reads:
            return {"next": "look"}
    return _put(run, _chosen(run, unpack(content_of(store))))


def _begin(run: Run) -> Plan:
    if not has_read_all(run):
        return {"next": "permit"}
    hold = held(run)
    if hold:
        return hold
    if run.attempts >= MAX_ATTEMPTS:
        return worn_out(run, "restore")
    return {"next": "find", "status": begin(run, f"restoring, start {run.attempts + 1} of {MAX_ATTEMPTS}")}


def _names(run: Run) -> dict[str, str]:
    """Where to look for the store. Raises Unreadable where the backup is none to restore from."""
    named = str(run.spec.get("storeName") or "")
    if named:
        return {"secret": named, "configmap": named}
    status, kind = mapping(_backup(run).get("status")), mapping(_backup(run).get("spec")).get("store")
    name = str(status.get("storeName") or "")
    return {"secret": "", "configmap": name} if kind == "ConfigMap" else {"secret": name, "configmap": ""}


def _store(run: Run) -> tuple[Mapping[str, Any] | None, str]:
    """The store with the checksum that it must have; None as long as it was not read. Raises Unreadable."""
    named, backup = str(run.spec.get("storeName") or ""), {} if run.spec.get("storeName") else _backup(run)
    if "secret" not in run.reads and "configmap" not in run.reads:
        return None, ""
    found = first(run.reads.get("secret")) or first(run.reads.get("configmap"))
    if not found:
        raise Unreadable(
            "StoreNotFound", f"there is no store {named or mapping(backup.get('status')).get('storeName')}"
        )
    if not is_store(found):
        raise Unreadable("NotAStore", f"{found.get('kind')} {named} holds no saved tasks")
    if named:
        return found, stated_sum(found)
    if not belongs_to(found, mapping(backup.get("metadata")).get("uid")):
        raise Unreadable("StoreConflict", "the store belongs to another backup")
    return found, str(mapping(backup.get("status")).get("sha256", ""))


def _backup(run: Run) -> Mapping[str, Any]:
    """The backup to restore from. Raises Unreadable unless it is complete: waiting for it would be a loop."""
    name, found = run.spec.get("backupName"), first(run.reads.get("backup"))
    if not found:
        raise Unreadable("BackupNotFound", f"there is no AITaskBackup {name} in this namespace")
    phase = mapping(found.get("status")).get("phase") or "Pending"
    if phase != "Completed":
        raise Unreadable("BackupNotComplete", f"AITaskBackup {name} is {phase}; make a restore of a complete one")
    return found


def _chosen(run: Run, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = [str(name) for name in items(run.spec.get("taskNames"))]
    missing = sorted(set(names) - {str(entry["metadata"]["name"]) for entry in entries})
    if missing:
        raise Unreadable("TaskNotFound", f"the backup does not hold {listed(missing)}")
    return [entry for entry in entries if not names or entry["metadata"]["name"] in names]


def _put(run: Run, entries: list[dict[str, Any]]) -> Plan:
    tasks = (mapping(entry) for entry in items(mapping(run.reads["tasks"]).get("resources")))
    existing = {str(task["metadata"]["name"]): task for task in tasks}
    outcomes = choose(run, entries, existing)
    resume = run.spec.get("resumeTasks") is True
    create = [
        creation(e, run.namespace, run.uid, resume) for e in entries if outcomes[_name(e)].outcome == PENDING.create
    ]
    update = [
        replacement(e, existing[_name(e)], run.uid, resume)
        for e in entries
        if outcomes[_name(e)].outcome == PENDING.update
    ]
    if (create or update) and not ("created" in run.reads or "updated" in run.reads):
        return {"next": "put", "to_create": create, "to_update": update, "rehearse": run.rehearses}
    judged = judge(run, outcomes, create, update)
    if judged is None:
        return {"next": "nothing"}
    return _again(run, judged) or tally(run, judged, _resting(run, entries))


def _again(run: Run, judged: Mapping[str, Result]) -> Plan | None:
    """What the server was too busy for is tried thrice in this pass, then by later ones. None: it stays as it is."""
    busy = {name: result for name, result in judged.items() if result.passes}
    if busy and int(str(run.reads.get("round", MAX_ROUNDS))) < MAX_ROUNDS:
        return {"next": "again"}
    if not busy or "archive" in run.reads:
        return None
    name, result = min(busy.items())
    plan = retry(run, Refusal(result.code, result.message), f"{listed(sorted(busy))} not restored yet; {name}")
    return plan if "requeue" in plan else None


def _resting(run: Run, entries: list[dict[str, Any]]) -> set[str]:
    """Names of those that own a Deployment and are suspended: theirs is not made before they are resumed."""
    specs = {_name(entry): wanted_spec(entry, run.spec.get("resumeTasks") is True) for entry in entries}
    return {name for name, spec in specs.items() if spec.get("template") and spec.get("suspend") is True}


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry["metadata"]["name"])
