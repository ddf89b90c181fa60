"""Reads answered from the informers' stores, where that gives what the API server would say.

Only a GET of one object or a list, of a kind that an informer holds whole and is up to date with, in plain JSON,
without anything in the query but labels that must be equal or not. All else goes upstream: other representations, pages
and resource versions, fields, subresources, dry runs, requests in somebody else's name. So does what a store does not
have, the kind of the run's own owner (the operator itself writes to it) and kinds that its watch has on the blacklist.

A run reads what it has written: once it has written to a kind, it reads that kind upstream until it ends; others do for
some seconds after, in which a watch delivers the change. Where nobody can say what a write has changed (a kind that is
no stored object, a ProjectRequest for instance), this holds for all kinds.

The objects have no managed fields; a PUT without any leaves those of the object as they are.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from ansible_operator.kube.informer import Informer
from ansible_operator.kube.informers import Informers
from ansible_operator.model.gvk import GVK, Object, ObjectKey, Resource
from ansible_operator.model.predicates import labels_of
from ansible_operator.model.selectors import Requirement, Selector
from ansible_operator.proxy.grants import Session
from ansible_operator.proxy.requestinfo import RequestInfo, Target

_HEARD_SECONDS = 90.0
"""The API server says once a minute that a watch is alive; a store that has heard nothing for so long is not asked."""

_SETTLE_SECONDS = 10.0
_MOST_OBJECTS = 500
_MOST_CANDIDATES = 2000
"""Longer lists go upstream, and so do those that are chosen from more: making one would hold up everybody else."""

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_REQUIREMENT = re.compile(rf"\s*((?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?{_NAME})\s*(==|=|!=)\s*((?:{_NAME})?)\s*")
_PLAIN = frozenset({"application/json", "application/*", "*/*"})

Written = tuple[str, str] | None
"""Group and plural of what a write changes; None for anything."""


@dataclass(frozen=True)
class Found:
    """An answer from memory: the body, and the objects in it."""

    body: bytes
    resource: Resource
    objects: list[Object]


class Reads:
    """Answers from memory, and remembers what was written."""

    def __init__(
        self, informers: Informers, clock: Callable[[], float] = lambda: asyncio.get_running_loop().time()
    ) -> None:
        self._informers = informers
        self._clock = clock
        self._under_way: dict[Written, int] = {}
        self._settled: dict[Written, float] = {}

    @contextmanager
    def writing(self, session: Session, what: Written) -> Iterator[None]:
        """While this lasts, and for some time after, nobody is told from memory what it may change."""
        session.written.add(what)
        self._under_way[what] = self._under_way.get(what, 0) + 1
        try:
            yield
        finally:
            self._under_way[what] -= 1
            self._settled[what] = self._clock() + _SETTLE_SECONDS

    def find(self, request: web.BaseRequest, target: Target, info: RequestInfo, session: Session) -> Found | None:
        """The answer to a GET, or None where the API server has to be asked."""
        selector = _selector(target.query)
        if info.subresource or info.watch or selector is None or not _wants_plain_json(request):
            return None
        informer = self._informers.whole(info.group, info.version, info.plural, info.namespace)
        if informer is None or not self._may_be_told(session, info, informer.resource.gvk):
            return None
        version = informer.version(_HEARD_SECONDS)
        if version is None:
            return None
        if info.name:
            obj = informer.store.get(ObjectKey(info.namespace, info.name)) if not target.query else None
            return Found(_json(obj), informer.resource, [obj]) if obj is not None else None
        return _list(informer, info.namespace, selector, version)

    def _may_be_told(self, session: Session, info: RequestInfo, gvk: GVK) -> bool:
        grant = session.grant
        if grant is None or gvk in grant.blacklist:
            return False
        if (gvk.group, gvk.kind) == (grant.owner.gvk.group, grant.owner.gvk.kind):
            return False
        return not any(
            what in session.written or self._under_way.get(what) or self._settled.get(what, 0.0) > self._clock()
            for what in ((info.group, info.plural), None)
        )


def _list(informer: Informer, namespace: str, selector: Selector, version: str) -> Found | None:
    """In the order of the API server, which is that of the keys."""
    keys = sorted(key for key in informer.store if namespace in ("", key.namespace))
    if len(keys) > (_MOST_CANDIDATES if selector.requirements else _MOST_OBJECTS):
        return None
    objects = (informer.store.get(key) for key in keys)
    items = [obj for obj in objects if obj is not None and selector.matches(labels_of(obj))]
    if len(items) > _MOST_OBJECTS:
        return None
    body = {
        "apiVersion": informer.resource.gvk.api_version,
        "kind": informer.list_kind,
        "metadata": {"resourceVersion": version},
        "items": items,
    }
    return Found(_json(body), informer.resource, items)


def _selector(query: Mapping[str, list[str]]) -> Selector | None:
    """What a query selects by labels; None where it asks for something else, or in another way."""
    asked = dict(query)
    texts = asked.pop("labelSelector", [""])
    if asked.pop("resourceVersion", [""]) not in ([""], ["0"]) or asked or len(texts) > 1:
        return None
    requirements = []
    for part in texts[0].split(",") if texts[0].strip() else ():
        match = _REQUIREMENT.fullmatch(part)
        if match is None:
            return None
        key, operator, value = match.groups()
        requirements.append(Requirement(key, "NotIn" if operator == "!=" else "In", (value,)))
    return Selector(tuple(requirements))


def _wants_plain_json(request: web.BaseRequest) -> bool:
    """Whether JSON will do, as it is stored, for the operator itself."""
    if any(name.lower().startswith("impersonate-") for name in request.headers):
        return False
    ranges = ",".join(request.headers.getall("Accept", ())).split(",")
    return all(each.strip().lower() in _PLAIN or not each.strip() for each in ranges)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
