"""The steps by which a task brings about the Deployment it owns, before anything is measured.

own       what may forbid it: read the operator's configuration, the guard, and the autoscalers where `reads` says so
take      patch with `definition`: fields that others have written become the template's own
apply     apply `definition`, by force where `force` says so
resize    patch with `definition`
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .act import refusal
from .answers import is_terminating, server_words
from .events import about_task
from .gates import must_resize, size_hold
from .model import Condition, Hold, Spec, Target
from .owned import application, must_apply, resizing
from .permission import has_read_all, keeps_off
from .report import Ending, Pass, conclude, look_again, retry_wait
from .rests import at_rest, no_target, terminal
from .takeover import taking
from .target import parse_target
from .values import first, mapping, one_line

Plan = dict[str, Any]
_WRITES = ("taken", "applied", "resized")
"""Results of the writes of these steps, in their order."""
_REFUSED = "InvalidSpec"


def bring_about(here: Pass, spec: Spec, found: Mapping[str, Any]) -> Plan | Hold | None:
    """The next step, or None where the Deployment is as it should be; a Hold where it is not, and stays as it is.

    `found` is empty where there is none."""
    target = parse_target(found, here.task.uid)
    for name in _WRITES:
        result = mapping(here.reads.get(name))
        if result and (reason := _refusal(result)):
            return _refused(here, spec, found, reason, str(result.get("msg", "")))
    to_apply = "applied" not in here.reads and must_apply(spec, here.task, found)
    to_resize = "resized" not in here.reads and must_resize(spec.replicas, target)
    is_read = has_read_all(here) and ("autoscalers" in here.reads or not to_resize)
    if (to_apply or to_resize) and not is_read:
        return {"next": "own", "reads": {"autoscalers": to_resize}}
    hold = keeps_off(here) if to_apply or to_resize else None
    if hold is not None:
        hold = replace(hold, message=f"would apply spec.template, but {hold.message}")
        return hold if found else _waits(here, spec, target, hold.reason, hold.message)
    if to_apply:
        return _apply(here, spec, target, found)
    if to_resize and size_hold(spec.replicas, target, here.reads) is None:
        return {"next": "resize", "definition": resizing(spec, target)}
    return _made(here, spec, target) if _is_new(here) else None


def _apply(here: Pass, spec: Spec, target: Target, found: Mapping[str, Any]) -> Plan:
    """After a refusal everything in the pod template is made the template's own first, not only what an act has
    written: somebody may have put there what excludes what it says."""
    refused = here.old_condition("Ready").get("reason") == _REFUSED
    taken = taking(found, refused) if "taken" not in here.reads and (target.departed or refused) else None
    if taken is not None:
        return {"next": "take", "definition": taken}
    return {"next": "apply", **application(spec, here.task, found)}


def newest(here: Pass, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The Deployment as the last write of this pass left it."""
    written = [mapping(mapping(here.reads.get(name)).get("result")) for name in reversed(_WRITES)]
    return next((one for one in written if one.get("kind") == "Deployment"), found)


def news_of(here: Pass, target: Target) -> list[Any]:
    """One Event for each template that was applied and changed something."""
    before = parse_target(first(here.reads.get("deployment")), "")
    if "applied" not in here.reads or (before.uid, before.generation) == (target.uid, target.generation):
        return []
    text = f"Deployment {target.name} is brought to spec.template"
    return [about_task(here.task, "TemplateApplied", text, "Normal", here.now, f"{target.uid}|{target.generation}")]


def _refusal(result: Mapping[str, Any]) -> str | None:
    """As of any write; but an apply that cannot be understood is as wrong as one that is not valid. A webhook that
    denies it without saying how is none of that."""
    reason = refusal(result)
    text = str(result.get("msg", ""))
    unreadable = str(result.get("reason")) == "Bad Request" and "denied the request" not in text
    return "Invalid" if reason is not None and unreadable else reason


def _is_new(here: Pass) -> bool:
    return "applied" in here.reads and not first(here.reads.get("deployment"))


def _made(here: Pass, spec: Spec, target: Target) -> Plan:
    """It has no pods yet: there is nothing to measure in this pass."""
    text = f"made Deployment {target.name} from spec.template; its pods are being started"
    conditions = [
        Condition("Ready", "True", "Evaluated", text),
        Condition("MetricsAvailable", "False", "NoReadyPods", text),
        Condition("ThresholdBreached", "Unknown", "NoData", text),
        Condition("ActionPermitted", "Unknown", "NotBreached", text),
    ]
    state = at_rest(here.state, missing=0, observed_value="", ineffective=0)
    wait = retry_wait(here, "Ready", spec.interval)
    return conclude(here, spec, state, target, conditions, Ending("Pending", wait, events=news_of(here, target)))


def _refused(here: Pass, spec: Spec, found: Mapping[str, Any], reason: str, text: str) -> Plan:
    """A conflict is somebody else's write at the same moment: look again. The rest is said."""
    if is_terminating(text):
        return {"next": "stop"}
    if reason == "Conflict":
        return look_again("the Deployment has moved", "2s")
    message = f"spec.template cannot be applied: {one_line(server_words(text), 600)}"
    if reason == "Invalid" and (not found or taking(found, everything=True) is None):
        return terminal(here, _REFUSED, message)
    # Others have written into the pod template: the next pass takes that over first, and then it may be accepted.
    target = parse_target(found, here.task.uid)
    return _waits(here, spec, target, _REFUSED if reason == "Invalid" else reason, message)


def _waits(here: Pass, spec: Spec, target: Target, reason: str, text: str) -> Plan:
    """Tried again. What is there already goes on running; nothing is decided on it meanwhile."""
    if not target.uid:
        return no_target(here, spec, "TargetNotFound", f"{text}; Deployment {spec.target} does not exist", reason)
    conditions = [
        Condition("Ready", "False", reason, text),
        Condition("ActionPermitted", "Unknown", "NotBreached", text),
    ]
    return conclude(
        here, spec, at_rest(here.state), target, conditions, Ending(wait=retry_wait(here, "Ready", spec.interval))
    )
