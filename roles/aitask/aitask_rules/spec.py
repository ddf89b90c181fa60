"""From the spec of a CR to a `Spec`, or a `SpecError` that names the field and the cure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .diagnosis import parse_diagnose
from .model import DOWN, SYMBOLS, UP, UTILISATION, Diagnose, Raise, Scale, Spec
from .values import mapping, parse_quantity

ACTIONS = {
    name.lower(): name
    for name in ("scale", "scaleUp", "scaleDown", "restart", "rollback", "patchResources", "notify", "diagnose")
}
KNOWN_ACTIONS = "scale, scale-up, scale-down, restart, rollback, patchResources, notify, diagnose"
METRICS = (*UTILISATION, "UnavailableReplicas", "ContainerRestarts", "Prometheus")


class SpecError(ValueError):
    """The spec cannot be worked on; only an edit helps."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def parse_spec(raw: Mapping[str, Any], time_scale: float = 1.0) -> Spec:
    """`time_scale` stretches every duration; it is 1 but in tests."""
    metric, evaluation = mapping(raw.get("metric")), mapping(raw.get("evaluation"))
    prometheus = mapping(metric.get("prometheus"))
    policy, notify = mapping(raw.get("policy")), mapping(raw.get("notify"))
    asked = _action(raw.get("action"))
    diagnose = _diagnose(raw) if asked == "diagnose" else None
    action = diagnose.fallback if diagnose else asked
    comparison = _choice(raw, "comparison", "GreaterThan", tuple(SYMBOLS))
    threshold = _number(raw, "threshold", None, 0)
    clear = _number(raw, "clearThreshold", threshold, 0)
    spec = Spec(
        target=_text(raw, "targetDeployment"),
        threshold=threshold,
        clear_threshold=clear,
        comparison=comparison,
        action="scale" if action in ("scaleUp", "scaleDown") else action,
        metric=_choice(metric, "type", "CPUUtilization", METRICS, "metric."),
        container=str(metric.get("container") or ""),
        aggregation=_choice(metric, "aggregation", "Average", ("Average", "Max"), "metric."),
        window=_number(metric, "windowSeconds", 300, 1) * time_scale,
        provider=str(prometheus.get("providerRef") or "default"),
        query=str(prometheus.get("query") or ""),
        interval=_number(raw, "intervalSeconds", 60, 1) * time_scale,
        suspend=raw.get("suspend") is True,
        dry_run=raw.get("dryRun") is True,
        history_limit=_number(raw, "historyLimit", 10, 0),
        consecutive=_number(evaluation, "consecutiveBreaches", 1, 1),
        on_missing=_choice(evaluation, "onMissingData", "Hold", ("Hold", "Breach", "Healthy"), "evaluation."),
        max_sample_age=_number(evaluation, "maxSampleAgeSeconds", 180, 1) * time_scale,
        cooldown=_number(policy, "cooldownSeconds", 300, 0) * time_scale,
        per_hour=_number(policy, "maxActionsPerHour", 4, 1),
        max_ineffective=_number(policy, "maxIneffectiveActions", 3, 1),
        approval=_choice(policy, "approval", _approval(diagnose), ("Never", "OnDiagnosis", "Always"), "policy."),
        approval_timeout=_number(policy, "approvalTimeoutSeconds", 3600, 1) * time_scale,
        scale=_scale(mapping(raw.get("scale")), action, comparison, time_scale),
        to_revision=_optional(mapping(raw.get("rollback")), "toRevision"),
        **_growth(mapping(raw.get("patchResources")), (asked, *(diagnose.allowed if diagnose else ()))),
        on_change_only=notify.get("onChangeOnly") is not False,
        webhook=str(notify.get("webhookRef") or ""),
        template=None if raw.get("template") is None else mapping(raw["template"]),
        replicas=None if raw.get("replicas") is None else _number(raw, "replicas", None, 0),
        diagnose=diagnose,
        decided_by="" if diagnose else "rule",
    )
    _check(spec)
    return spec


def _check(spec: Spec) -> None:
    """What the CRD refuses as well, for clusters that could not check it, and what it cannot say."""
    greater = spec.comparison.startswith("Greater")
    if spec.clear_threshold > spec.threshold if greater else spec.clear_threshold < spec.threshold:
        raise SpecError("InvalidSpec", "clearThreshold must lie on the healthy side of threshold")
    if spec.scale.minimum > spec.scale.maximum:
        raise SpecError("InvalidSpec", "scale.minReplicas must not be greater than scale.maxReplicas")
    if spec.on_missing == "Breach" and spec.mutates:
        raise SpecError("InvalidSpec", "evaluation.onMissingData Breach is only allowed with action notify")
    if spec.metric == "Prometheus" and not spec.query.strip():
        raise SpecError("InvalidSpec", "metric.prometheus.query must be a query in PromQL")
    used = spec.comparison == "GreaterThan" and spec.metric in UTILISATION
    always = used or spec.comparison == "GreaterThanOrEqual"
    if spec.threshold == 0 and always:
        sign = SYMBOLS[spec.comparison]
        raise SpecError("InvalidSpec", f"{spec.metric} {sign} 0 is always true; use suspend to switch off")


