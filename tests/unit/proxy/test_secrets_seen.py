"""Whatever of Secrets passes the proxy is told to whoever has to hide it, before the run has it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.model.gvk import GVK, Resource
from ansible_operator.model.redaction import Redactor
from ansible_operator.proxy.grants import Grant
from ansible_operator.proxy.recovery import Recovery
from tests.support.upstream import OWNER, Received, front, ok
from tests.unit.proxy.test_protobuf import body_of, field

VALUE = "c2VjcmV0LXZhbHVl"
"""secret-value"""

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": VALUE}}
LIST = {"apiVersion": "v1", "kind": "SecretList", "items": [{"metadata": {"name": "s"}, "data": {"k": VALUE}}]}
METADATA = field(1, field(1, "s"))
PROTOBUF = {
    "data": body_of(METADATA + field(2, field(1, "k") + field(2, "secret-value")) + field(3, "Opaque")),
    "texts": body_of(METADATA + field(4, field(1, "k") + field(2, "secret-value"))),
}
KINDS = {"resources": [{"name": "secrets", "kind": "Secret", "namespaced": True, "verbs": ["get", "list", "watch"]}]}
SECRETS = "/api/v1/namespaces/a/secrets"


async def hidden(
    tmp_path: Path, line: str, sent: bytes = b"", sent_type: str = "", answered: Any = None, *headers: str
) -> tuple[str, bytes]:
    """What becomes of a text with the value, in both forms, after one request; and the body of its answer."""

    async def answer(request: Received) -> bytes:
        if request.line.startswith("GET /api/v1 "):
            return ok(json.dumps(KINDS).encode())
        body = answered if isinstance(answered, bytes) else json.dumps(answered or {}).encode()
        return ok(body, "Content-Type: application/json", *headers)

    redactor = Redactor()
    async with front(answer, tmp_path) as proxy:
        proxy.token = proxy.proxy.grants.issue(
            Grant(OWNER, inject=False, on_child=lambda child: None, on_secret=redactor.learn)
        )
        given = [f"Content-Type: {sent_type}"] if sent_type else []
        _, body = await proxy.send(line, *given, body=sent)
    return redactor.text(f"secret-value {VALUE}"), body


@pytest.mark.parametrize("answered", [SECRET, LIST], ids=["one", "list"])
async def test_what_a_run_reads(answered: dict[str, Any], tmp_path: Path) -> None:
    text, body = await hidden(tmp_path, f"GET {SECRETS}", answered=answered)
    assert (text, json.loads(body)) == ("*** ***", answered)


async def test_also_where_the_answer_is_compressed(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(LIST).encode())
    assert await hidden(tmp_path, f"GET {SECRETS}", b"", "", packed, "Content-Encoding: gzip") == ("*** ***", packed)


@pytest.mark.parametrize(
    ("line", "content_type", "body"),
    [
        (f"POST {SECRETS}", "application/json", json.dumps(SECRET).encode()),
        (f"PUT {SECRETS}/s", "application/yaml", b"stringData: {k: secret-value}"),
        (f"PATCH {SECRETS}/s", "application/apply-patch+yaml", b"kind: Secret\nstringData: {k: secret-value}"),
        (f"POST {SECRETS}", "application/vnd.kubernetes.protobuf", PROTOBUF["data"]),
        (f"POST {SECRETS}", "application/vnd.kubernetes.protobuf", PROTOBUF["texts"]),
    ],
)
async def test_what_a_run_writes(line: str, content_type: str, body: bytes, tmp_path: Path) -> None:
    assert (await hidden(tmp_path, line, body, content_type))[0] == "*** ***"


async def test_what_a_patch_is_answered_with(tmp_path: Path) -> None:
    patch = b'{"metadata": {"labels": {"a": "b"}}}'
    line = f"PATCH {SECRETS}/s"
    assert (await hidden(tmp_path, line, patch, "application/merge-patch+json", SECRET))[0] == "*** ***"


@pytest.mark.parametrize(
    "answered", [b"no json", b"[1]", gzip.compress(b"x" * 2**24), b"\x1f\x8b cut"], ids=["text", "list", "bomb", "cut"]
)
async def test_what_cannot_be_looked_into_is_handed_on(answered: bytes, tmp_path: Path) -> None:
    packed = ["Content-Encoding: gzip"] if answered.startswith(b"\x1f\x8b") else []
    assert (await hidden(tmp_path, f"GET {SECRETS}", b"", "", answered, *packed))[1] == answered


async def test_other_kinds_hide_nothing(tmp_path: Path) -> None:
    line = "GET /api/v1/namespaces/a/configmaps"
    assert (await hidden(tmp_path, line, answered=LIST))[0] == f"secret-value {VALUE}"


def test_what_is_told_from_memory() -> None:
    redactor = Redactor()
    grant = Grant(OWNER, inject=False, on_child=lambda child: None, on_secret=redactor.learn)
    resource = Resource(GVK("", "v1", "Secret"), "secrets", True, frozenset())
    Recovery(None).from_objects(grant, resource, [SECRET])  # type: ignore[arg-type]
    assert redactor.text("secret-value") == "***"
