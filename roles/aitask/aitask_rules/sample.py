"""One reading of the metric. Whatever is missing, unreadable, stale or ambiguous is no value; 0 is one."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from .model import UTILISATION, Sample, Spec, Target
from .prometheus import query_sample
from .values import items, mapping, one_line, parse_quantity, parse_time

Pod = Mapping[str, Any]
_FUTURE = timedelta(seconds=60)


def take_sample(spec: Spec, target: Target, reads: Mapping[str, Any], now: datetime, young: float) -> Sample:
    """`reads` holds the results of the read tasks under `pods` and `metrics`; `young` is the age in seconds below which
    the use of a pod says nothing yet."""
    if spec.metric == "Prometheus":
        return query_sample(spec, target.namespace, reads)
    if spec.metric == "UnavailableReplicas":
        missing = max(0, target.replicas - target.available)
        return Sample(Fraction(missing), message=f"{target.available} of {target.replicas} available")
    pods = _listed(mapping(reads.get("pods")), "pods")
    if isinstance(pods, Sample):
        return pods
    own = [pod for pod in pods if belongs(pod, target)]
    if spec.metric == "ContainerRestarts":
        return _restarts(own, spec, now)
    return _utilisation(own, spec, mapping(reads.get("metrics")), now, young)


def needed_reads(spec: Spec) -> dict[str, bool]:
    """What a sample of this metric has to read besides the target."""
    used = spec.metric in UTILISATION
    return {
        "pods": used or spec.metric == "ContainerRestarts",
        "metrics": used,
        "query": spec.metric == "Prometheus",
    }


def _listed(result: Mapping[str, Any], what: str) -> list[Pod] | Sample:
    """The objects of a list task, or why there are none to be had. The task does not fail, so that this can say it."""
    if result.get("api_found") is False:
        return Sample(None, "NoData", f"the cluster serves no {what}")
    if "resources" in result:
        return [mapping(entry) for entry in items(result["resources"])]
    text = str(result.get("msg", "not read"))
    if "Forbidden" in text or "403" in text:
        return Sample(None, "Forbidden", f"the operator may not list {what}")
    return Sample(None, "ProviderUnreachable", f"{what} cannot be read: {one_line(text, 200)}")


def belongs(pod: Pod, target: Target) -> bool:
    """Labels may overlap; the name of the owning ReplicaSet says whose pod it is without reading the ReplicaSet."""
    meta = mapping(pod.get("metadata"))
    name = f"{target.name}-{mapping(meta.get('labels')).get('pod-template-hash')}"
    owners = [mapping(owner) for owner in items(meta.get("ownerReferences"))]
    own = any(o.get("kind") == "ReplicaSet" and o.get("name") == name and o.get("controller") for o in owners)
    return own and not meta.get("deletionTimestamp")


def _restarts(pods: Sequence[Pod], spec: Spec, now: datetime) -> Sample:
    if not pods:
        return Sample(None, "NoReadyPods", "the target has no pods")
    statuses = [
        mapping(entry) for pod in pods for entry in items(mapping(pod.get("status")).get("containerStatuses"))
        if spec.container in ("", mapping(entry).get("name"))
    ]  # fmt: skip
    if not statuses:
        what = f"container {spec.container}" if spec.container else "container status"
        return Sample(None, "NoData", f"no pod has a {what}")
    since = now - timedelta(seconds=spec.window)
    ended = [moment for status in statuses if (moment := _last_end(status)) is not None and moment >= since]
    return Sample(Fraction(len(ended)), message=f"{len(statuses)} containers")


def _last_end(status: Mapping[str, Any]) -> datetime | None:
    ended = [mapping(mapping(status.get(when)).get("terminated")) for when in ("state", "lastState")]
    ends = [parse_time(entry.get("finishedAt")) for entry in ended]
    return max((end for end in ends if end is not None), default=None)


def _utilisation(pods: Sequence[Pod], spec: Spec, result: Mapping[str, Any], now: datetime, young: float) -> Sample:
    grown = [pod for pod in pods if _ready(pod) and _age(pod, now) >= young]
    if not grown:
        return Sample(None, "NoReadyPods", f"none of {len(pods)} pods is ready and {young:.0f} s old")
    listed = _listed(result, "pod metrics")
    if isinstance(listed, Sample):
        return listed
    by_name = {mapping(entry.get("metadata")).get("name"): entry for entry in listed}
    shares: list[tuple[Fraction, Fraction, datetime | None]] = []
    faults: list[Sample] = []
    for pod in grown:
        share = _share(pod, by_name.get(mapping(pod.get("metadata")).get("name")), spec, now)
        if isinstance(share, Sample):
            if share.reason == "MissingRequests":
                return share
            faults.append(share)
        else:
            shares.append(share)
    # A few pods without a sample are normal; a number that most pods have no part in is not the target's. Where the
    # silent pods may be the busy ones, none may be missing.
    partial = spec.comparison.startswith("Greater") and spec.aggregation == "Average"
    if len(shares) * 2 <= len(grown) or (faults and not partial):
        fault = faults[0]
        return Sample(None, fault.reason, f"{fault.message} ({len(shares)} of {len(grown)} pods have a sample)")
    times = [time for _, _, time in shares if time is not None]
    return Sample(
        _percent(shares, spec.aggregation),
        message=f"{len(shares)} pods" if not faults else f"{len(shares)} of {len(grown)} pods",
        time=min(max(times), now) if times else None,
    )


def _percent(shares: Sequence[tuple[Fraction, Fraction, datetime | None]], aggregation: str) -> Fraction:
    if aggregation == "Max":
        return max(100 * used / asked for used, asked, _ in shares)
    return 100 * sum((used for used, _, _ in shares), Fraction(0)) / sum((asked for _, asked, _ in shares), Fraction(0))


def _share(
    pod: Pod, metrics: Pod | None, spec: Spec, now: datetime
) -> tuple[Fraction, Fraction, datetime | None] | Sample:
    """Use and request of one pod, or why it has none to offer."""
    resource = "cpu" if spec.metric == "CPUUtilization" else "memory"
    pod_name = mapping(pod.get("metadata")).get("name")
    asked = _requests(pod, resource, spec.container)
    if isinstance(asked, Sample):
        return asked
    if metrics is None:
        return Sample(None, "NoData", f"no metrics of pod {pod_name}")
    time = parse_time(metrics.get("timestamp"))
    if time is not None and time > now + _FUTURE:
        return Sample(None, "StaleSample", f"the sample of pod {pod_name} lies in the future")
    if time is not None and time < now - timedelta(seconds=spec.max_sample_age):
        return Sample(None, "StaleSample", f"the sample of pod {pod_name} is older than {spec.max_sample_age:g} s")
    entries = [mapping(entry) for entry in items(metrics.get("containers"))]
    used = {entry.get("name"): mapping(entry.get("usage")).get(resource) for entry in entries}
    total = Fraction(0)
    for name in asked:
        if used.get(name) is None:
            return Sample(None, "NoData", f"no {resource} of container {name} in pod {pod_name}")
        amount = parse_quantity(used[name])
        if amount is None or amount < 0:
            return Sample(None, "NotANumber", f"{resource} of container {name} in pod {pod_name} is no number")
        total += amount
    return total, sum(asked.values(), Fraction(0)), time


def _requests(pod: Pod, resource: str, only: str) -> dict[str, Fraction] | Sample:
    spec = mapping(pod.get("spec"))
    sidecars = [entry for entry in items(spec.get("initContainers")) if mapping(entry).get("restartPolicy") == "Always"]
    asked: dict[str, Fraction] = {}
    for entry in (*items(spec.get("containers")), *sidecars):
        container = mapping(entry)
        name = str(container.get("name"))
        if only not in ("", name):
            continue
        amount = parse_quantity(mapping(mapping(container.get("resources")).get("requests")).get(resource))
        if amount is None or amount <= 0:
            return Sample(None, "MissingRequests", f"container {name} requests no {resource}")
        asked[name] = amount
    return asked or Sample(None, "NoData", f"no pod has a container {only}")


def _ready(pod: Pod) -> bool:
    conditions = [mapping(entry) for entry in items(mapping(pod.get("status")).get("conditions"))]
    return any(entry.get("type") == "Ready" and entry.get("status") == "True" for entry in conditions)


def _age(pod: Pod, now: datetime) -> float:
    started = parse_time(mapping(pod.get("status")).get("startTime"))
    started = started or parse_time(mapping(pod.get("metadata")).get("creationTimestamp"))
    return max(0.0, (now - started).total_seconds()) if started else 0.0
