"""What the pods of the target say: states, ends, restarts. Sentences for the evidence, with names still in them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..model import Target
from ..sample import belongs
from ..values import items, mapping, whole

Pod = Mapping[str, Any]
_MOST = 8
"""Pods that are told one by one."""


def own_pods(result: Any, target: Target) -> list[Pod]:
    """Those of the target, by name, from the result of the task that lists pods."""
    listed = [mapping(pod) for pod in items(mapping(result).get("resources"))]
    return sorted((pod for pod in listed if belongs(pod, target)), key=name_of)


def name_of(found: Mapping[str, Any]) -> str:
    return str(mapping(found.get("metadata")).get("name", ""))


def statuses_of(pod: Pod) -> list[Mapping[str, Any]]:
    """Of init containers first, as they run first."""
    status = mapping(pod.get("status"))
    kinds = ("initContainerStatuses", "containerStatuses")
    return [mapping(entry) for kind in kinds for entry in items(status.get(kind))]


def is_troubled(pod: Pod) -> bool:
    conditions = [mapping(entry) for entry in items(mapping(pod.get("status")).get("conditions"))]
    ready = any(entry.get("type") == "Ready" and entry.get("status") == "True" for entry in conditions)
    return not ready or any(whole(status.get("restartCount")) for status in statuses_of(pod))


def pod_lines(pods: Sequence[Pod], *, with_logs: bool) -> Iterator[str]:
    """Those that are well in one sentence, the others one by one. What a container leaves as it ends is its own writing
    (terminationMessagePath), or the end of its log (FallbackToLogsOnError): told only `with_logs`."""
    troubled = [pod for pod in pods if is_troubled(pod)]
    if len(pods) > len(troubled):
        yield f"{len(pods) - len(troubled)} of {len(pods)} pods are ready and have never restarted"
    for pod in troubled[:_MOST]:
        yield _about(pod)
        for status in statuses_of(pod):
            yield from _container(name_of(pod), status, with_logs=with_logs)
    if len(troubled) > _MOST:
        yield f"{len(troubled) - _MOST} more pods are not ready or have restarted"


def _about(pod: Pod) -> str:
    status = mapping(pod.get("status"))
    node = mapping(pod.get("spec")).get("nodeName")
    text = f"pod {name_of(pod)} {f'on node {node}' if node else 'without a node'}: phase {status.get('phase')}"
    text += _told(status)
    failed = [mapping(entry) for entry in items(status.get("conditions")) if mapping(entry).get("status") != "True"]
    for condition in sorted(failed, key=lambda entry: str(entry.get("type"))):
        text += f"; {condition.get('type')} is {condition.get('status')}{_told(condition)}"
    return text


def _container(pod: str, status: Mapping[str, Any], *, with_logs: bool) -> Iterator[str]:
    who = f"container {status.get('name')} of pod {pod}"
    state, last = mapping(status.get("state")), mapping(mapping(status.get("lastState")).get("terminated"))
    restarts = about(whole(status.get("restartCount")))
    if "waiting" in state:
        yield f"{who} is waiting{_told(mapping(state['waiting']))}; restarts: {restarts}"
    if "terminated" in state:
        yield f"{who} is terminated{_ended(mapping(state['terminated']), with_logs=with_logs)}; restarts: {restarts}"
    if "running" in state and (restarts != "0" or status.get("ready") is not True):
        yield f"{who} is running and {'ready' if status.get('ready') is True else 'not ready'}; restarts: {restarts}"
    if last:
        yield f"{who} was terminated before{_ended(last, with_logs=with_logs)}"


def _ended(state: Mapping[str, Any], *, with_logs: bool) -> str:
    code = f" with exit code {whole(state['exitCode'])}" if "exitCode" in state else ""
    signal = f" by signal {whole(state['signal'])}" if state.get("signal") else ""
    return code + signal + _told(state if with_logs else {"reason": state.get("reason")})


def _told(said: Mapping[str, Any]) -> str:
    """Reason and message, where there are any."""
    reason, message = said.get("reason"), said.get("message")
    return (f", {reason}" if reason else "") + (f": {message}" if message else "")


def about(count: int) -> str:
    """A count by its size: one more of many is no news that would be worth another question."""
    return str(count) if count < 3 else next(f"{least} or more" for least in (100, 30, 10, 3) if count >= least)


def log_source(target: Target, pods: Any) -> dict[str, Any]:
    """Whose logs are worth reading: `pod`, `container` and `previous` (as it was before its last restart), of the first
    container that is not ready or has restarted. Empty if all are well."""
    for pod in own_pods(pods, target):
        for status in statuses_of(pod):
            ended = mapping(mapping(status.get("state")).get("terminated"))
            failed = bool(ended) and whole(ended.get("exitCode")) != 0
            waits = "waiting" in mapping(status.get("state"))
            restarted = whole(status.get("restartCount")) > 0
            if failed or restarted or ("running" in mapping(status.get("state")) and status.get("ready") is not True):
                return {"pod": name_of(pod), "container": str(status.get("name", "")), "previous": restarted and waits}
    return {}
