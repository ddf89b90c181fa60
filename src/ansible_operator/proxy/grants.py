"""Who may use the proxy: one token a run, which names the owner of what the run creates, and dies with the run."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ansible_operator.model.gvk import GVK, Object, Resource
from ansible_operator.model.owner import Owner


@dataclass(frozen=True)
class Child:
    """An object that a run has created, or found again: its kind, where it lives, and how it names its owner."""

    resource: Resource
    namespace: str
    by_annotation: bool


@dataclass(frozen=True)
class Grant:
    """What one run may do at the proxy.

    ``inject`` says whether what it creates gets an owner; ``on_child`` is told of each child; kinds in ``blacklist``
    are always read from the API server; ``on_secret`` is told of each Secret, or list of them, that the run reads or
    writes, before the run is. ``of_chart``: the run releases a chart.
    """

    owner: Owner
    inject: bool
    on_child: Callable[[Child], None]
    blacklist: frozenset[GVK] = frozenset()
    on_secret: Callable[[Object], None] = lambda secret: None
    of_chart: bool = False


class Session:
    """One run at the proxy, or everybody who may come without a token (then there is no grant).

    ``written`` and ``discovered`` are for those who answer from memory: what the run has written, by group and plural
    (None: something whose effects nobody knows), and the discovery paths it has been told from memory.
    """

    def __init__(self, grant: Grant | None = None) -> None:
        self.grant = grant
        self.written: set[tuple[str, str] | None] = set()
        self.discovered: set[str] = set()
        self._requests: set[asyncio.Task[object]] = set()

    @contextmanager
    def request(self) -> Iterator[None]:
        """For as long as the current task serves a request of this session, ``close`` ends it."""
        task = asyncio.current_task()
        assert task is not None
        self._requests.add(task)
        try:
            yield
        finally:
            self._requests.discard(task)

    def close(self) -> None:
        """End whatever is under way: watches, log streams and tunnels would outlive the run otherwise."""
        for task in self._requests:
            task.cancel()


class Grants:
    """The tokens that are valid now."""

    def __init__(self, make_token: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> None:
        self._make_token = make_token
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def issue(self, grant: Grant) -> str:
        """A new token for a run."""
        token = self._make_token()
        self._sessions[token] = Session(grant)
        return token

    def revoke(self, token: str) -> None:
        """The run is over: its token is worth nothing from now on, and what it has open is closed."""
        session = self._sessions.pop(token, None)
        if session is not None:
            session.close()

    def close(self) -> None:
        """Revoke all."""
        for token in list(self._sessions):
            self.revoke(token)

    def of_header(self, authorization: str) -> Session | None:
        """The session of an ``Authorization`` header; None where there is none, or where it is no longer valid."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        return self._sessions.get(token.strip())
