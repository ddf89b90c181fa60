"""The verdict of the soak."""

from dataclasses import replace

import pytest

from tests.bench.readings import Life, Reading, growth

FIRST = Reading(500, 60.0, {"main": Life(80.0, 50.0, 20, 6), "guard": Life(10.0, 5.0, 3, 1)}, 3, 1000, 5)


def test_a_tenth_more_memory_and_some_connections_are_allowed() -> None:
    last = replace(FIRST, runs=10_000, lives={**FIRST.lives, "main": Life(88.0, 70.0, 24, 8)}, files=900)
    assert growth(FIRST, last) == []


@pytest.mark.parametrize(
    ("last", "grown"),
    [
        (replace(FIRST, lives={**FIRST.lives, "main": Life(88.1, 50.0, 20, 6)}), "main rss_mib: 80 -> 88.1"),
        (replace(FIRST, lives={**FIRST.lives, "guard": Life(10.0, 5.0, 8, 1)}), "guard descriptors: 3 -> 8"),
        (replace(FIRST, lives={**FIRST.lives, "main": Life(80.0, 50.0, 20, 11)}), "main threads: 6 -> 11"),
        (replace(FIRST, processes=4), "processes: 3 -> 4"),
        (replace(FIRST, files=1001), "files: 1000 -> 1001"),
        (replace(FIRST, temporary=6), "temporary files: 5 -> 6"),
    ],
)
def test_growth(last: Reading, grown: str) -> None:
    assert growth(FIRST, last) == [grown]
