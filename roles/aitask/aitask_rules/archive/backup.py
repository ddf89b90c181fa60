"""What a backup does next. It saves once; then it only keeps its store's owner right, and goes when its time comes."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from ..permission import has_read_all
from ..values import first, go_duration, items, mapping, parse_time, whole
from .content import FORMAT_VERSION, MAX_STORED, Archive, Unreadable, check_sum, pack
from .objects import saved
from .run import MAX_ATTEMPTS, Refusal, Run, begin, end, listed, parse_run, refusal, worn_out
from .store import belongs_to, content_of, manifest, owner_patch, store_name
from .waits import held, is_unkept, kept_again, retry

Plan = dict[str, Any]


def plan_backup(world: Mapping[str, Any]) -> Plan:
    """The next step of a pass: `next` names it, the rest is what its tasks need.

    `nothing`: the pass is over. `permit`: read what the operator as a whole may do. `save`: write `status`, then read
    the tasks and the store. `write`: apply `definition`, then read it back. `report`: write `status` if there is one,
    come back after `requeue` if that is set. `keep`: read the store. `tidy`: apply the patch `definition` if there is
    one, then delete the backup if `expired`, else write `status` if there is one."""
    run = parse_run(world)
    if run.is_going:
        return {"next": "nothing"}
    if not has_read_all(run):
        return {"next": "permit"}
    hold = held(run)
    if hold:
        return hold if _has_work(run) else {"next": "nothing"}
    return _keep(run) if run.is_final else _save(run)


def _has_work(run: Run) -> bool:
    """Whether a pass would come back for it: a finished backup that nobody edited and that stays has none."""
    seen = whole(run.status.get("observedGeneration")) == whole(run.meta.get("generation"))
    return not run.is_final or not seen or _ttl(run) is not None or is_unkept(run)


def _save(run: Run) -> Plan:
    if "tasks" not in run.reads:
        if run.attempts >= MAX_ATTEMPTS:
            return _ended(run, worn_out(run, "backup"))
        text = f"saving the tasks, start {run.attempts + 1} of {MAX_ATTEMPTS}"
        return {"next": "save", "status": begin(run, text, storeName=store_name(run.object))}
    try:
        archive = pack_tasks(run.reads["tasks"], items(run.spec.get("taskNames")))
        return _write(run, archive) if "written" not in run.reads else _judge(run, archive)
    except Unreadable as error:
        return _ended(run, end(run, "Failed", error.reason, str(error)))


def pack_tasks(found: Any, names: Sequence[str] = ()) -> Archive:
    """The archive of the tasks in the result of a reading task, all or those named. One that is being deleted is none.

    Raises Unreadable (TaskNotFound, TooLarge)."""
    tasks = [mapping(entry) for entry in items(mapping(found).get("resources"))]
    there = {str(t["metadata"]["name"]): t for t in tasks if not t["metadata"].get("deletionTimestamp")}
    missing = [str(name) for name in names if str(name) not in there]
    if missing:
        raise Unreadable("TaskNotFound", f"no such AITask in this namespace: {listed(missing)}; nothing was saved")
    return pack([saved(task) for name, task in there.items() if not names or name in map(str, names)])


def _write(run: Run, archive: Archive) -> Plan:
    if archive.size > MAX_STORED:
        size = f"{archive.count} tasks take {archive.size} bytes, more than {MAX_STORED}"
        raise Unreadable("TooLarge", f"{size}; save them in several backups, by taskNames")
    there = first(run.reads.get("store"))
    if there and not belongs_to(there, run.uid):
        name = store_name(run.object)
        raise Unreadable("StoreConflict", f"{_kind(run)} {name} is there and is not of this backup; it is left alone")
    return {"next": "write", "definition": manifest(run.object, _kind(run), _retention(run), archive)}


def _judge(run: Run, archive: Archive) -> Plan:
    """Only what was read back is saved."""
    refused = refusal(run.reads["written"])
    if refused and refused.is_terminating:
        return {"next": "nothing"}
    if refused and (refused.passes or refused.code in (403, 409)):
        return _again(run, refused, "the store was not written")
    if refused:
        raise Unreadable("StoreRefused", f"the server refuses the store: {refused.words}")
    back = first(run.reads.get("readback"))
    if not back:
        return _again(run, Refusal(404, "the store could not be read back"))
    check_sum(content_of(back), archive.sha256)
    name = store_name(run.object)
    message = f"saved {archive.count} tasks ({archive.size} bytes) in {_kind(run)} {name}"
    fields = {
        "storeName": name,
        "sha256": archive.sha256,
        "formatVersion": FORMAT_VERSION,
        "objectCount": archive.count,
        "sizeBytes": archive.size,
    }
    return _ended(run, end(run, "Completed", "Saved", message, **fields))


def _again(run: Run, refused: Refusal, where: str = "") -> Plan:
    plan = retry(run, refused, where)
    return plan if "requeue" in plan else _ended(run, plan)


def _ended(run: Run, plan: Plan) -> Plan:
    """With the time after which the backup deletes itself; one that is over at once comes back a moment later."""
    ttl = _ttl(run)
    return {**plan, "requeue": "" if ttl is None else go_duration(max(float(ttl), 1.0))}


def _keep(run: Run) -> Plan:
    """A finished backup. An edit of its spec can only be of retention and ttl."""
    completed = run.status.get("phase") == "Completed"
    if completed and "store" not in run.reads:
        return {"next": "keep"}
    patch: dict[str, Any] = {}
    there = first(run.reads.get("store"))
    if there and belongs_to(there, run.uid):
        patch = owner_patch(run.object, there, _retention(run))
    left = _time_left(run)
    generation = whole(run.meta.get("generation"))
    seen = whole(run.status.get("observedGeneration")) == generation
    return {
        "next": "tidy",
        "definition": patch,
        "expired": left is not None and left <= 0,
        "status": {**({} if seen else {"observedGeneration": generation}), **kept_again(run)},
        "requeue": go_duration(left) if left is not None and left > 0 else "",
    }


def _time_left(run: Run) -> float | None:
    """Seconds until the backup is to go; None for never. After a clock was set back it is no longer than the ttl."""
    ttl, ended = _ttl(run), parse_time(run.status.get("completionTime"))
    if ttl is None:
        return None
    due = (ended or run.now) + timedelta(seconds=ttl)
    return min((due - run.now).total_seconds(), float(ttl))


def _ttl(run: Run) -> int | None:
    text = str(run.spec.get("ttlSecondsAfterFinished", ""))  # Ansible 2.18 makes texts of numbers
    return int(text) if text.isdecimal() else None


def _kind(run: Run) -> str:
    return "ConfigMap" if run.spec.get("store") == "ConfigMap" else "Secret"


def _retention(run: Run) -> str:
    return str(run.spec.get("retention") or "Retain")
