"""Who may use the proxy: one token a run, which names the owner of what the run creates."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from ansible_operator.model.gvk import Resource
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

    ``inject`` says whether what it creates gets an owner; ``on_child`` is told of each child.
    """

    owner: Owner
    inject: bool
    on_child: Callable[[Child], None]


class Grants:
    """The tokens that are valid now."""

    def __init__(self, make_token: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> None:
        self._make_token = make_token
        self._grants: dict[str, Grant] = {}

    def __len__(self) -> int:
        return len(self._grants)

    def issue(self, grant: Grant) -> str:
        """A new token for a run."""
        token = self._make_token()
        self._grants[token] = grant
        return token

    def revoke(self, token: str) -> None:
        """The run is over, its token is worth nothing from now on."""
        self._grants.pop(token, None)

    def of_header(self, authorization: str) -> Grant | None:
        """The grant of an ``Authorization`` header; None where there is none, or where it is no longer valid."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        return self._grants.get(token.strip())
