"""What becomes of each task of a restore: first what is to happen to it, then what the server made of that."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..values import items, mapping, one_line
from .content import Unreadable
from .objects import RESTORED_AS, RESTORED_BY, lost, replacement
from .run import Refusal, Run, end, listed, parse_refusal, refusal

_RESULTS = 400
_MESSAGE = 512
_RESTORED = ("Created", "Updated", "Unchanged", "WouldCreate", "WouldUpdate")


class _Pending(NamedTuple):
    create: str
    update: str


PENDING = _Pending("create", "update")
"""Outcomes that are still to come."""


@dataclass(frozen=True)
class Result:
    """`outcome` as the CRD lists them, or one of PENDING. `passes`: it failed, but may not do so the next time; `code`
    is the HTTP status then."""

    outcome: str
    message: str = ""
    passes: bool = False
    code: int = 0


def choose(
    run: Run, entries: Sequence[Mapping[str, Any]], existing: Mapping[str, Mapping[str, Any]]
) -> dict[str, Result]:
    """By name, what is to be done. Raises Unreadable (TasksExist) where existing tasks forbid all of it.

    What carries the mark of this very restore is done already: it was started before."""
    results = {str(entry["metadata"]["name"]): _wanted(run, entry, existing) for entry in entries}
    foreign = [name for name, result in results.items() if result.outcome == "Exists"]
    begun = any(_mark(existing.get(name, {})) == run.uid for name in results)
    if foreign and not begun:
        raise Unreadable("TasksExist", f"existingPolicy is Fail and there are {listed(foreign)}")
    late = Result("Failed", "it was made by somebody else after this restore had begun")
    return {name: late if result.outcome == "Exists" else result for name, result in results.items()}


def _wanted(run: Run, entry: Mapping[str, Any], existing: Mapping[str, Mapping[str, Any]]) -> Result:
    there = existing.get(str(entry["metadata"]["name"]))
    if there is None:
        return Result(PENDING.create)
    if _mark(there) == run.uid:
        return Result("Updated" if _note(there, RESTORED_AS) == "Updated" else "Created")
    if run.spec.get("existingPolicy") == "Skip":
        return Result("Skipped", "it exists")
    if run.spec.get("existingPolicy") != "Overwrite":
        return Result("Exists")
    if there["metadata"].get("deletionTimestamp"):
        return Result("Failed", "it is being deleted")
    changes = replacement(entry, there, run.uid, run.spec.get("resumeTasks") is True)
    return Result(PENDING.update) if changes else Result("Unchanged", "it is as it was saved")


def judge(
    run: Run, outcomes: Mapping[str, Result], create: Sequence[Mapping[str, Any]], update: Sequence[Mapping[str, Any]]
) -> dict[str, Result] | None:
    """By name, what happened. None in a namespace that is being deleted, where nothing can."""
    judged = dict(outcomes)
    for sent, read, done in ((create, "created", "Create"), (update, "updated", "Update")):
        for manifest, answer in zip(sent, _answers(run.reads.get(read), len(sent)), strict=True):
            refused = _refused(run, answer)
            if refused and refused.is_terminating:
                return None
            if refused:
                result = Result("Failed", refused.words, refused.passes, refused.code)
            else:
                result = _done(f"Would{done}" if run.rehearses else f"{done}d", manifest, mapping(answer.get("result")))
            judged[manifest["metadata"]["name"]] = result
    return judged


def _answers(found: Any, count: int) -> list[Mapping[str, Any]]:
    """The answer to each manifest: kubernetes.core wraps them in a list only where there are several."""
    whole = mapping(found)
    several = items(mapping(whole.get("result")).get("results"))
    if count > 1 and len(several) == count:
        return [mapping(answer) for answer in several]
    return [whole] * count


def _refused(run: Run, answer: Mapping[str, Any]) -> Refusal | None:
    error = mapping(answer.get("error"))
    found = parse_refusal(str(error.get("msg", ""))) if error else refusal(answer)
    if found is None and _mark(mapping(answer.get("result"))) != run.uid:
        return Refusal(0, "it was not written: it has gone meanwhile")
    return found


def _done(outcome: str, manifest: Mapping[str, Any], made: Mapping[str, Any]) -> Result:
    """A field that the schema does not know is dropped by the server, and said here."""
    unknown = lost(manifest["spec"], made.get("spec"))
    text = f"the schema of this cluster does not know {listed(unknown)}; dropped" if unknown else ""
    return Result(outcome, text)


def tally(run: Run, judged: Mapping[str, Result], resting: Collection[str] = ()) -> dict[str, Any]:
    """The end of the restore: counts, and a result for each task, failed ones first. `resting` are the names of tasks
    that own a Deployment and are suspended."""
    restored = sum(result.outcome in _RESTORED for result in judged.values())
    skipped = sum(result.outcome == "Skipped" for result in judged.values())
    failed = [name for name, result in judged.items() if result.outcome == "Failed"]
    ordered = sorted(judged.items(), key=lambda pair: (pair[1].outcome != "Failed", pair[0]))
    entries = [
        {
            "name": name,
            "outcome": result.outcome,
            **({"message": one_line(result.message, _MESSAGE)} if result.message else {}),
        }
        for name, result in ordered[:_RESULTS]
    ]
    verb = "would restore" if run.rehearses else "restored"
    message = f"{verb} {restored}, skipped {skipped}, failed {len(failed)} of {len(judged)} tasks"
    owning = sum(result.outcome in _RESTORED for name, result in judged.items() if name in resting)
    if owning:
        message += f"; {owning} of them own a Deployment: it is made when suspend is false"
    fields = {"restored": restored, "skipped": skipped, "failed": len(failed), "results": entries}
    if not failed:
        return end(run, "Completed", "Rehearsed" if run.rehearses else "Restored", message, **fields)
    phase = "PartiallyFailed" if restored or skipped else "Failed"
    return end(run, phase, "TasksRefused", f"{message}: {listed(sorted(failed))}", **fields)


def _mark(task: Mapping[str, Any]) -> str:
    return _note(task, RESTORED_BY)


def _note(task: Mapping[str, Any], key: str) -> str:
    return str(mapping(mapping(task.get("metadata")).get("annotations")).get(key, ""))
