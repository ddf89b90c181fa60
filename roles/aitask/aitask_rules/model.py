"""What the rules reason about. Plain frozen data; every duration is in seconds, every time in UTC."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

UP, DOWN = "Up", "Down"
SYMBOLS = {"GreaterThan": ">", "GreaterThanOrEqual": ">=", "LessThan": "<", "LessThanOrEqual": "<="}
"""Each comparison as people write it."""


UTILISATION = ("CPUUtilization", "MemoryUtilization")
"""Metrics in percent of what is requested."""


@dataclass(frozen=True)
class Scale:
    """How far and which way replicas may be moved."""

    direction: str
    minimum: int
    maximum: int
    step: int
    return_after: float | None


@dataclass(frozen=True)
class Raise:
    """How action patchResources makes one resource grow, up to `most`; `most_text` is as it was written."""

    resource: str
    percent: int
    most: Fraction
    most_text: str


@dataclass(frozen=True)
class Diagnose:
    """How a language model is asked for the cause of a breach."""

    provider: str
    """Its name in the configuration of the operator."""
    allowed: tuple[str, ...]
    """Actions that it may choose."""
    timeout: float
    """Seconds that the whole call may take. Not scaled in tests: it bounds real requests."""
    max_tokens: int
    """Of one answer."""
    daily_tokens: int
    """Of questions and answers together, in one UTC day."""
    min_confidence: int
    """In percent."""
    include_logs: bool
    fallback: str
    """What is done without a usable answer."""


@dataclass(frozen=True)
class Spec:
    """What the task asks for, defaulted, normalised and checked."""

    target: str
    threshold: int
    clear_threshold: int
    comparison: str
    action: str
    metric: str
    container: str
    aggregation: str
    window: float
    provider: str
    query: str
    interval: float
    suspend: bool
    dry_run: bool
    history_limit: int
    consecutive: int
    on_missing: str
    max_sample_age: float
    cooldown: float
    per_hour: int
    max_ineffective: int
    approval: str
    approval_timeout: float
    scale: Scale
    to_revision: int | None
    container_to_raise: str
    raises: tuple[Raise, ...]
    on_change_only: bool
    webhook: str
    template: Mapping[str, Any] | None
    """Pod template of the Deployment that the task owns; None if it adopts one."""
    replicas: int | None
    diagnose: Diagnose | None = None
    """For action diagnose; as long as `decided_by` is empty, `action` is what is done without an answer."""
    decided_by: str = "rule"
    """Who chose the action: rule, model or fallback; empty as long as that is open."""

    @property
    def candidates(self) -> tuple[str, ...]:
        """The action, or all that it may become."""
        if self.diagnose is None or self.decided_by:
            return (self.action,)
        return tuple(dict.fromkeys([*self.diagnose.allowed, self.diagnose.fallback]))

    @property
    def mutates(self) -> bool:
        """Whether something may be changed."""
        return not set(self.candidates) <= {"notify", "none"}


@dataclass(frozen=True)
class Task:
    """The AITask around its spec."""

    name: str
    namespace: str
    uid: str
    generation: int
    resource_version: str
    annotations: Mapping[str, Any]
    seniority: tuple[str, str]
    """Creation time and name: of several tasks that want to act on one target the smallest does."""
    deleting: bool


@dataclass(frozen=True)
class Hold:
    """Why a wanted act is not done now."""

    reason: str
    message: str
    until: datetime | None = None
    wait: float | None = None
    """Seconds to the next look, where that comes before the next evaluation."""


@dataclass(frozen=True)
class Target:
    """The Deployment as it was read."""

    name: str
    namespace: str
    uid: str
    generation: int
    resource_version: str
    replicas: int
    actual_replicas: int
    available: int
    revision: str
    paused: bool
    deleting: bool
    owned: bool
    """The task made it, from `spec.template`."""
    template_hash: str
    departed: bool
    """An act changed what the template says, and the template was not edited since."""
    unkept: Hold | None
    """Why it is not brought to what `spec.template` says; None if it is, or if the task adopts it."""
    requested_replicas: str
    """The value of `spec.replicas` that was applied to it last; empty if none was."""
    rollout: str
    """Why a rollout is going on; empty if none is."""
    stuck: bool
    """The rollout has not come forward for progressDeadlineSeconds."""
    containers: tuple[Mapping[str, Any], ...]
    gitops: str
    """The tool that writes this Deployment from a repository; empty if none is known to, or if the task owns it."""
    selector: str
    restarted_at: str
    last_action: str
    last_action_time: datetime | None

    def is_unsettled_for(self, spec: Spec) -> bool:
        """Nothing is done in the middle of a rollout, but to roll back one that does not come forward."""
        return bool(self.rollout) and not ("rollback" in spec.candidates and self.stuck)


@dataclass(frozen=True)
class Sample:
    """One reading. `value` is None if there is no data, and then `reason` says why."""

    value: Fraction | None
    reason: str = "Sampled"
    message: str = ""
    time: datetime | None = None
    """The sample's own time, if its source gives one."""


