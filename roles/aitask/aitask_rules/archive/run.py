"""What a backup and a restore share as runs: each happens once for its uid, counts its starts, and ends for good."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..answers import answer_in, is_terminating, redacted
from ..memory import condition_of, merge_conditions
from ..model import Condition
from ..values import items, mapping, one_line, parse_time, whole

FINAL = ("Completed", "PartiallyFailed", "Failed")
MAX_ATTEMPTS = 3
_SHOWN = 10
_NETWORK = re.compile(r"connection|timed out|time-?out|no answer", re.IGNORECASE)


@dataclass(frozen=True)
class Run:
    """The object, its spec with defaults, and what was read for it so far in this pass, by name of the read."""

    object: Mapping[str, Any]
    spec: Mapping[str, Any]
    reads: Mapping[str, Any]
    now: datetime
    stamp: str
    rehearses: bool
    """Nothing is written, since the object or Ansible's check mode says so."""
    operator_namespace: str
    require_guard: bool
    """Whether whoever runs the role asks for the guard; the configuration may still do without it."""

    @property
    def meta(self) -> Mapping[str, Any]:
        return mapping(self.object.get("metadata"))

    @property
    def status(self) -> Mapping[str, Any]:
        return mapping(self.object.get("status"))

    @property
    def uid(self) -> str:
        return str(self.meta.get("uid"))

    @property
    def namespace(self) -> str:
        return str(self.meta.get("namespace"))

    @property
    def attempts(self) -> int:
        """Starts before this one."""
        return whole(self.status.get("attempts"))

    @property
    def is_final(self) -> bool:
        return self.status.get("phase") in FINAL

    @property
    def is_going(self) -> bool:
        """It is being deleted, and its status is of no interest any more."""
        return bool(self.meta.get("deletionTimestamp"))


def parse_run(world: Mapping[str, Any]) -> Run:
    """From the variables of a role. `now` is RFC 3339; `reads` are results of tasks."""
    spec = mapping(world.get("spec"))
    now = parse_time(world.get("now"))
    if now is None:
        raise ValueError(f"now is no time: {world.get('now')!r}")
    return Run(
        object=mapping(world.get("object")),
        spec=spec,
        reads=mapping(world.get("reads")),
        now=now,
        stamp=str(world["now"]),
        rehearses=spec.get("dryRun") is True or world.get("check_mode") is True,
        operator_namespace=str(world.get("operator_namespace", "")),
        require_guard=world.get("require_guard") is not False,
    )


def begin(run: Run, words: str, **fields: Any) -> dict[str, Any]:
    """The status of a start, written before anything is done: a start that ends nowhere has been counted."""
    started = run.status.get("startTime") or run.stamp
    condition = Condition("Complete", "False", "Running", words)
    return status_with(run, "Running", condition, startTime=started, attempts=run.attempts + 1, **fields)


def end(run: Run, phase: str, reason: str, message: str, **fields: Any) -> dict[str, Any]:
    """The plan that ends a run for good."""
    condition = Condition("Complete", "True" if phase == "Completed" else "False", reason, message)
    fields = {"startTime": run.status.get("startTime") or run.stamp, "completionTime": run.stamp, **fields}
    return {"next": "report", "status": status_with(run, phase, condition, **fields), "failed": phase != "Completed"}


def worn_out(run: Run, what: str) -> dict[str, Any]:
    """Started too often: something about it ends the operator, or the server will not have it."""
    last = one_line(condition_of(run.status, "Complete").get("message", ""), 400)
    text = f"started {run.attempts} times and never ended, given up; make a new {what}"
    return end(run, "Failed", "TooManyAttempts", f"{text}; said last: {last}" if last else text)


def status_with(run: Run, phase: str, condition: Condition, **fields: Any) -> dict[str, Any]:
    """A merge patch of the status. Of the conditions it has this one only: k8s_status merges them by type."""
    generation = whole(run.meta.get("generation"))
    conditions = merge_conditions(items(run.status.get("conditions")), [condition], generation, run.now)
    own = [entry for entry in conditions if entry["type"] == condition.type]
    return {"phase": phase, "observedGeneration": generation, **fields, "conditions": own}


# --- what the server answers ---


@dataclass(frozen=True)
class Refusal:
    """Why a request failed. `code` is its HTTP status, 0 where nobody answered."""

    code: int
    words: str

    @property
    def passes(self) -> bool:
        """Whether the same request may succeed a moment later."""
        return self.code in (0, 408, 425, 429) or self.code >= 500

    @property
    def reason(self) -> str:
        """For a condition. Without an answer it may as well be a fault of the role, as long as no network is named."""
        if self.code == 403:
            return "Forbidden"
        return "ServerTrouble" if self.code or _NETWORK.search(self.words) else "InternalError"

    @property
    def is_terminating(self) -> bool:
        """Nothing can be made in a namespace that is being deleted; that is nobody's fault."""
        return self.code == 403 and is_terminating(self.words)


def refusal(result: Any) -> Refusal | None:
    """What is wrong with the result of a task of kubernetes.core; None if nothing is."""
    found = mapping(result)
    if not found.get("failed") and "msg" not in found:
        return None
    return parse_refusal(str(found.get("msg", "no answer")))


def parse_refusal(text: str) -> Refusal:
    """From a message of kubernetes.core, which repeats the body of the answer: a Status, often as Python's `b'…'`."""
    body = answer_in(text)
    if body is None:
        code = re.search(r"\b([45]\d\d)\b", text[:200])
        return Refusal(int(code[1]) if code else 0, one_line(redacted(text), 400))
    return Refusal(whole(body.get("code")), one_line(redacted(str(body.get("message", ""))), 400))


def listed(names: list[str]) -> str:
    """Names for a message."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(one_line(name, 253) for name in names[:_SHOWN]) + more
