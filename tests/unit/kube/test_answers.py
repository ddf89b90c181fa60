"""The API server's answers, read: errors, kinds, and lists that do not come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from ansible_operator.kube.client import Client, error_of
from ansible_operator.kube.discovery import Discovery
from ansible_operator.kube.informers import Informers
from ansible_operator.model.errors import ApiError, NotFound, StartError, TooManyRequests, Unavailable
from ansible_operator.model.gvk import GVK, Resource
from tests.support.virtual_time import now, virtual_time

WEB = GVK("example.com", "v1", "Web")


# --- errors ----------------------------------------------------------------------------------------------------------


def test_an_error_says_what_the_server_said() -> None:
    status = {"kind": "Status", "reason": "NotFound", "message": "webs.example.com x not found"}
    error = error_of(404, {}, json.dumps(status).encode())
    assert isinstance(error, NotFound)
    assert str(error) == "404 NotFound: webs.example.com x not found"


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "HTTP 502"), (b"Bad gateway", "Bad gateway"), (b"[1]", "[1]"), (b"\xff", "\ufffd"), (b"x" * 999, "x" * 256)],
    ids=["nothing", "text", "no object", "no text", "long"],
)
def test_an_answer_that_is_no_status_is_shown_in_part(content: bytes, message: str) -> None:
    error = error_of(502, {}, content)
    assert isinstance(error, Unavailable)
    assert str(error).partition(": ")[2] == message


@pytest.mark.parametrize(
    ("header", "seconds"), [("5", 5.0), ("", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None)]
)
def test_the_time_to_wait_is_taken_from_the_header(header: str, seconds: float | None) -> None:
    error = error_of(429, {"Retry-After": header} if header else {}, b"")
    assert isinstance(error, TooManyRequests)
    assert error.retry_after == seconds


# --- kinds -----------------------------------------------------------------------------------------------------------


class Kinds:
    """Serves group versions; counts the questions."""

    def __init__(self, **served: list[dict[str, Any]]) -> None:
        self.served: dict[str, list[dict[str, Any]]] = {f"/apis/{name}/v1": items for name, items in served.items()}
        self.asked: list[str] = []
        self.error: ApiError | None = None

    async def request(self, method: str, path: str) -> dict[str, Any]:
        assert method == "GET"
        self.asked.append(path)
        await asyncio.sleep(1)
        if self.error is not None:
            raise self.error
        if path not in self.served:
            raise ApiError.of(404, "NotFound", "no such group version")
        return {"resources": self.served[path]}


def kind(name: str, plural: str, **more: Any) -> dict[str, Any]:
    return {"kind": name, "name": plural, "namespaced": True, "verbs": ["get"], **more}


@virtual_time
async def test_a_kind_is_found_by_name_and_by_plural_and_asked_for_once() -> None:
    server = Kinds(
        **{"example.com": [kind("Web", "webs"), kind("Web", "webs/status"), kind("Db", "dbs", namespaced=False)]}
    )
    discovery = Discovery(cast(Client, server))
    webs = await discovery.by_kind(WEB)
    assert webs == Resource(WEB, "webs", True, frozenset({"get"}))
    assert await discovery.by_plural("example.com", "v1", "webs") == webs
    assert not (await discovery.by_plural("example.com", "v1", "dbs")).namespaced
    assert server.asked == ["/apis/example.com/v1"]


@virtual_time
async def test_the_core_group_has_a_path_of_its_own() -> None:
    server = Kinds()
    server.served["/api/v1"] = [kind("Secret", "secrets")]
    assert (await Discovery(cast(Client, server)).by_kind(GVK("", "v1", "Secret"))).plural == "secrets"


@virtual_time
async def test_a_kind_that_is_lacking_is_asked_for_again() -> None:
    server = Kinds(**{"example.com": []})
    discovery = Discovery(cast(Client, server))
    with pytest.raises(NotFound, match=r"does not serve example\.com/v1, Kind=Web"):
        await discovery.by_kind(WEB)
    server.served["/apis/example.com/v1"] = [kind("Web", "webs")]
    assert (await discovery.by_kind(WEB)).plural == "webs"


@virtual_time
async def test_a_group_that_is_lacking_is_asked_for_again() -> None:
    server = Kinds()
    discovery = Discovery(cast(Client, server))
    with pytest.raises(NotFound):
        await discovery.by_kind(WEB)
    server.served["/apis/example.com/v1"] = [kind("Web", "webs")]
    assert (await discovery.by_kind(WEB)).plural == "webs"


@virtual_time
async def test_trouble_is_not_remembered() -> None:
    server = Kinds(**{"example.com": [kind("Web", "webs")]})
    discovery = Discovery(cast(Client, server))
    server.error = ApiError.of(503, "", "down")
    with pytest.raises(Unavailable):
        await discovery.by_kind(WEB)
    server.error = None
    assert (await discovery.by_kind(WEB)).plural == "webs"


@virtual_time
async def test_many_who_ask_at_once_cause_one_question() -> None:
    server = Kinds(**{"example.com": [kind("Web", "webs")]})
    discovery = Discovery(cast(Client, server))
    found = await asyncio.gather(*(discovery.by_kind(WEB) for _ in range(20)))
    assert len(server.asked) == 1
    assert {resource.plural for resource in found} == {"webs"}


# --- lists that do not come ------------------------------------------------------------------------------------------


class Forbidding:
    """Refuses every list; a watch is never come to."""

    async def request(self, method: str, path: str, *, params: Any) -> dict[str, Any]:
        raise ApiError.of(403, "Forbidden", f"cannot list at {path}")

    async def watch(self, path: str, params: Any, silence: float) -> AsyncIterator[Any]:
        raise AssertionError
        yield  # pragma: no cover


@virtual_time
async def test_a_list_that_is_forbidden_ends_the_start_with_the_reason_and_the_cure() -> None:
    informers = Informers(cast(Client, Forbidding()), ["a", "b"])
    informers.ensure(Resource(WEB, "webs", True, frozenset()), lambda change: None)
    with pytest.raises(StartError) as caught:
        await informers.wait_for_sync(120)
    assert now() == 120
    assert str(caught.value).startswith(
        "cannot list webs.example.com in a within 120 s: 403 Forbidden: cannot list at "
    )
    assert "check the RBAC" in str(caught.value)
    await informers.stop()
    assert informers.stuck() == "informer example.com/v1, Kind=Web a has ended"


@virtual_time
async def test_one_informer_serves_all_who_ask_for_the_same() -> None:
    informers = Informers(cast(Client, Forbidding()), ["a", "b"])
    webs = Resource(WEB, "webs", True, frozenset())
    first = informers.ensure(webs, lambda change: None)
    assert informers.ensure(webs, lambda change: None) == first
    assert [informer.namespace for informer in first] == ["a", "b"]
    assert informers.ensure(webs, lambda change: None, "tier=gold") != first
    cluster_scoped = Resource(GVK("example.com", "v1", "Fleet"), "fleets", False, frozenset())
    assert [informer.namespace for informer in informers.ensure(cluster_scoped, lambda change: None)] == [""]
    await informers.stop()


@pytest.mark.parametrize(
    ("watched", "namespace", "yes"),
    [([], "a", True), ([], "", True), (["a"], "a", True), (["a"], "b", False), (["a"], "", False)],
)
def test_which_namespaces_are_watched(watched: list[str], namespace: str, yes: bool) -> None:
    assert Informers(cast(Client, None), watched).watches(namespace) is yes
