"""An informer: one kind, listed and then watched, with every change reported as old and new object.

A watch that ends, breaks or falls silent is begun again where it stopped; history that the server no longer has is made
up for by a new list, whose differences are reported like events. Nothing is reported twice or left out.

It knows how it is: whether its store is what the server has (``behind``), and whether it has stopped without a word
(``late``), which only a fault of ours can bring about.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from ansible_operator.kube.client import Client
from ansible_operator.kube.store import Store
from ansible_operator.model.errors import ApiError, Gone
from ansible_operator.model.gvk import Object, ObjectKey, Resource
from ansible_operator.telemetry.logs import get_logger

log = get_logger("informer")

WATCH_SECONDS = 300
"""How long the server keeps one watch open; then it is begun anew, so that a dead one is noticed."""

SILENCE_SECONDS = WATCH_SECONDS + 30
"""Without a byte for so long a watch counts as dead, since the server should have ended it."""

BOOKMARK_SILENCE_SECONDS = 150.0
"""The same for a server that sends bookmarks, which it does about once a minute."""

PAGE = 500
_BACKOFF = (0.2, 30.0)
_REQUEST_SECONDS = 90.0
"""A request, credentials that are read anew, and the request once more."""

_GRACE_SECONDS = 60.0
"""What may pass, beyond the time that something takes at most, before it counts as late; and before a store that
cannot be kept up to date counts as behind."""


@dataclass(frozen=True)
class Change:
    """What happened to one object. ``initial`` marks the objects of the very first list."""

    kind: Literal["added", "updated", "deleted"]
    old: Object | None
    new: Object | None
    initial: bool = False

    @property
    def object(self) -> Object:
        """The object as it was last seen."""
        obj = self.new if self.new is not None else self.old
        assert obj is not None
        return obj


Handler = Callable[[Change], None]


class Informer:
    """Watches ``resource`` in one namespace (empty: in all), as far as the label selector lets objects through."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        namespace: str = "",
        label_selector: str = "",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.resource = resource
        self.namespace = namespace
        self.store = Store()
        self.synced = asyncio.Event()
        self.last_contact: float | None = None
        self.last_error: ApiError | None = None
        self.list_kind = f"{resource.gvk.kind}List"
        self._client = client
        self._params = {"labelSelector": label_selector} if label_selector else {}
        self._sleep = sleep
        self._handlers: list[Handler] = []
        self._version: str | None = None
        self._broken = False
        self._bookmarked = False
        self._behind_since: float | None = None
        self._due: float | None = None

    def add_handler(self, handler: Handler) -> None:
        """Report every change to ``handler`` from now on; objects already known are reported to it at once."""
        self._handlers.append(handler)
        for key in self.store:
            handler(Change("added", None, self.store.get(key), initial=True))

    def version(self, seconds: float) -> str | None:
        """The resource version that the store is at, if the server was heard within that many seconds.

        None where the store may be behind: before the first list, during another one, since a watch broke.
        """
        if self._broken or self._version is None or self.last_contact is None:
            return None
        return self._version if asyncio.get_running_loop().time() - self.last_contact < seconds else None

    def behind(self) -> str | None:
        """Why the store may not be what the server has; None where it is, or has been until a moment ago."""
        if not self.synced.is_set():
            return f"waiting for the first list of {self._name}"
        seconds = 0.0 if self._behind_since is None else _now() - self._behind_since
        if seconds <= _GRACE_SECONDS:
            return None
        return f"{self._name} cannot be watched for {seconds:.0f} s: {self.last_error or 'no answer'}"

    def late(self) -> str | None:
        """What is wrong where no sign of life came when one was due; None where all is well."""
        seconds = 0.0 if self._due is None else _now() - self._due
        return f"the watch of {self._name} has made no progress and is {seconds:.0f} s late" if seconds > 0 else None

    async def run(self) -> None:
        """List and watch until cancelled."""
        failures = 0
        while True:
            contact = self.last_contact
            try:
                await self._turn()
                failures = 0
            except Gone as error:
                self._break(error)
                self._version = None
                failures = failures + 1 if self.last_contact == contact else 1
                if failures > 1:  # the new list is refused as well
                    await self._pause(error, failures)
            except ApiError as error:
                failures = failures + 1 if self.last_contact == contact else 1
                await self._pause(error, failures)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                log.exception("an answer of the API server is not understood", resource=self._name)
                self._version = None
                failures += 1
                await self._pause(ApiError.of(0, "InvalidAnswer", f"{type(error).__name__}: {error}"), failures)

    async def _turn(self) -> None:
        """One watch, to its end, after a list where one is needed."""
        if self._version is None:
            await self._list()
        await self._watch()
        self._expect(0.0)
        await self._sleep(random.uniform(0.1, 0.5))  # noqa: S311 - a server that ends watches at once is spared

    def _expect(self, seconds: float) -> None:
        """The next sign of life comes within that time, or something is wrong with us."""
        self._due = _now() + seconds + _GRACE_SECONDS

    def _break(self, error: ApiError) -> None:
        self.last_error = error
        self._broken = True
        self._bookmarked = False
        if self._behind_since is None:
            self._behind_since = _now()

    async def _pause(self, error: ApiError, failures: int) -> None:
        """Wait before the next try; the first failure may be a mere drop and is not worth a line."""
        self._break(error)
        if error.status == 404:
            self._version = None  # the kind is gone: list again when it is back
        elif error.status == 401:
            await self._client.connection.renew()
        delay = min(_BACKOFF[0] * 2 ** (failures - 1), _BACKOFF[1]) * random.uniform(0.5, 1.0)  # noqa: S311
        if failures > 1:
            log.warning("cannot watch", resource=self._name, error=str(error), failures=failures)
        delay = max(delay, error.retry_after or 0.0)
        self._expect(delay)
        await self._sleep(delay)

    @property
    def _path(self) -> str:
        return self.resource.path(self.namespace)

    @property
    def _name(self) -> str:
        return f"{self.resource.plural}.{self.resource.gvk.group}".rstrip(".")

    async def _list(self) -> None:
        """Read everything, page by page, and report how it differs from what is known."""
        seen: set[ObjectKey] = set()
        params = {**self._params, "limit": str(PAGE)}
        initial = not self.synced.is_set()
        while True:
            self._expect(_REQUEST_SECONDS)
            page = await self._client.request("GET", self._path, params=params)
            for obj in page.get("items") or ():
                obj.setdefault("apiVersion", self.resource.gvk.api_version)
                obj.setdefault("kind", self.resource.gvk.kind)
                seen.add(ObjectKey.of(obj))
                self._put(obj, initial=initial)
            metadata = page["metadata"]
            if not metadata.get("continue"):
                break
            params["continue"] = metadata["continue"]
        for key in self.store.keys_besides(seen, ""):
            self._remove(key)
        self.list_kind = page.get("kind") or self.list_kind
        self._version = metadata["resourceVersion"]
        self._touch()
        self.synced.set()

    async def _watch(self) -> None:
        params = {
            **self._params,
            "resourceVersion": self._version or "",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        silence = min(BOOKMARK_SILENCE_SECONDS, SILENCE_SECONDS) if self._bookmarked else SILENCE_SECONDS
        self._expect(silence)
        async for event in self._client.watch(self._path, params, silence, opened=self._caught_up):
            self._touch()
            self._expect(silence)
            self._handle(event)

    def _caught_up(self) -> None:
        self._behind_since = None

    def _handle(self, event: dict[str, Any]) -> None:
        obj = event["object"]
        if event["type"] == "ERROR":
            raise ApiError.of(int(obj.get("code", 0)), obj.get("reason", ""), obj.get("message", "watch failed"))
        self._version = obj["metadata"]["resourceVersion"]
        if event["type"] in ("ADDED", "MODIFIED"):
            self._put(obj)
        elif event["type"] == "DELETED":
            self._remove(ObjectKey.of(obj), obj)
        elif event["type"] == "BOOKMARK":
            self._bookmarked = True

    def _put(self, obj: dict[str, Any], *, initial: bool = False) -> None:
        old = self.store.put(obj)
        if old is None:
            self._report(Change("added", None, obj, initial))
        elif old["metadata"].get("uid") != obj["metadata"].get("uid"):
            self._report(Change("deleted", old, None))  # deleted and made again while nobody watched
            self._report(Change("added", None, obj))
        elif old["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
            self._report(Change("updated", old, obj))

    def _remove(self, key: ObjectKey, last: Object | None = None) -> None:
        old = self.store.remove(key)
        if old is not None:
            self._report(Change("deleted", last or old, None))

    def _report(self, change: Change) -> None:
        for handler in self._handlers:
            try:
                handler(change)
            except Exception:  # one object must not end the watch of all
                log.exception("a change was not handled", resource=self._name, object=str(ObjectKey.of(change.object)))

    def _touch(self) -> None:
        self._broken = False
        self.last_contact = _now()


def _now() -> float:
    """Seconds on the clock of the event loop, which nobody sets."""
    return asyncio.get_running_loop().time()