def _action(raw: Any) -> str:
    text = str(raw or "")
    name = ACTIONS.get(text.replace("-", "").replace("_", "").lower())
    if name is None:
        raise SpecError("UnknownAction", f"action {text[:64]!r} is not known; known are {KNOWN_ACTIONS}")
    return name


def _diagnose(raw: Mapping[str, Any]) -> Diagnose:
    """patchResources is not offered where the spec says not what to raise: 0.1.0 took such tasks and never chose."""
    try:
        found = parse_diagnose(mapping(raw.get("diagnose")))
    except ValueError as error:
        raise SpecError("InvalidSpec", str(error)) from error
    known = tuple(action for action in found.allowed if action != "patchResources" or raw.get("patchResources"))
    return replace(found, allowed=known)


def _approval(diagnose: Diagnose | None) -> str:
    """What policy.approval means where it is not set: a model that may change something needs a person."""
    return "OnDiagnosis" if diagnose and set(diagnose.allowed) - {"notify"} else "Never"


def _growth(raw: Mapping[str, Any], actions: tuple[str, ...]) -> dict[str, Any]:
    """Fields `container_to_raise` and `raises` of the spec, whose action is one of these."""
    if "patchResources" not in actions:
        return {"container_to_raise": "", "raises": ()}
    raises = [
        Raise(resource, _number(raw, percent, None, 1), *_most(raw, maximum))
        for resource, percent, maximum in (("cpu", "cpuPercent", "maxCPU"), ("memory", "memoryPercent", "maxMemory"))
        if raw.get(percent) is not None
    ]
    if not raises:
        raise SpecError("InvalidSpec", "patchResources.cpuPercent or patchResources.memoryPercent is needed")
    return {"container_to_raise": _text(raw, "container", "patchResources."), "raises": tuple(raises)}


def _most(raw: Mapping[str, Any], name: str) -> tuple[Any, str]:
    amount = parse_quantity(raw.get(name))
    if amount is None or amount <= 0:
        raise SpecError("InvalidSpec", f"patchResources.{name} must be a quantity greater than 0")
    return amount, str(raw[name])


def _optional(raw: Mapping[str, Any], name: str) -> int | None:
    return None if raw.get(name) is None else _number(raw, name, None, 1)


def _scale(raw: Mapping[str, Any], action: str, comparison: str, time_scale: float) -> Scale:
    said = {"scaleUp": UP, "scaleDown": DOWN}.get(action)
    chosen = _choice(raw, "direction", said or (UP if comparison.startswith("Greater") else DOWN), (UP, DOWN), "scale.")
    if said is not None and chosen != said:
        raise SpecError("InvalidSpec", f"scale.direction {chosen} contradicts the action; leave one of them out")
    back = raw.get("returnAfterSeconds")
    if back is not None and chosen == DOWN:
        raise SpecError("InvalidSpec", "scale.returnAfterSeconds is the way back of a task that scales up")
    return Scale(
        direction=chosen,
        minimum=_number(raw, "minReplicas", 1, 0),
        maximum=_number(raw, "maxReplicas", 10, 1),
        step=_number(raw, "step", 1, 1),
        return_after=None if back is None else _number(raw, "returnAfterSeconds", None, 1) * time_scale,
    )


def _number(raw: Mapping[str, Any], name: str, default: int | None, least: int) -> int:
    value = raw.get(name)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SpecError("InvalidSpec", f"{name} must be a whole number, at least {least}")
    return value


def _choice(raw: Mapping[str, Any], name: str, default: str, known: tuple[str, ...], within: str = "") -> str:
    value = raw.get(name)
    value = default if value is None else value
    if value not in known:
        raise SpecError("InvalidSpec", f"{within}{name} must be one of {', '.join(known)}")
    return str(value)


def _text(raw: Mapping[str, Any], name: str, within: str = "") -> str:
    value = raw.get(name)
    if not isinstance(value, str) or not value:
        raise SpecError("InvalidSpec", f"{within}{name} must be a name")
    return value
