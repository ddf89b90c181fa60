"""From a sample to a judgement: compare, count, clear, and say whether an act is wanted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction

from .model import SYMBOLS, UP, Condition, Sample, Spec, State, Target, Verdict
from .values import format_value

_LABELS = {
    "CPUUtilization": ("cpu", "%"),
    "MemoryUtilization": ("memory", "%"),
    "UnavailableReplicas": ("unavailable replicas", ""),
    "ContainerRestarts": ("container restarts", ""),
    "Prometheus": ("query", ""),
}
_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
UNAVAILABLE_AFTER = 3


@dataclass(frozen=True)
class Evaluation:
    """What one pass makes of its sample."""

    state: State
    wants: str
    """Why an act is wanted: Breached or Return; empty if none is."""
    measured: str
    """The numbers, for every message of this pass."""
    conditions: Mapping[str, Condition]
    """MetricsAvailable and ThresholdBreached; absent where the last evaluation still stands."""


@dataclass(frozen=True)
class Moment:
    """When this pass comes in the life of the task."""

    now: datetime
    due: bool
    """An interval has passed: the evaluation completes and is written down."""
    fresh: bool
    """Nothing counted so far belongs to this spec and this target: counting starts anew, at once."""
    was_missing: bool
    """There was no data the last time, so that the first sample counts whenever it comes."""


def is_due(last: datetime | None, interval: float, now: datetime) -> bool:
    """0.9, because passes are spread by up to 10 % around the interval."""
    return last is None or now - last >= timedelta(seconds=0.9 * interval)


def evaluate(spec: Spec, before: State, target: Target, sample: Sample, moment: Moment) -> Evaluation:
    state = replace(before, breached=False, breaches=0, healthy_since=None) if moment.fresh else before
    if sample.value is None:
        return _without_data(spec, state, sample, moment)
    newer = sample.time is None or state.sample_time is None or sample.time > state.sample_time
    unsettled = target.is_unsettled_for(spec)
    counted = not unsettled and (moment.fresh or ((moment.due or moment.was_missing) and newer))
    if counted:
        state = _count(spec, state, sample.value, moment.now)
        state = replace(state, sample_time=sample.time or moment.now)
    shown = counted or moment.due or moment.fresh or moment.was_missing
    if shown:
        state = replace(state, observed_value=format_value(sample.value), last_execution=moment.now, missing=0)
    measured = _measured(spec, state, sample, sample.value)
    if unsettled:
        measured += f", not counted: {target.rollout}"
    conditions: dict[str, Condition] = {}
    if shown:
        conditions["MetricsAvailable"] = Condition("MetricsAvailable", "True", "Sampled", measured)
        conditions["ThresholdBreached"] = _threshold(state, measured)
    return Evaluation(state, _wanted(spec, state, target, sample.value, moment.now), measured, conditions)


def over(spec: Spec, value: Fraction) -> bool:
    return {
        "GreaterThan": value > spec.threshold,
        "GreaterThanOrEqual": value >= spec.threshold,
        "LessThan": value < spec.threshold,
        "LessThanOrEqual": value <= spec.threshold,
    }[spec.comparison]


def cleared(spec: Spec, value: Fraction) -> bool:
    """Back on the healthy side, past clearThreshold: only that ends a breach."""
    if over(spec, value):
        return False
    return value <= spec.clear_threshold if spec.comparison.startswith("Greater") else value >= spec.clear_threshold


def _count(spec: Spec, state: State, value: Fraction, now: datetime) -> State:
    if over(spec, value):
        return _judge(spec, replace(state, breached=True, breaches=state.breaches + 1, healthy_since=None))
    if state.breached and not cleared(spec, value):
        # Between clearThreshold and threshold: the breach goes on, but this sample is no reason to act sooner.
        return replace(state, healthy_since=None)
    state = replace(state, breached=False, breaches=0, told="", healthy_since=state.healthy_since or now)
    # After an edit a sample may lie short of clearThreshold: no breach, but no sign either that an act has helped.
    return replace(state, ineffective=0, verdict=None) if cleared(spec, value) else state


def _judge(spec: Spec, state: State) -> State:
    """One more breached sample after an act; enough of them, and the act did not help."""
    if state.verdict is None:
        return state
    samples = state.verdict.samples + 1
    if samples >= spec.consecutive:
        return replace(state, verdict=None, ineffective=state.ineffective + 1)
    return replace(state, verdict=Verdict(state.verdict.id, samples))


def _without_data(spec: Spec, state: State, sample: Sample, moment: Moment) -> Evaluation:
    measured = f"no data: {sample.message}"
    if not (moment.due or moment.fresh):
        return Evaluation(state, "", measured, {})
    state = replace(state, observed_value="", last_execution=moment.now, missing=state.missing + 1, healthy_since=None)
    breached = Condition("ThresholdBreached", "Unknown", "NoData", measured)
    wants = ""
    if spec.on_missing == "Healthy":
        state = replace(state, breached=False, breaches=0, ineffective=0, verdict=None, told="")
        breached = Condition("ThresholdBreached", "False", "WithinThreshold", f"{measured}; counted as healthy")
    elif spec.on_missing == "Breach" and not spec.mutates:
        state = replace(state, breached=True, breaches=state.breaches + 1)
        breached = Condition("ThresholdBreached", "True", "Breached", f"{measured}; counted as breached")
        wants = "Breached" if state.breaches >= spec.consecutive else ""
    available = Condition("MetricsAvailable", "False", sample.reason, sample.message)
    return Evaluation(state, wants, measured, {"MetricsAvailable": available, "ThresholdBreached": breached})


def _threshold(state: State, measured: str) -> Condition:
    if state.breached:
        return Condition("ThresholdBreached", "True", "Breached", measured)
    return Condition("ThresholdBreached", "False", "WithinThreshold", measured)


def _wanted(spec: Spec, state: State, target: Target, value: Fraction, now: datetime) -> str:
    if over(spec, value) and target.is_unsettled_for(spec) and spec.mutates:
        # Not counted, so nothing comes of it; but the gate says why.
        return "Breached"
    if state.breached:
        return "Breached" if state.breaches >= spec.consecutive and not cleared(spec, value) else ""
    back = spec.scale.return_after
    if spec.action != "scale" or spec.scale.direction != UP or back is None or state.healthy_since is None:
        return ""
    rested = now - state.healthy_since >= timedelta(seconds=back)
    return "Return" if rested and cleared(spec, value) and target.replicas > spec.scale.minimum else ""


def _measured(spec: Spec, state: State, sample: Sample, value: Fraction) -> str:
    label, unit = _LABELS[spec.metric]
    sign = SYMBOLS[spec.comparison]
    is_over = over(spec, value)
    text = f"{label} {format_value(value)}{unit} {sign if is_over else _OPPOSITE[sign]} {spec.threshold}{unit}"
    if state.breached and not is_over:
        text += f", a breach until {spec.clear_threshold}{unit}"
    counted = f"{min(state.breaches, spec.consecutive)}/{spec.consecutive} samples"
    notes = [counted] if state.breached else []
    return f"{text} ({', '.join([*notes, sample.message])})"
