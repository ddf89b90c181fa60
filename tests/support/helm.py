"""The pinned Helm for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcluster.build import built_path


@pytest.fixture(scope="session")
def helm() -> Path:
    """The program; without it what needs it is skipped."""
    program = built_path("helm")
    if not program.exists():
        pytest.skip("helm is not built; make test-helm builds it first")
    return program
