"""A runner with a warm parent, and plays for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ansible_operator.runner.configuration import COMMON
from ansible_operator.runner.pool import WarmRunner
from tests.warm.player import Player
from tests.warm.runs import PATIENT, environment

PATIENCE = 120.0


@pytest.fixture
async def runner() -> AsyncIterator[WarmRunner]:
    """Four runs at once. Its parent is ready, and none of its files was written while it started."""
    runner = WarmRunner(environment(), capacity=4, limits=PATIENT)
    await runner.start()
    try:
        assert await runner.parent().wait_ready(PATIENCE)
        while runner.parent().sources.changed():  # bytecode for instance, in a fresh checkout
            await runner._parents.ready(COMMON)
            assert await runner.parent().wait_ready(PATIENCE)
        yield runner
    finally:
        await runner.stop()


@pytest.fixture
def play(tmp_path: Path) -> Player:
    """Plays in a directory of the test."""
    return Player(tmp_path)
