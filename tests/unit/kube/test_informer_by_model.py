"""Whatever happens to objects and connections, a handler that believes the informer ends with what the server has."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.kube import informer as module
from ansible_operator.kube.client import Client
from ansible_operator.kube.informer import Change, Informer
from ansible_operator.model.errors import ApiError
from ansible_operator.model.gvk import GVK, Resource
from tests.support.properties import settings
from tests.support.virtual_time import run

WEBS = Resource(GVK("example.com", "v1", "Web"), "webs", True, frozenset())
STEP = 0.05
"""Seconds between two happenings: shorter than the informer's pauses, so that many happen while nobody watches."""

Object = dict[str, Any]


class Server:
    """Keeps objects and their history, as etcd does: one version for all, and history that can be lost."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.history: list[tuple[int, str, Object]] = []
        self.version = 1
        self.compacted = 0
        self.trouble: list[int] = []
        self.cut = asyncio.Event()
        self.news = asyncio.Event()
        self.connection = self

    async def renew(self) -> None: ...

    # --- what happens ---

    def put(self, name: str) -> None:
        self.version += 1
        uid = self.objects[name]["metadata"]["uid"] if name in self.objects else f"{name} since {self.version}"
        meta = {"name": name, "namespace": "a", "uid": uid, "resourceVersion": str(self.version)}
        kind = "MODIFIED" if name in self.objects else "ADDED"
        self.objects[name] = {"kind": "Web", "apiVersion": "example.com/v1", "metadata": meta}
        self._tell(kind, self.objects[name])

    def delete(self, name: str) -> None:
        if name in self.objects:
            self.version += 1
            last = deepcopy(self.objects.pop(name))
            last["metadata"]["resourceVersion"] = str(self.version)
            self._tell("DELETED", last)

    def _tell(self, kind: str, obj: Object) -> None:
        self.history.append((self.version, kind, deepcopy(obj)))
        self.news.set()

    def break_watches(self, *, compact: bool = False) -> None:
        if compact:
            self.compacted = self.version
        self.cut.set()

    # --- what is asked ---

    async def request(self, method: str, path: str, *, params: Any) -> Object:
        self._refuse()
        items = sorted(self.objects.values(), key=lambda obj: str(obj["metadata"]["name"]))
        start = int(params.get("continue", "0").partition("@")[0])
        version = int(params["continue"].partition("@")[2]) if "continue" in params else self.version
        if version < self.compacted:
            raise ApiError.of(410, "Expired", "the continue token is too old")
        if version != self.version:
            items = self._items_at(version)
        part = items[start : start + 2]
        more = f"{start + 2}@{version}" if start + 2 < len(items) else ""
        await asyncio.sleep(STEP / 2)
        return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": deepcopy(part)}

    def _items_at(self, version: int) -> list[Object]:
        objects: dict[str, Object] = {}
        for at, kind, obj in self.history:
            if at <= version:
                objects[obj["metadata"]["name"]] = obj
                if kind == "DELETED":
                    del objects[obj["metadata"]["name"]]
        return sorted(objects.values(), key=lambda obj: str(obj["metadata"]["name"]))

    async def watch(self, path: str, params: Any, silence: float, opened: Any) -> AsyncIterator[Object]:
        self._refuse()
        since = int(params["resourceVersion"])
        if since < self.compacted:
            yield {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}
        opened()
        self.cut.clear()
        while not self.cut.is_set():
            for version, kind, obj in [entry for entry in self.history if entry[0] > since]:
                since = version
                yield {"type": kind, "object": deepcopy(obj)}
            yield {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(since)}}}
            self.news.clear()
            waiters = [asyncio.ensure_future(event.wait()) for event in (self.cut, self.news)]
            await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
            for waiter in waiters:
                waiter.cancel()

    def _refuse(self) -> None:
        if self.trouble:
            status = self.trouble.pop()
            raise ApiError.of(status, "Trouble", "trouble")


class Believer:
    """A handler that notes what it is told, and checks that each change fits what it was told before."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.doubts: list[AssertionError] = []

    def __call__(self, change: Change) -> None:
        """The informer goes on when a handler fails, so what is wrong is kept for the test."""
        try:
            self._believe(change)
        except AssertionError as error:
            self.doubts.append(error)

    def _believe(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        known = self.objects.get(name)
        if change.kind == "added":
            assert known is None, f"{name} is added twice"
            self.objects[name] = dict(change.new or {})
        elif change.kind == "updated":
            assert change.new is not None
            assert change.old == known, f"the old {name} is not the one that was reported"
            assert uid(change.new) == uid(change.old), f"{name} is another"
            assert version(change.new) > version(change.old), f"{name} went back"
            self.objects[name] = dict(change.new)
        else:
            assert known is not None, f"{name} was never there"
            assert uid(change.object) == uid(known)
            del self.objects[name]


def uid(obj: Any) -> str:
    return str(obj["metadata"]["uid"])


def version(obj: Any) -> int:
    return int(obj["metadata"]["resourceVersion"])


NAMES = st.sampled_from(["x", "y", "z"])
HAPPENINGS = st.one_of(
    st.tuples(st.just("put"), NAMES),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("break"), st.booleans()),
    st.tuples(st.just("trouble"), st.sampled_from([0, 401, 410, 429, 503])),
    st.tuples(st.just("wait"), st.integers(1, 20)),
)


@settings(max_examples=150)
@given(st.lists(HAPPENINGS, max_size=40))
def test_the_believer_is_right(happenings: list[tuple[str, Any]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "random", random.Random(0))  # the pauses are the same for the same happenings
        run(follow(happenings))


async def follow(happenings: list[tuple[str, Any]]) -> None:
    server, believer = Server(), Believer()
    informer = Informer(cast(Client, server), WEBS, "a")
    informer.add_handler(believer)
    task = asyncio.create_task(informer.run())
    for what, which in happenings:
        if what == "put":
            server.put(which)
        elif what == "delete":
            server.delete(which)
        elif what == "break":
            server.break_watches(compact=which)
        elif what == "trouble":
            server.trouble.append(which)
            server.break_watches()
        await asyncio.sleep(STEP * (which if what == "wait" else 1))
    await asyncio.wait([task], timeout=300)
    if task.done():
        task.result()
    task.cancel()
    assert believer.doubts == []
    assert informer.behind() is None
    assert believer.objects == server.objects
    assert {key.name for key in informer.store} == set(server.objects)
