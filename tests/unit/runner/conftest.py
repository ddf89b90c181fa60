"""One request to run something, for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_operator.model.gvk import GVK, ObjectKey
from ansible_operator.model.owner import Owner
from ansible_operator.model.watch import Content
from ansible_operator.runner.interface import Access, RunRequest


@pytest.fixture
def run_request(tmp_path: Path) -> RunRequest:
    return RunRequest(
        directory=tmp_path / "work/runner/example.com/v1/Web/a/web",
        ident="4711",
        owner=Owner(GVK("example.com", "v1", "Web"), ObjectKey("a", "web"), "uid-1"),
        content=Content(role=Path("/opt/ansible/roles/web")),
        variables={"password": "hunter2"},
        access=Access("https://127.0.0.1:18888", tmp_path / "ca.crt", "the token", "a"),
    )


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=lambda umask: f"umask {umask:03o}")
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each umask that a container may have."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)
