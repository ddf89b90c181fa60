"""What holds whatever happens: random specs, random events, crashes in the middle, and the limits are kept."""

from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.roles.aitask_simulation import World, stamp
from tests.unit.roles.test_aitask_actions import GROWTH, REVISION, replica_set

policies = st.fixed_dictionaries(
    {
        "cooldownSeconds": st.sampled_from([30, 60, 300]),
        "maxActionsPerHour": st.integers(1, 6),
        "maxIneffectiveActions": st.integers(1, 5),
    },
    optional={"approval": st.just("Always"), "approvalTimeoutSeconds": st.just(900)},
)
scales = st.fixed_dictionaries(
    {"minReplicas": st.integers(0, 4), "maxReplicas": st.integers(4, 8), "step": st.integers(1, 3)},
    optional={"direction": st.sampled_from(["Up", "Down"])},
)
specs = st.fixed_dictionaries(
    {
        "action": st.sampled_from(["scale", "scale", "restart", "rollback", "patchResources"]),
        "comparison": st.sampled_from(["GreaterThan", "LessThan"]),
        "threshold": st.sampled_from([50, 80]),
        "intervalSeconds": st.sampled_from([10, 60]),
        "evaluation": st.fixed_dictionaries(
            {"consecutiveBreaches": st.integers(1, 3), "onMissingData": st.sampled_from(["Hold", "Healthy"])}
        ),
        "policy": policies,
        "dryRun": st.sampled_from([False, False, False, True]),
    }
)


@dataclass
class Step:
    """One thing that happens, then a pass."""

    wait: int
    use: str | None
    event: str

    def cpu(self, spec: dict[str, Any]) -> str | None:
        """The use of CPU that is meant, for a task with this comparison."""
        high, low = ("95m", "10m") if spec["comparison"] == "GreaterThan" else ("10m", "95m")
        return {"breach": high, "healthy": low}.get(self.use or "", self.use)


steps = st.lists(
    st.builds(
        Step,
        wait=st.sampled_from([1, 10, 60, 60, 60, 400, 1800]),
        use=st.sampled_from(["breach", "breach", "breach", "breach", "healthy", "60m", "0", "NaN", None]),
        event=st.sampled_from(
            [
                "settle",
                "settle",
                "settle",
                "",
                "edit",
                "by hand",
                "to zero",
                "vanish",
                "crash at intent",
                "crash at act",
                *["approve"] * 2,
                *["approve"] * 2,
                "deny",
                "approve an old one",
            ]
        ),
    ),
    min_size=6,
    max_size=25,
)


def happen(world: World, event: str) -> None:
    deployment = world.deployment
    assert deployment is not None
    world.crash_after = event.removeprefix("crash at ") if event.startswith("crash") else None
    if event == "settle":
        world.settle()
    elif event == "edit":
        world.edit(historyLimit=3)
    elif event in ("approve", "deny", "approve an old one"):
        identity = str(world.status.get("proposal", {}).get("id", "none"))
        old = world.task["metadata"].setdefault("first proposal", identity)
        world.annotate(approve={"approve": identity, "deny": f"deny:{identity}"}.get(event, old))
    elif event in ("by hand", "to zero"):
        deployment["spec"]["replicas"] = 0 if event == "to zero" else 4
        deployment["metadata"]["generation"] += 1
        deployment["metadata"]["resourceVersion"] = str(int(deployment["metadata"]["resourceVersion"]) + 1)
        world.settle()


@settings(max_examples=150, deadline=None)
@given(specs, scales, steps)
def test_no_act_breaks_a_limit(spec: dict[str, Any], scale: dict[str, Any], happenings: list[Step]) -> None:
    world = made(spec, scale)
    for step in happenings:
        happen(world, step.event)
        hidden, world.deployment = world.deployment, None if step.event == "vanish" else world.deployment
        before = None if world.deployment is None else world.replicas
        acts, proposed = len(world.acts), dict(world.status.get("proposal", {}))
        world.run(step.wait, cpu=step.cpu(spec))
        if step.event == "vanish":
            world.deployment = hidden
        if len(world.acts) > acts:
            check_act(world, spec, scale, step, before)
            check_approval(world, spec, proposed)
    check_spacing(world, spec)


def made(spec: dict[str, Any], scale: dict[str, Any]) -> World:
    """A world in which this task has something to do."""
    world = World(
        **spec,
        **({"scale": scale} if spec["action"] == "scale" else {}),
        **({"patchResources": GROWTH} if spec["action"] == "patchResources" else {}),
    )
    assert world.deployment is not None
    world.deployment["metadata"]["annotations"] = {REVISION: "9"}
    world.replica_sets = [replica_set(revision, f"web:{revision}") for revision in range(1, 10)]
    return world


def check_approval(world: World, spec: dict[str, Any], proposed: dict[str, Any]) -> None:
    """What was done is what had been proposed before, and had been approved by its id within its time."""
    if spec["policy"].get("approval") != "Always":
        return
    answer = world.task["metadata"]["annotations"]["aiops.example.com/approve"]
    assert world.deployment is not None
    done = world.deployment["metadata"]["annotations"]["aiops.example.com/last-action"]
    assert (proposed["id"], proposed["state"], answer) == (done, "Pending", done)
    assert stamp(world.now) < proposed["expiresAt"]


def check_act(world: World, spec: dict[str, Any], scale: dict[str, Any], step: Step, before: int | None) -> None:
    assert spec["dryRun"] is False
    assert before is not None
    assert before > 0, "acted on what was scaled to zero"
    cpu = step.cpu(spec)
    assert cpu not in (None, "NaN"), "acted on missing data"
    value, threshold = int(str(cpu).rstrip("m")), spec["threshold"]
    assert value > threshold if spec["comparison"] == "GreaterThan" else value < threshold, "acted without a breach"
    after = world.replicas
    if spec["action"] != "scale":
        assert after == before
        return
    assert scale["minReplicas"] <= after <= scale["maxReplicas"]
    up = scale.get("direction", "Up" if spec["comparison"] == "GreaterThan" else "Down") == "Up"
    assert after > before if up else after < before
    assert before - after <= scale["step"]


def check_spacing(world: World, spec: dict[str, Any]) -> None:
    times = [act["time"] for act in world.acts]
    cooldown = timedelta(seconds=spec["policy"]["cooldownSeconds"])
    assert all(later - earlier >= cooldown for earlier, later in pairwise(times))
    limit = spec["policy"]["maxActionsPerHour"]
    for number, time in enumerate(times):
        assert sum(time <= other < time + timedelta(hours=1) for other in times[number:]) <= limit


@settings(max_examples=60, deadline=None)
@given(specs, steps)
def test_a_second_pass_at_once_changes_nothing(spec: dict[str, Any], happenings: list[Step]) -> None:
    world = made(spec, {})
    for step in happenings:
        happen(world, step.event if step.event != "vanish" else "")
        world.run(step.wait, cpu=step.cpu(spec))
        if world.crash_after is not None or world.plan.get("requeue") == "5s":
            world.crash_after = None
            world.run()  # makes up for what was interrupted
        status, writes, acts = world.status, world.writes, len(world.acts)
        world.run()
        assert (world.status, world.writes, len(world.acts)) == (status, writes, acts)
