"""An upgrade by OLM: a catalog that gains a release, and what a task's status must bring through it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from olmbundle.catalog import Entry, catalog
from olmbundle.release import Release, present
from tests.support.api import Object
from tests.support.olm import Olm


def following_release(image: str = "") -> Release:
    """The work tree as the release after the last one, also while it still has the last one's version."""
    release = present(image=image)
    if release.replaces:
        return release
    major, minor, _ = release.version.split(".")
    return Release(f"{major}.{int(minor) + 1}.0", image, replaces=release.version)


def upgrade(olm: Olm, namespace: str, entries: Sequence[Entry], *, inline: bool) -> None:
    """Serve these releases, and return when the last of them is installed. Prints the seconds."""
    began = time.monotonic()
    olm.serve(catalog(entries, inline=inline))
    served = time.monotonic()
    olm.succeeded(namespace, entries[-1].release.name)
    ended = time.monotonic()
    print(f"new catalog to upgraded: {ended - began:.0f} s, of which {ended - served:.0f} s after OLM had read it")


def check_kept(before: Object, after: Object) -> None:
    """That nothing of a status is forgotten, of a task that has acted; and that it was evaluated since."""
    for field in ("lastAction", "nextActionTime", "target", "phase"):
        assert after.get(field) == before.get(field), field
    assert before["nextActionTime"]
    assert before["history"]
    assert after["history"][-len(before["history"]) :] == before["history"]  # newest first
    assert after["state"]["actTimes"] == before["state"]["actTimes"]
    assert after["lastExecutionTime"] > before["lastExecutionTime"]
