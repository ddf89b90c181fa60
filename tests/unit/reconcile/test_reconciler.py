"""One pass over one object (contract 4.5 to 4.7; D7, D8): a cluster of dicts, a runner that follows a script."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ansible_operator.kube.client import Client
from ansible_operator.model.annotations import RunOptions
from ansible_operator.model.errors import Conflict, RunError
from ansible_operator.model.events import Event, RunEnd
from ansible_operator.model.selectors import Requirement, Selector
from ansible_operator.model.watch import Chart, Content, Finalizer, Watch
from ansible_operator.proxy.grants import Grants
from ansible_operator.proxy.server import Proxy
from ansible_operator.reconcile.reconciler import Policy, Reconciler, Result, Tools
from ansible_operator.runner.interface import OnEvent, RunRequest
from ansible_operator.telemetry.metrics import Metrics
from tests.support.fake_cluster import KEY, WEB, WEBS, FakeCluster, fail
from tests.support.virtual_time import virtual_time

ROLE, CLEANUP = Content(role=Path("/roles/web")), Content(role=Path("/roles/cleanup"))
WATCH = Watch(WEB, ROLE)
OURS = "example.com/finalizer"
FINALIZED = replace(WATCH, finalizer=Finalizer(OURS, CLEANUP, {"state": "absent"}))
GOLD = replace(FINALIZED, selector=Selector((Requirement("tier", "In", ("gold",)),)))
RESULT = "ansible_operator_reconcile_result"


def event(name: str, /, **data: Any) -> Event:
    return {"event": name, "event_data": data}


def stats(**counts: int) -> Event:
    return event("playbook_on_stats", **{name: {"localhost": count} for name, count in counts.items()})


def ask(period: str) -> Event:
    return event("runner_on_ok", task_action="operator_sdk.util.requeue_after", res={"period": period})


GOOD = ([stats(ok=3, changed=1)], RunEnd(0))
BAD = ([event("runner_on_failed", res={"msg": "no such thing"}), stats(ok=1, failures=1)], RunEnd(2))
LOAD_ERROR: tuple[list[Event], RunEnd] = ([], RunEnd(4, "ERROR! couldn't resolve module/action 'no_such_ns.x.module'"))


@dataclass
class ScriptedRunner:
    """Reports the events and the end it is given, and keeps the requests."""

    events: list[Event]
    end: RunEnd
    requests: list[RunRequest] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    error: Exception | None = None

    async def run(self, request: RunRequest, on_event: OnEvent) -> RunEnd:
        self.requests.append(request)
        try:
            if self.error is not None:
                raise self.error
            for each in self.events:
                on_event(each)
            self.meanwhile()
            return self.end
        finally:
            request.on_over()

    async def stop(self) -> None: ...


class World:
    """All that one reconciler needs, and what can be seen of it afterwards."""

    def __init__(self, work_dir: Path, watch: Watch = WATCH, run: tuple[list[Event], RunEnd] = GOOD) -> None:
        self.cluster = FakeCluster()
        self.runner = ScriptedRunner(*run)
        self.metrics = Metrics("test")
        self.grants = Grants()
        self.watch = watch
        self._work_dir = work_dir
        proxy = SimpleNamespace(grants=self.grants, url="https://127.0.0.1:1", authority_file=work_dir / "ca.crt")
        self._tools = Tools(
            client=cast(Client, self.cluster),
            proxy=cast(Proxy, proxy),
            runner=self.runner,
            metrics=self.metrics,
            now=lambda: datetime(2026, 1, 31, 12, tzinfo=UTC),
            random=random.Random(1),
        )
        self._policy = Policy(
            options=RunOptions(reconcile_period=100.0, max_runner_artifacts=20, verbosity=2),
            run_timeout=600,
            inject_owner=True,
            log_events="nothing",
            debug_logs=False,
            work_dir=work_dir,
        )

    async def reconcile(self) -> Result:
        reconciler = Reconciler(self.watch, WEBS, self._tools, self._policy, lambda child: None)
        return await reconciler.reconcile(KEY)

    @property
    def conditions(self) -> dict[str, tuple[str, str]]:
        """Status and message of each condition."""
        found = self.cluster.status().get("conditions") or ()
        return {condition["type"]: (condition["status"], condition["message"]) for condition in found}

    @property
    def finalizers(self) -> list[str]:
        return list(self.cluster.objects[KEY]["metadata"].get("finalizers") or ())

    def count(self, result: str) -> float:
        labels = {"GVK": "example.com/v1, Kind=Web", "result": result}
        return self.metrics.registry.get_sample_value(RESULT, labels) or 0


# --- runs ------------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_good_run_is_told_in_status_and_metrics_and_comes_again_within_the_period(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cluster.create(spec={"minReplicas": 2})
    result = await world.reconcile()
    assert result.requeue_after is not None
    assert 90 <= result.requeue_after <= 100
    assert world.conditions == {
        "Running": ("True", "Awaiting next reconciliation"),
        "Successful": ("True", "Last reconciliation succeeded"),
        "Failure": ("False", ""),
    }
    assert (world.count("succeeded"), world.count("failed")) == (1, 0)


@virtual_time
async def test_the_run_gets_what_it_needs(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cluster.create(spec={"minReplicas": 2})
    await world.reconcile()
    (request,) = world.runner.requests
    assert request.directory == tmp_path / "runner/example.com/v1/Web/a/web"
    assert request.ident.isdecimal()
    assert (request.content, request.verbosity, request.max_artifacts, request.timeout) == (ROLE, 2, 20, 600)
    assert request.variables["min_replicas"] == 2
    assert request.access.namespace == "a"


@virtual_time
async def test_the_object_a_run_sees_has_the_status_of_a_running_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cluster.create()
    await world.reconcile()
    (condition,) = world.runner.requests[0].variables["_example_com_web"]["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Running", "Running")


@virtual_time
async def test_a_token_lives_as_long_as_its_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cluster.create()
    during: list[int] = []
    world.runner.meanwhile = lambda: during.append(len(world.grants))
    await world.reconcile()
    assert (during, len(world.grants)) == ([1], 0)


@pytest.mark.parametrize("chart", [None, Chart("/charts/web")], ids=["role", "chart"])
@virtual_time
async def test_only_what_a_chart_keeps_stays_unowned(tmp_path: Path, chart: Chart | None) -> None:
    world = World(tmp_path, replace(WATCH, chart=chart))
    world.cluster.create()
    during: list[bool] = []

    def look() -> None:
        session = world.grants.of_header(f"Bearer {world.runner.requests[0].access.token}")
        assert session is not None and session.grant is not None
        during.append(session.grant.of_chart)

    world.runner.meanwhile = look
    await world.reconcile()
    assert during == [chart is not None]


@virtual_time
async def test_a_bad_run_is_told_and_tried_again(tmp_path: Path) -> None:
    world = World(tmp_path, run=BAD)
    world.cluster.create()
    assert await world.reconcile() == Result(failed=True)
    assert world.conditions == {
        "Running": ("False", "Running reconciliation"),
        "Failure": ("True", "no such thing"),
        "Successful": ("False", ""),
    }
    assert (world.count("succeeded"), world.count("failed")) == (0, 1)


@virtual_time
async def test_a_load_error_ends_the_status_and_heals(tmp_path: Path) -> None:
    world = World(tmp_path, run=LOAD_ERROR)
    world.cluster.create()
    assert await world.reconcile() == Result(failed=True)
    assert world.conditions["Running"][0] == "False"
    assert world.conditions["Failure"][0] == "True"
    assert "no_such_ns.x.module" in world.conditions["Failure"][1]
    world.runner.events, world.runner.end = GOOD
    assert not (await world.reconcile()).failed
    assert world.conditions["Failure"] == ("False", "")


@virtual_time
async def test_a_run_that_cannot_start_is_told_and_tried_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cluster.create()
    world.runner.error = RunError("the work directory cannot be written")
    assert await world.reconcile() == Result(failed=True)
    assert world.conditions["Failure"] == ("True", "the work directory cannot be written")
    assert len(world.grants) == 0


@virtual_time
async def test_a_bad_period_forbids_the_run_and_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cluster.create(metadata={"annotations": {"ansible.sdk.operatorframework.io/reconcile-period": "1d"}})
    assert await world.reconcile() == Result(failed=True)
    assert world.runner.requests == []
    assert "reconcile-period" in world.conditions["Failure"][1]
    assert world.count("failed") == 1


@pytest.mark.parametrize(("period", "again"), [("0s", None), ("10s", 10)])
def test_the_period_of_the_annotation_counts(tmp_path: Path, period: str, again: float | None) -> None:
    @virtual_time
    async def test() -> None:
        world = World(tmp_path)
        world.cluster.create(metadata={"annotations": {"ansible.sdk.operatorframework.io/reconcile-period": period}})
        result = await world.reconcile()
        if again is None:
            assert result == Result()
        else:
            assert 0.9 * again <= (result.requeue_after or 0) <= again

    test()


@virtual_time
async def test_a_request_for_another_time_is_kept_to_the_second_and_the_status_is_that_of_a_finished_run(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, run=([ask("7s"), *GOOD[0]], RunEnd(0)))
    world.cluster.create()
    assert await world.reconcile() == Result(requeue_after=7)
    assert world.conditions["Running"] == ("True", "Awaiting next reconciliation")


# --- status ----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_conflict_in_the_status_never_plays_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cluster.create()
    world.runner.meanwhile = lambda: world.cluster.before_patch.extend([fail(409)] * 3)
    assert not (await world.reconcile()).failed
    assert len(world.runner.requests) == 1
    assert world.conditions["Successful"][0] == "True"


@virtual_time
async def test_what_the_role_writes_into_the_status_stays(tmp_path: Path) -> None:
    world = World(tmp_path)
    ready = {"type": "Ready", "status": "True", "extra": 1}
    world.cluster.create()

    def report() -> None:
        conditions = [*world.cluster.status()["conditions"], ready]
        world.cluster.edit(status={"phase": "Up", "conditions": conditions})

    world.runner.meanwhile = report
    await world.reconcile()
    assert world.cluster.status()["phase"] == "Up"
    assert ready in world.cluster.status()["conditions"]


@virtual_time
async def test_a_status_that_the_role_owns_is_not_touched(tmp_path: Path) -> None:
    for run in (GOOD, BAD):
        world = World(tmp_path, replace(WATCH, manage_status=False), run)
        world.cluster.create()
        await world.reconcile()
        assert world.cluster.patches == []


@virtual_time
async def test_but_for_a_failure_that_the_role_cannot_report_which_goes_when_it_can(tmp_path: Path) -> None:
    world = World(tmp_path, replace(WATCH, manage_status=False), LOAD_ERROR)
    world.cluster.create(status={"phase": "Up"})
    await world.reconcile()
    assert list(world.conditions) == ["Failure"]
    world.runner.events, world.runner.end = GOOD
    await world.reconcile()
    assert world.cluster.status() == {"phase": "Up", "conditions": []}


# --- what is not run -------------------------------------------------------------------------------------------------


@virtual_time
async def test_an_object_that_is_gone_leaves_no_directory(tmp_path: Path) -> None:
    world = World(tmp_path)
    (tmp_path / "runner/example.com/v1/Web/a/web/artifacts").mkdir(parents=True)
    assert await world.reconcile() == Result(gone=True)
    assert list((tmp_path / "runner").iterdir()) == []
    assert world.runner.requests == []


@virtual_time
async def test_an_object_outside_the_selector_is_not_run(tmp_path: Path) -> None:
    world = World(tmp_path, GOLD)
    world.cluster.create(metadata={"labels": {"tier": "silver"}})
    assert await world.reconcile() == Result()
    assert (world.runner.requests, world.cluster.patches) == ([], [])
    world.cluster.objects[KEY]["metadata"]["labels"] = {"tier": "gold"}
    await world.reconcile()
    assert len(world.runner.requests) == 1


@virtual_time
async def test_an_object_that_goes_without_our_finalizer_is_not_run(tmp_path: Path) -> None:
    for watch in (WATCH, FINALIZED):
        world = World(tmp_path, watch)
        world.cluster.create(metadata={"finalizers": ["x/foreign"]})
        world.cluster.delete()
        assert await world.reconcile() == Result()
        assert (world.runner.requests, world.cluster.patches) == ([], [])


# --- finalizers ------------------------------------------------------------------------------------------------------


@virtual_time
async def test_the_finalizer_is_put_on_before_the_first_run_and_the_run_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path, FINALIZED)
    world.cluster.create(metadata={"finalizers": ["x/foreign"]})
    await world.reconcile()
    assert world.finalizers == ["x/foreign", OURS]
    (request,) = world.runner.requests
    assert request.content == ROLE
    assert "state" not in request.variables


@virtual_time
async def test_a_deleted_object_is_finalized_and_let_go(tmp_path: Path) -> None:
    world = World(tmp_path, FINALIZED)
    world.cluster.create(metadata={"finalizers": [OURS]})
    world.cluster.delete()
    assert await world.reconcile() == Result()
    (request,) = world.runner.requests
    assert (request.content, request.variables["state"]) == (CLEANUP, "absent")
    assert world.cluster.objects == {}


@virtual_time
async def test_a_finalizer_with_vars_alone_runs_the_main_content(tmp_path: Path) -> None:
    world = World(tmp_path, replace(WATCH, finalizer=Finalizer(OURS, vars={"state": "absent"})))
    world.cluster.create(metadata={"finalizers": [OURS]})
    world.cluster.delete()
    await world.reconcile()
    assert (world.runner.requests[0].content, world.runner.requests[0].variables["state"]) == (ROLE, "absent")


@pytest.mark.parametrize("run", [BAD, LOAD_ERROR, ([], RunEnd(-9))], ids=["fails", "load error", "killed"])
def test_a_bad_finalizing_run_keeps_the_object_and_is_tried_again(
    tmp_path: Path, run: tuple[list[Event], RunEnd]
) -> None:
    @virtual_time
    async def test() -> None:
        world = World(tmp_path, FINALIZED, run)
        world.cluster.create(metadata={"finalizers": [OURS]})
        world.cluster.delete()
        assert await world.reconcile() == Result(failed=True)
        assert world.finalizers == [OURS]
        assert world.conditions["Failure"][0] == "True"

    test()


@virtual_time
async def test_a_conflict_in_taking_it_off_never_finalizes_again(tmp_path: Path) -> None:
    world = World(tmp_path, FINALIZED)
    world.cluster.create(metadata={"finalizers": [OURS]})
    world.cluster.delete()
    world.runner.meanwhile = lambda: world.cluster.before_patch.extend([fail(409)] * 3)
    assert await world.reconcile() == Result()
    assert len(world.runner.requests) == 1
    assert world.cluster.objects == {}


@virtual_time
async def test_a_deletion_during_a_run_lets_it_end_as_itself_and_finalizes_in_the_next(tmp_path: Path) -> None:
    world = World(tmp_path, FINALIZED)
    world.cluster.create(metadata={"finalizers": [OURS]})
    world.runner.meanwhile = world.cluster.delete
    await world.reconcile()
    assert world.finalizers == [OURS]
    world.runner.meanwhile = lambda: None
    await world.reconcile()
    assert [request.content for request in world.runner.requests] == [ROLE, CLEANUP]
    assert world.cluster.objects == {}


@virtual_time
async def test_an_object_that_vanishes_during_its_run_is_no_error(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cluster.create()
    world.runner.meanwhile = world.cluster.delete
    assert await world.reconcile() == Result()


@virtual_time
async def test_relabelled_and_then_deleted_it_is_finalized_all_the_same(tmp_path: Path) -> None:
    world = World(tmp_path, GOLD)
    world.cluster.create(metadata={"finalizers": [OURS], "labels": {"tier": "silver"}})
    world.cluster.delete()
    await world.reconcile()
    assert world.cluster.objects == {}


@virtual_time
async def test_lasting_trouble_with_the_api_server_comes_through(tmp_path: Path) -> None:
    world = World(tmp_path, FINALIZED)
    world.cluster.create()
    world.cluster.before_patch = [fail(409)] * 100
    with pytest.raises(Conflict):
        await world.reconcile()
    assert world.runner.requests == []


def test_a_finalizing_run_that_asks_for_another_time_keeps_the_object_until_then(tmp_path: Path) -> None:
    @virtual_time
    async def test() -> None:
        world = World(tmp_path, FINALIZED, run=([ask("7s"), *GOOD[0]], RunEnd(0)))
        world.cluster.create(metadata={"finalizers": [OURS]})
        world.cluster.delete()
        assert await world.reconcile() == Result(requeue_after=7)
        assert world.finalizers == [OURS]
        world.runner.events = GOOD[0]
        await world.reconcile()
        assert world.cluster.objects == {}

    test()
