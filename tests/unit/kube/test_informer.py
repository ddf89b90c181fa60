"""The informer against a server that follows a script, in virtual time: nothing is reported twice or left out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from copy import deepcopy
from typing import Any, cast

import pytest

from ansible_operator.kube.client import Client
from ansible_operator.kube.informer import BOOKMARK_SILENCE_SECONDS, SILENCE_SECONDS, Change, Informer
from ansible_operator.model.errors import ApiError
from ansible_operator.model.gvk import GVK, ObjectKey, Resource
from tests.support.virtual_time import now, virtual_time

WEBS = Resource(GVK("example.com", "v1", "Web"), "webs", True, frozenset())
Object = dict[str, Any]


def web(name: str, version: int = 1, uid: str = "") -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Web",
        "metadata": {"name": name, "namespace": "a", "uid": uid or f"uid of {name}", "resourceVersion": str(version)},
    }


def page(*items: Object, version: int = 10, more: str = "") -> Object:
    metadata = {"resourceVersion": str(version), **({"continue": more} if more else {})}
    return {"metadata": metadata, "items": list(items)}


def event(kind: str, obj: Object) -> Object:
    return {"type": kind, "object": obj}


def bookmark(version: int) -> Object:
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def gone(code: int = 410) -> Object:
    return event("ERROR", {"kind": "Status", "code": code, "reason": "Expired", "message": "too old resource version"})


def error(status: int, retry_after: float | None = None) -> ApiError:
    return ApiError.of(status, "Reason", "text", retry_after)


class Server:
    """Answers one call after the other: a dict is a list's page, a list the events of a watch, an error either.

    When the script is over the last watch stays open and silent.
    """

    def __init__(self, *script: Object | list[Any] | ApiError) -> None:
        self._script = list(script)
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.times: list[float] = []
        self.silences: list[float] = []
        self.renewed = 0
        self.connection = self

    async def renew(self) -> None:
        self.renewed += 1

    def _next(self, kind: str, params: Any) -> Any:
        self.calls.append((kind, dict(params)))
        self.times.append(now())
        answer = self._script.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        return deepcopy(answer) if isinstance(answer, dict) else answer

    async def request(self, method: str, path: str, *, params: Any) -> Object:
        assert method == "GET"
        assert path == "/apis/example.com/v1/namespaces/a/webs"
        answer: Object = self._next("list", params)
        assert isinstance(answer, dict), f"a list was asked for, the script has {answer}"
        return answer

    async def watch(self, path: str, params: Any, silence: float, opened: Any) -> AsyncIterator[Object]:
        assert path == "/apis/example.com/v1/namespaces/a/webs"
        assert silence == BOOKMARK_SILENCE_SECONDS or silence > float(params["timeoutSeconds"])
        self.silences.append(silence)
        if not self._script:
            self.calls.append(("watch", dict(params)))
            opened()
            await asyncio.Event().wait()
        events = self._next("watch", params)
        opened()
        for item in events:
            if isinstance(item, ApiError):
                raise item
            yield deepcopy(item)

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.calls]

    def versions(self) -> list[str]:
        """Where each watch began."""
        return [params["resourceVersion"] for kind, params in self.calls if kind == "watch"]


Run = tuple[Informer, list[str], Server]


async def run(*script: Object | list[Any] | ApiError, selector: str = "", seconds: float = 1000) -> Run:
    """Follow the script for a while. What was reported comes as short texts: ``added a``, ``updated a 1 2``."""
    server = Server(*script)
    informer = Informer(cast(Client, server), WEBS, "a", selector)
    seen: list[str] = []
    informer.add_handler(lambda change: seen.append(text_of(change)))
    task = asyncio.create_task(informer.run())
    await asyncio.wait([task], timeout=seconds)
    if task.done():
        task.result()
    task.cancel()
    return informer, seen, server


def text_of(change: Change) -> str:
    name = change.object["metadata"]["name"]
    versions = [obj["metadata"]["resourceVersion"] for obj in (change.old, change.new) if obj is not None]
    return f"{'initial ' if change.initial else ''}{change.kind} {name} {' '.join(versions)}"


# --- lists -----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_the_first_list_is_reported_as_such_and_makes_it_synced() -> None:
    informer, seen, _ = await run(page(web("x"), web("y")))
    assert seen == ["initial added x 1", "initial added y 1"]
    assert informer.synced.is_set()
    assert [str(key) for key in informer.store] == ["a/x", "a/y"]


@virtual_time
async def test_an_empty_list_makes_it_synced_as_well() -> None:
    informer, seen, _ = await run(page())
    assert (seen, informer.synced.is_set(), len(informer.store)) == ([], True, 0)


@virtual_time
async def test_a_list_is_read_page_by_page() -> None:
    informer, seen, server = await run(
        page(web("x"), more="next"), page(web("y"), more="last"), page(web("z"), version=20)
    )
    assert seen == ["initial added x 1", "initial added y 1", "initial added z 1"]
    assert [params.get("continue") for kind, params in server.calls if kind == "list"] == [None, "next", "last"]
    assert server.versions() == ["20"]
    assert len(informer.store) == 3


@virtual_time
async def test_the_items_of_a_list_are_told_their_kind_and_lose_their_managed_fields() -> None:
    item = web("x")
    del item["kind"], item["apiVersion"]
    item["metadata"]["managedFields"] = [{"manager": "m"}]
    informer, _, _ = await run(page(item))
    assert informer.store.get(ObjectKey("a", "x")) == web("x")


@virtual_time
async def test_the_selector_goes_to_the_server_with_every_list_and_watch() -> None:
    _, _, server = await run(page(), [], selector="tier in (gold)")
    assert len(server.calls) == 3
    assert all(params["labelSelector"] == "tier in (gold)" for _, params in server.calls)


# --- watches ---------------------------------------------------------------------------------------------------------


@virtual_time
async def test_changes_are_reported_as_old_and_new() -> None:
    _, seen, _ = await run(
        page(web("x")),
        [event("ADDED", web("y", 11)), event("MODIFIED", web("x", 12)), event("DELETED", web("y", 13))],
    )
    assert seen == ["initial added x 1", "added y 11", "updated x 1 12", "deleted y 13"]


@virtual_time
async def test_a_watch_that_ends_is_begun_again_where_it_stopped() -> None:
    _, seen, server = await run(page(web("x")), [event("MODIFIED", web("x", 12))], [event("MODIFIED", web("x", 13))])
    assert seen == ["initial added x 1", "updated x 1 12", "updated x 12 13"]
    assert server.kinds == ["list", "watch", "watch", "watch"]
    assert server.versions() == ["10", "12", "13"]


@virtual_time
async def test_a_bookmark_moves_where_the_next_watch_begins_and_is_no_change() -> None:
    _, seen, server = await run(page(), [bookmark(50)])
    assert seen == []
    assert server.versions() == ["10", "50"]


@virtual_time
async def test_a_watch_that_breaks_is_begun_again_where_it_stopped() -> None:
    _, seen, server = await run(page(), [event("ADDED", web("x", 11)), error(0)], [event("MODIFIED", web("x", 12))])
    assert seen == ["added x 11", "updated x 11 12"]
    assert server.versions() == ["10", "11", "12"]


@virtual_time
async def test_an_event_that_comes_twice_is_reported_once() -> None:
    same = event("MODIFIED", web("x", 12))
    _, seen, _ = await run(page(web("x")), [same, same, event("ADDED", web("x", 12))])
    assert seen == ["initial added x 1", "updated x 1 12"]


@virtual_time
async def test_the_end_of_what_was_never_there_is_not_reported() -> None:
    _, seen, _ = await run(page(), [event("DELETED", web("x", 11)), event("DELETED", web("x", 11))])
    assert seen == []


# --- lost history ----------------------------------------------------------------------------------------------------

GONE: dict[str, Callable[[], Any]] = {
    "as an event": lambda: [gone()],
    "as an answer": lambda: error(410),
    "after an event": lambda: [bookmark(11), gone()],
}


@pytest.mark.parametrize("how", GONE)
def test_history_that_is_gone_is_made_up_for_by_a_new_list(how: str) -> None:
    @virtual_time
    async def test() -> None:
        before = [web("same"), web("changed"), web("deleted")]
        after = [web("same"), web("changed", 15), web("new", 16)]
        informer, seen, server = await run(page(*before), GONE[how](), page(*after, version=20))
        assert seen[:3] == ["initial added same 1", "initial added changed 1", "initial added deleted 1"]
        assert sorted(seen[3:]) == ["added new 16", "deleted deleted 1", "updated changed 1 15"]
        assert server.versions()[-1] == "20"
        assert sorted(key.name for key in informer.store) == ["changed", "new", "same"]

    test()


@virtual_time
async def test_an_object_that_was_made_again_while_away_is_another() -> None:
    _, seen, _ = await run(page(web("x")), error(410), page(web("x", 15, uid="another")))
    assert seen == ["initial added x 1", "deleted x 1", "added x 15"]


@virtual_time
async def test_a_list_whose_next_page_is_gone_is_begun_anew() -> None:
    informer, seen, server = await run(page(web("x"), more="next"), error(410), page(web("x"), web("y")))
    assert seen == ["initial added x 1", "initial added y 1"]
    assert server.kinds == ["list", "list", "list", "watch"]
    assert informer.synced.is_set()


@virtual_time
async def test_an_object_that_vanished_between_two_tries_of_a_list_is_reported_as_deleted() -> None:
    informer, seen, _ = await run(page(web("x"), more="next"), error(410), page(web("y")))
    assert seen == ["initial added x 1", "initial added y 1", "deleted x 1"]
    assert [key.name for key in informer.store] == ["y"]


# --- trouble ---------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_list_that_fails_is_tried_again_ever_more_slowly_up_to_half_a_minute() -> None:
    informer, seen, server = await run(*[error(503)] * 20, page(web("x")))
    assert seen == ["initial added x 1"]
    gaps = [later - earlier for earlier, later in zip(server.times, server.times[1:], strict=False)]
    limits = [min(0.2 * 2**n, 30) for n in range(20)]
    assert all(limit / 2 <= gap <= limit for gap, limit in zip(gaps, limits, strict=False))
    assert informer.last_error is not None


@virtual_time
async def test_a_list_that_is_always_too_old_is_tried_again_ever_more_slowly_as_well() -> None:
    _, _, server = await run(page(), *[error(410)] * 10, page(web("x")))
    assert server.times[2] == server.times[1], "a new list is asked for at once"
    assert server.times[11] - server.times[2] > 0.1 * 2**8


@virtual_time
async def test_a_watch_that_fails_is_tried_again_ever_more_slowly_as_well() -> None:
    _, _, server = await run(page(), *[error(0)] * 10)
    waits = [min(0.2 * 2**n, 30) for n in range(9)]  # each between half of it and all of it
    assert server.times[10] - server.times[1] >= sum(waits) / 2


@virtual_time
async def test_a_watch_that_worked_in_between_begins_the_waiting_anew() -> None:
    _, _, server = await run(page(), *[error(0)] * 8, [bookmark(11), error(0)], error(0))
    assert server.times[-1] - server.times[-2] <= 0.4


@virtual_time
async def test_the_server_is_given_the_time_it_asks_for() -> None:
    _, _, server = await run(error(429, retry_after=17), page())
    assert server.times[1] - server.times[0] == 17


@virtual_time
async def test_refused_credentials_are_read_again() -> None:
    _, _, server = await run(page(), error(401), error(401))
    assert server.renewed == 2


@virtual_time
async def test_a_kind_that_is_gone_is_listed_again_when_it_is_back() -> None:
    _, seen, server = await run(page(web("x")), error(404), error(404), page(web("x", 1, uid="new")))
    assert server.kinds[:4] == ["list", "watch", "list", "list"]
    assert seen == ["initial added x 1", "deleted x 1", "added x 1"]


@virtual_time
async def test_an_error_in_a_watch_that_is_not_about_history_needs_no_list() -> None:
    _, _, server = await run(page(), [gone(500)])
    assert server.kinds == ["list", "watch", "watch"]


@virtual_time
async def test_a_server_that_ends_every_watch_at_once_is_spared() -> None:
    _, _, server = await run(page(), *[[] for _ in range(50)], seconds=1000)
    assert server.times[-1] - server.times[1] >= 49 * 0.1


@virtual_time
async def test_the_last_contact_is_remembered() -> None:
    informer, _, _ = await run(page(), [bookmark(11)])
    assert informer.last_contact == 0


# --- how it is -------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_server_that_has_sent_a_bookmark_is_missed_sooner_when_it_falls_silent() -> None:
    _, _, server = await run(page(), [bookmark(11)], [bookmark(12), error(0)], [])
    assert server.silences == [SILENCE_SECONDS, BOOKMARK_SILENCE_SECONDS, SILENCE_SECONDS, SILENCE_SECONDS]


@virtual_time
async def test_it_is_behind_until_the_first_list_and_once_it_could_not_be_kept_up_to_date_for_a_minute() -> None:
    informer, _, _ = await run(*[error(503)] * 4, seconds=0.5)
    assert informer.behind() == "waiting for the first list of webs.example.com"
    for trouble in ([error(503)] * 50, [[gone()], *[error(503)] * 50]):
        informer, _, _ = await run(page(), *trouble, seconds=50)
        assert informer.behind() is None, "a short trouble is nobody's"
        await asyncio.sleep(30)
        assert informer.behind() == "webs.example.com cannot be watched for 80 s: 503 Reason: text"
    informer, _, _ = await run(page(), *[error(503)] * 8, seconds=500)
    assert informer.behind() is None, "a watch that is open counts, be it silent"


@virtual_time
async def test_it_is_late_where_no_sign_of_life_came_when_one_was_due() -> None:
    informer, _, _ = await run(page(), seconds=SILENCE_SECONDS)
    assert informer.late() is None
    await asyncio.sleep(61)
    assert informer.late() == "the watch of webs.example.com has made no progress and is 1 s late"


@virtual_time
async def test_waiting_as_long_as_the_server_asks_is_not_late() -> None:
    informer, _, server = await run(error(429, retry_after=900), page(), seconds=899)
    assert informer.late() is None
    assert server.kinds == ["list"]


@virtual_time
async def test_an_answer_that_nobody_understands_is_no_end_but_a_reason_to_list_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nonsense: Any = {"type": "MODIFIED", "object": {"kind": "Web"}}
    informer, seen, server = await run({"kind": "Teapot"}, page(web("x")), [nonsense], page(web("x", 12)))
    assert seen == ["initial added x 1", "updated x 1 12"]
    assert server.kinds == ["list", "list", "watch", "list", "watch"]
    assert "KeyError" in str(informer.last_error)
    assert capsys.readouterr().out.count("is not understood") >= 2


# --- handlers --------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_handler_that_comes_later_is_told_what_is_known_and_from_then_on_everything() -> None:
    server = Server(page(web("x")), [event("MODIFIED", web("x", 12))])
    informer = Informer(cast(Client, server), WEBS, "a")
    late: list[str] = []
    early: list[str] = []

    def on_first(change: Change) -> None:
        early.append(text_of(change))
        if len(early) == 1:
            informer.add_handler(lambda change: late.append(text_of(change)))

    informer.add_handler(on_first)
    task = asyncio.create_task(informer.run())
    await asyncio.sleep(10)
    task.cancel()
    assert early == ["initial added x 1", "updated x 1 12"]
    assert late[-1] == "updated x 1 12"
    assert late.count("initial added x 1") >= 1


@virtual_time
async def test_every_handler_is_told() -> None:
    server = Server(page(web("x")), [event("DELETED", web("x", 12))])
    informer = Informer(cast(Client, server), WEBS, "a")
    seen: list[list[str]] = [[], []]
    for texts in seen:
        informer.add_handler(lambda change, texts=texts: texts.append(text_of(change)))
    task = asyncio.create_task(informer.run())
    await asyncio.sleep(10)
    task.cancel()
    assert seen == [["initial added x 1", "deleted x 12"]] * 2


@virtual_time
async def test_a_handler_that_fails_takes_neither_the_watch_nor_another_handler_along(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server(page(web("x"), web("y")), [event("DELETED", web("x", 12))])
    informer = Informer(cast(Client, server), WEBS, "a")
    seen: list[str] = []

    def fail(change: Change) -> None:
        raise RuntimeError("a fault of ours")

    informer.add_handler(fail)
    informer.add_handler(lambda change: seen.append(text_of(change)))
    task = asyncio.create_task(informer.run())
    await asyncio.sleep(10)
    task.cancel()
    assert seen == ["initial added x 1", "initial added y 1", "deleted x 12"]
    assert capsys.readouterr().out.count("[error    ] a change was not handled") == 3
