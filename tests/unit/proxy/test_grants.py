"""Tokens: one a run, worth nothing afterwards."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from ansible_operator.model.gvk import GVK, ObjectKey
from ansible_operator.model.owner import Owner
from ansible_operator.proxy.grants import Child, Grant, Grants


def grant(name: str = "web") -> Grant:
    def on_child(child: Child) -> None:
        raise AssertionError(child)

    return Grant(Owner(GVK("example.com", "v1", "Web"), ObjectKey("a", name), f"uid of {name}"), True, on_child)


def test_a_token_opens_with_its_own_grant_until_it_is_revoked() -> None:
    grants = Grants()
    one, two = grant("one"), grant("two")
    first, second = grants.issue(one), grants.issue(two)
    assert first != second
    assert opened(grants, first) is one
    assert opened(grants, second) is two
    grants.revoke(first)
    assert opened(grants, first) is None
    assert opened(grants, second) is two
    assert len(grants) == 1


def test_tokens_are_long_random_texts() -> None:
    grants = Grants()
    tokens = {grants.issue(grant()) for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) >= 43 for token in tokens)  # 256 bits


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "token-1",
        "Bearer token-2",
        "Bearer token",
        "Bearer TOKEN-1",
        "Basic token-1",
        "Basic eyJhcGlWZXJzaW9uIjoidjEifQ:unused",
        "Bearer token-1 and more",
    ],
    ids=repr,
)
def test_nothing_else_opens(header: str) -> None:
    grants = tokens_by_number()
    grants.issue(grant())
    assert grants.of_header(header) is None


@pytest.mark.parametrize("header", ["Bearer token-1", "bearer token-1", "BEARER  token-1 "], ids=repr)
def test_the_scheme_is_read_in_any_case(header: str) -> None:
    grants = tokens_by_number()
    grants.issue(grant())
    assert grants.of_header(header) is not None


def test_revoking_twice_is_no_fault() -> None:
    grants = Grants()
    token = grants.issue(grant())
    grants.revoke(token)
    grants.revoke(token)
    assert len(grants) == 0


async def test_a_token_takes_with_it_what_is_open_and_nothing_else() -> None:
    grants = Grants()
    tokens = [grants.issue(grant()), grants.issue(grant())]
    requests = [asyncio.create_task(open_request(grants, token)) for token in tokens]
    await asyncio.sleep(0)
    grants.revoke(tokens[0])
    with pytest.raises(asyncio.CancelledError):
        await requests[0]
    assert not requests[1].done()
    grants.close()
    with pytest.raises(asyncio.CancelledError):
        await requests[1]
    assert len(grants) == 0


async def open_request(grants: Grants, token: str) -> None:
    session = grants.of_header(f"Bearer {token}")
    assert session is not None
    with session.request():
        await asyncio.Event().wait()


def opened(grants: Grants, token: str) -> Grant | None:
    session = grants.of_header(f"Bearer {token}")
    return None if session is None else session.grant


def tokens_by_number() -> Grants:
    numbers = count(1)
    return Grants(lambda: f"token-{next(numbers)}")
