"""Guarded writes of conditions and finalizers: what others wrote stays, and a conflict costs a retry, no more."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

import pytest

from ansible_operator.kube.client import Client
from ansible_operator.kube.writes import Writer
from ansible_operator.model.errors import ApiError, Conflict, Forbidden, Unavailable
from tests.support.fake_cluster import KEY, WEBS, FakeCluster, fail
from tests.support.virtual_time import now, virtual_time

READY = {"type": "Ready", "status": "True"}
OURS = {"type": "Running", "status": "True"}


def writer(cluster: FakeCluster) -> Writer:
    return Writer(cast(Client, cluster), WEBS)


def seen(cluster: FakeCluster) -> Any:
    """The object as a reconcile has just read it."""
    return deepcopy(cluster.objects[KEY])


def add(condition: dict[str, str]) -> Callable[[Any], Any]:
    return lambda before: [*(c for c in before if c["type"] != condition["type"]), condition]


# --- conditions ------------------------------------------------------------------------------------------------------


@virtual_time
async def test_only_the_conditions_of_the_status_are_written_guarded_by_version_and_uid() -> None:
    cluster = FakeCluster()
    cluster.create(spec={"x": 1}, status={"phase": "kept", "conditions": [READY]})
    version = cluster.objects[KEY]["metadata"]["resourceVersion"]
    written = await writer(cluster).conditions(seen(cluster), add(OURS))
    guard = {"uid": "uid-1", "resourceVersion": version}
    assert cluster.patches == [("status", {"metadata": guard, "status": {"conditions": [READY, OURS]}})]
    assert cluster.status() == {"phase": "kept", "conditions": [READY, OURS]}
    assert written == cluster.objects[KEY]


@pytest.mark.parametrize("status", [None, {}, {"conditions": None}, {"conditions": []}], ids=repr)
def test_a_status_without_conditions_gets_some(status: Any) -> None:
    @virtual_time
    async def test() -> None:
        cluster = FakeCluster()
        cluster.create(status=status)
        await writer(cluster).conditions(seen(cluster), add(OURS))
        assert cluster.status() == {"conditions": [OURS]}

    test()


@virtual_time
async def test_where_nothing_changes_nothing_is_written() -> None:
    cluster = FakeCluster()
    cluster.create(status={"conditions": [OURS]})
    found = await writer(cluster).conditions(seen(cluster), add(OURS))
    assert cluster.patches == []
    assert found == cluster.objects[KEY]


@virtual_time
async def test_a_conflict_is_met_by_reading_again_so_that_nobodys_write_is_lost() -> None:
    cluster = FakeCluster()
    cluster.create()
    cluster.before_patch = [lambda: cluster.edit(status={"phase": "new", "conditions": [READY]})]
    await writer(cluster).conditions(seen(cluster), add(OURS))
    assert cluster.status() == {"phase": "new", "conditions": [READY, OURS]}
    assert cluster.reads == 1


@virtual_time
async def test_what_was_just_read_is_not_read_again() -> None:
    cluster = FakeCluster()
    cluster.create()
    await writer(cluster).conditions(seen(cluster), add(OURS))
    assert (cluster.reads, len(cluster.patches)) == (0, 1)


@virtual_time
async def test_what_changed_since_it_was_read_is_read_again_at_once() -> None:
    cluster = FakeCluster()
    cluster.create()
    known = seen(cluster)
    cluster.edit(status={"phase": "new", "conditions": [READY]})
    await writer(cluster).conditions(known, add(OURS))
    assert cluster.status() == {"phase": "new", "conditions": [READY, OURS]}
    assert now() == 0


@virtual_time
async def test_what_needs_nothing_is_looked_at_again_before_it_is_believed() -> None:
    cluster = FakeCluster()
    cluster.create(status={"conditions": [OURS]})
    known = seen(cluster)
    cluster.edit(status={"conditions": []})
    await writer(cluster).conditions(known, add(OURS))
    assert cluster.status() == {"conditions": [OURS]}


@pytest.mark.parametrize("status", [429, 500, 503, 0])
def test_passing_trouble_is_waited_out(status: int) -> None:
    @virtual_time
    async def test() -> None:
        cluster = FakeCluster()
        cluster.create()
        cluster.before_patch = [fail(status)] * 5
        await writer(cluster).conditions(seen(cluster), add(OURS))
        assert cluster.status()["conditions"] == [OURS]
        assert now() == pytest.approx(0.1 + 0.2 + 0.4 + 0.8 + 1.6)

    test()


@virtual_time
async def test_the_server_is_given_the_time_it_asks_for() -> None:
    cluster = FakeCluster()
    cluster.create()
    cluster.before_patch = [fail(429, retry_after=7)]
    await writer(cluster).conditions(seen(cluster), add(OURS))
    assert now() == 7


@pytest.mark.parametrize(("status", "kind"), [(409, Conflict), (503, Unavailable)])
def test_lasting_trouble_is_told_in_the_end(status: int, kind: type[ApiError]) -> None:
    @virtual_time
    async def test() -> None:
        cluster = FakeCluster()
        cluster.create()
        cluster.before_patch = [fail(status)] * 100
        with pytest.raises(kind):
            await writer(cluster).conditions(seen(cluster), add(OURS))

    test()


@virtual_time
async def test_what_no_patience_heals_is_told_at_once() -> None:
    cluster = FakeCluster()
    cluster.create()
    cluster.before_patch = [fail(403)]
    with pytest.raises(Forbidden):
        await writer(cluster).conditions(seen(cluster), add(OURS))
    assert now() == 0


@virtual_time
async def test_an_object_that_is_gone_or_another_is_left_alone() -> None:
    cluster = FakeCluster()
    known = deepcopy(cluster.create())
    del cluster.objects[KEY]
    assert await writer(cluster).conditions(known, add(OURS)) is None
    cluster.create(uid="uid-2")
    assert await writer(cluster).conditions(known, add(OURS)) is None
    assert cluster.patches == []


@virtual_time
async def test_an_object_that_was_made_again_in_between_is_left_alone() -> None:
    cluster = FakeCluster()
    cluster.create()
    cluster.before_patch = [lambda: cast(None, cluster.create(uid="uid-2"))]
    assert await writer(cluster).conditions(seen(cluster), add(OURS)) is None
    assert cluster.patches == []


@virtual_time
async def test_a_kind_without_a_status_subresource_is_no_error() -> None:
    cluster = FakeCluster(status_subresource=False)
    cluster.create()
    assert await writer(cluster).conditions(seen(cluster), add(OURS)) == cluster.objects[KEY]


# --- finalizers ------------------------------------------------------------------------------------------------------


@virtual_time
async def test_our_finalizer_comes_to_the_others_and_goes_from_among_them() -> None:
    cluster = FakeCluster()
    cluster.create(metadata={"finalizers": ["x/foreign"]})
    await writer(cluster).add_finalizer(seen(cluster), "x/ours")
    assert cluster.objects[KEY]["metadata"]["finalizers"] == ["x/foreign", "x/ours"]
    await writer(cluster).remove_finalizer(seen(cluster), "x/ours")
    assert cluster.objects[KEY]["metadata"]["finalizers"] == ["x/foreign"]


@virtual_time
async def test_a_finalizer_that_somebody_else_adds_in_between_stays() -> None:
    cluster = FakeCluster()
    cluster.create(metadata={"finalizers": ["x/ours"]})

    def another() -> None:
        metadata = deepcopy(cluster.objects[KEY]["metadata"])
        cluster.edit(metadata={**metadata, "finalizers": ["x/ours", "x/new"]})

    cluster.before_patch = [another]
    await writer(cluster).remove_finalizer(seen(cluster), "x/ours")
    assert cluster.objects[KEY]["metadata"]["finalizers"] == ["x/new"]


@virtual_time
async def test_there_is_nothing_to_write_where_it_is_there_or_gone_already() -> None:
    cluster = FakeCluster()
    cluster.create(metadata={"finalizers": ["x/ours"]})
    assert await writer(cluster).add_finalizer(seen(cluster), "x/ours") == cluster.objects[KEY]
    assert await writer(cluster).remove_finalizer(seen(cluster), "x/other") == cluster.objects[KEY]
    assert cluster.patches == []


@virtual_time
async def test_an_object_goes_with_its_last_finalizer() -> None:
    cluster = FakeCluster()
    cluster.create(metadata={"finalizers": ["x/ours"]})
    cluster.delete()
    known = seen(cluster)
    await writer(cluster).remove_finalizer(known, "x/ours")
    assert cluster.objects == {}
    assert await writer(cluster).remove_finalizer(known, "x/ours") is None