@dataclass(frozen=True)
class Verdict:
    """An act whose effect is not judged yet."""

    id: str
    samples: int


@dataclass(frozen=True)
class State:
    """What the status remembers from one pass to the next: a run has no other memory."""

    observed_generation: int = 0
    last_execution: datetime | None = None
    observed_value: str = ""
    breached: bool = False
    breaches: int = 0
    ineffective: int = 0
    next_action: datetime | None = None
    held_by: str = ""
    """What ActionPermitted said last: the reason for `next_action`."""
    target_uid: str = ""
    sample_time: datetime | None = None
    healthy_since: datetime | None = None
    missing: int = 0
    retries: int = 0
    act_times: tuple[datetime, ...] = ()
    verdict: Verdict | None = None
    rolled_back_from: tuple[str, ...] = ()
    """Hashes of the pod templates this task rolled away from."""
    gitops_warned: bool = False
    told: str = ""
    """Id of the notification that told the present breach; empty if none did."""
    proposal: Mapping[str, Any] = field(default_factory=dict)
    diagnosis: Mapping[str, Any] = field(default_factory=dict)
    """The last verdict, as it stands in the status."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    last_action: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Mapping[str, Any], ...] = ()

    def done_at(self) -> datetime | None:
        """When the last act that really changed something was decided."""
        return self.act_times[-1] if self.act_times else None


@dataclass(frozen=True)
class Change:
    """What an action would do to the target as it stands."""

    origin: str
    goal: str
    body: Mapping[str, Any] | None
    """The part of the patch below `spec` of the Deployment; None for what changes no Deployment."""
    words: str
    """What was done, once it is: `scaled 3 -> 4`."""
    intends: str
    """The same before it is done: `scale web 3 -> 4`."""
    leaves: str = ""
    """Hash of the pod template that a rollback leaves."""


@dataclass(frozen=True)
class Act:
    """One act, ready to be done. `id` is its identity in the status and on the target."""

    id: str
    type: str
    reason: str
    time: datetime
    change: Change

    @property
    def mutates(self) -> bool:
        return self.change.body is not None


@dataclass(frozen=True)
class Wish:
    """An act that is wanted, and what is known around it."""

    spec: Spec
    task: Task
    state: State
    target: Target
    wants: str
    now: datetime
    time_scale: float = 1.0
    cause: str = ""
    """What a model takes for the cause, if one chose the action."""
    waits: Hold | None = None
    """Why the choice is not made yet, though everything was read for it."""

    @property
    def hour(self) -> float:
        return 3600.0 * self.time_scale


@dataclass(frozen=True)
class Condition:
    """One condition to write; its time of change is worked out against the old one."""

    type: str
    status: str
    reason: str
    message: str
