"""Electors that share one lease, each with its own clock, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

import pytest

from ansible_operator.kube.client import Client
from ansible_operator.kube.lease import Election, LeaderElector
from ansible_operator.model.errors import ApiError
from ansible_operator.model.gvk import ObjectKey, Resource
from tests.support.virtual_time import now, virtual_time

KEY = ObjectKey("ns", "lock")
PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"


class Server:
    """Keeps one lease, with optimistic locking. ``down`` refuses everything, ``slow`` is the time of one request."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.slow = 0.0
        self.writes = 0

    @property
    def holder(self) -> str:
        return self.lease["spec"]["holderIdentity"] if self.lease else ""

    def put(self, lease: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        self.writes += 1
        self.lease = deepcopy(lease)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return deepcopy(self.lease)


class Access:
    """One replica's way to the server, which may be cut."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.down = False

    async def _travel(self) -> None:
        await asyncio.sleep(self._server.slow)
        if self.down:
            raise ApiError.of(0, "NoAnswer", "no answer")

    async def get(self, resource: Resource, key: ObjectKey) -> dict[str, Any]:
        assert resource.path(key.namespace, key.name) == f"{PATH}/lock"
        await self._travel()
        if self._server.lease is None:
            raise ApiError.of(404, "NotFound", "no lease")
        return deepcopy(self._server.lease)

    async def request(self, method: str, path: str, *, body: Any) -> dict[str, Any]:
        await self._travel()
        if method == "POST":
            assert path == PATH
            if self._server.lease is not None:
                raise ApiError.of(409, "AlreadyExists", "there is one")
        else:
            assert (method, path) == ("PUT", f"{PATH}/lock")
            if self._server.lease is None:
                raise ApiError.of(404, "NotFound", "no lease")
            if body["metadata"]["resourceVersion"] != self._server.lease["metadata"]["resourceVersion"]:
                raise ApiError.of(409, "Conflict", "it has changed")
        return self._server.put(body)


class Replica:
    """An elector with its access; ``ahead`` is how far its clock is ahead of the others'."""

    def __init__(self, server: Server, name: str, ahead: float = 0.0, **times: float) -> None:
        self.access = Access(server)
        self.leads = False
        clock: Callable[[], float] = lambda: now() + ahead  # noqa: E731
        self.elector = LeaderElector(cast(Client, self.access), Election(KEY, name, **times), clock=clock)
        self.log: list[tuple[str, float]] = []

    async def campaign(self) -> None:
        await self.elector.acquire()
        self.leads = True
        self.log.append(("leads", now()))
        await self.elector.hold()
        self.leads = False
        self.log.append(("lost", now()))

    def start(self) -> asyncio.Task[None]:
        return asyncio.create_task(self.campaign())


async def settle(seconds: float) -> None:
    await asyncio.sleep(seconds)


@virtual_time
async def test_the_first_makes_the_lease_and_leads_at_once() -> None:
    server = Server()
    task = Replica(server, "one").start()
    await settle(1)
    assert server.lease is not None
    spec = server.lease["spec"]
    assert server.lease["metadata"]["name"] == "lock"
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("one", 15, 0)
    assert spec["acquireTime"] == spec["renewTime"]
    task.cancel()


@virtual_time
async def test_of_many_that_begin_together_one_leads() -> None:
    server = Server()
    server.slow = 0.1
    replicas = [Replica(server, str(number)) for number in range(5)]
    tasks = [replica.start() for replica in replicas]
    for _ in range(60):
        await settle(1)
        assert sum(replica.leads for replica in replicas) == 1
    for task in tasks:
        task.cancel()


@virtual_time
async def test_the_leader_renews_every_two_seconds_and_stays() -> None:
    server = Server()
    one, two = Replica(server, "one"), Replica(server, "two")
    tasks = [one.start()]
    await settle(1)
    tasks.append(two.start())
    await settle(100)
    assert (one.log, two.log) == ([("leads", 0)], [])
    assert 45 <= server.writes <= 52
    for task in tasks:
        task.cancel()


@virtual_time
async def test_a_leader_that_dies_is_replaced_once_its_lease_has_run_out_and_not_before() -> None:
    server = Server()
    one, two = Replica(server, "one"), Replica(server, "two")
    first = one.start()
    await settle(1)
    second = two.start()
    await settle(10)
    first.cancel()
    await settle(30)
    ((what, when),) = two.log
    assert what == "leads"
    assert 10 + 15 <= when + 2 <= 11 + 15 + 2 + 2
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 1
    second.cancel()


@pytest.mark.parametrize("ahead", [-86400.0, 3600.0, 86400.0], ids=["a day behind", "an hour ahead", "a day ahead"])
def test_the_clocks_of_two_replicas_need_not_agree(ahead: float) -> None:
    @virtual_time
    async def test() -> None:
        server = Server()
        one, two = Replica(server, "one"), Replica(server, "two", ahead)
        tasks = [one.start()]
        await settle(1)
        tasks.append(two.start())
        await settle(60)
        assert (one.leads, two.leads) == (True, False)
        for task in tasks:
            task.cancel()

    test()


@virtual_time
async def test_a_lease_of_long_ago_is_waited_out_once_since_its_time_is_another_clocks() -> None:
    server = Server()
    old = {"holderIdentity": "old", "leaseDurationSeconds": 15, "renewTime": "2001-01-01T00:00:00.000000Z"}
    server.put({"metadata": {"name": "lock"}, "spec": old})
    replica = Replica(server, "new")
    task = replica.start()
    await settle(14)
    assert not replica.leads
    await settle(4)
    assert replica.leads
    task.cancel()


@virtual_time
async def test_a_leader_that_cannot_renew_gives_up_before_anybody_else_leads() -> None:
    server = Server()
    one, two = Replica(server, "one"), Replica(server, "two")
    tasks = [one.start()]
    await settle(1)
    tasks.append(two.start())
    await settle(10)
    one.access.down = True
    await settle(30)
    (_, lost), ((_, leads),) = one.log[1], two.log
    assert 10 <= lost - 10 <= 14
    assert lost < leads
    for task in tasks:
        task.cancel()


@virtual_time
async def test_a_short_trouble_costs_nothing() -> None:
    server = Server()
    one = Replica(server, "one")
    task = one.start()
    await settle(5)
    one.access.down = True
    await settle(7)
    one.access.down = False
    await settle(60)
    assert one.log == [("leads", 0)]
    task.cancel()


def test_a_leader_whose_requests_hang_gives_up_before_anybody_else_leads() -> None:
    @virtual_time
    async def test() -> None:
        server = Server()
        one, two = Replica(server, "one"), Replica(server, "two")
        tasks = [one.start()]
        await settle(1)
        tasks.append(two.start())
        one.elector._client = cast(Client, Hanging(one.access))
        await settle(60)
        (_, lost), ((_, leads),) = one.log[1], two.log
        assert lost < leads
        for task in tasks:
            task.cancel()

    test()


class Hanging:
    """GET takes its time, PUT takes a client's whole time-out and fails."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def get(self, resource: Resource, key: ObjectKey) -> dict[str, Any]:
        await asyncio.sleep(2.9)
        return await self._access.get(resource, key)

    async def request(self, method: str, path: str, *, body: Any) -> dict[str, Any]:
        await asyncio.sleep(5)
        raise ApiError.of(0, "NoAnswer", "no answer")


@virtual_time
async def test_a_released_lease_is_taken_over_without_waiting_it_out() -> None:
    server = Server()
    one, two = Replica(server, "one"), Replica(server, "two")
    first = one.start()
    await settle(1)
    second = two.start()
    await settle(10)
    first.cancel()
    await one.elector.release()
    assert server.holder == ""
    await settle(3)
    assert two.leads
    second.cancel()


@virtual_time
async def test_a_lease_of_another_is_not_released() -> None:
    server = Server()
    task = Replica(server, "one").start()
    await settle(1)
    await Replica(server, "two").elector.release()
    assert server.holder == "one"
    task.cancel()


@virtual_time
async def test_a_release_that_fails_is_no_error() -> None:
    server = Server()
    one = Replica(server, "one")
    one.access.down = True
    await one.elector.release()


@virtual_time
async def test_a_lease_that_was_deleted_is_made_again() -> None:
    server = Server()
    one = Replica(server, "one")
    task = one.start()
    await settle(5)
    server.lease = None
    await settle(5)
    assert server.holder == "one"
    assert one.leads
    task.cancel()


@virtual_time
async def test_a_renewal_keeps_when_the_lease_was_acquired_and_what_others_wrote() -> None:
    server = Server()
    task = Replica(server, "one").start()
    await settle(1)
    assert server.lease is not None
    server.lease["metadata"]["labels"] = {"keep": "me"}
    server.lease["spec"]["strategy"] = "OldestEmulationVersion"
    acquired = server.lease["spec"]["acquireTime"]
    await settle(10)
    assert server.lease["metadata"]["labels"] == {"keep": "me"}
    assert server.lease["spec"]["strategy"] == "OldestEmulationVersion"
    assert server.lease["spec"]["acquireTime"] == acquired
    task.cancel()


@pytest.mark.parametrize("spec", [None, {}, {"holderIdentity": None}, {"holderIdentity": ""}], ids=repr)
def test_a_lease_without_a_holder_is_free(spec: Any) -> None:
    @virtual_time
    async def test() -> None:
        server = Server()
        server.put({"metadata": {"name": "lock"}, **({} if spec is None else {"spec": spec})})
        replica = Replica(server, "one")
        task = replica.start()
        await settle(1)
        assert replica.leads
        task.cancel()

    test()


@virtual_time
async def test_the_same_identity_goes_on_where_it_was() -> None:
    """A process that lost only its connection, not its lease."""
    server = Server()
    first = Replica(server, "one").start()
    await settle(1)
    first.cancel()
    again = Replica(server, "one")
    task = again.start()
    await settle(1)
    assert again.leads
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 0
    task.cancel()
