"""A backup in a namespace that nobody has bound the right to the stores in, with the operator at work."""

from __future__ import annotations

import re

import pytest

from tests.behaviour.scene import Scene
from tests.behaviour.test_backup import BACKUP, PATIENCE, ended, make, verdict
from tests.support.api import Object, conditions

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]


def complete(found: Object) -> Object:
    return conditions(found).get("Complete", {})


@pytest.mark.behaviour(
    case="backup-store-role is not bound in the namespace",
    sees="Running Forbidden with the command that binds it; once it is bound the backup goes on by itself: Completed, "
    "attempts 1",
)
def test_without_the_right_to_create_a_store_a_backup_waits_and_says_how_to_give_it(scene: Scene) -> None:
    make(scene, BACKUP, "b")
    what = "it is Forbidden"
    waiting = scene.api.wait(
        BACKUP, "b", scene.namespace, lambda o: complete(o).get("reason") == "Forbidden", what, PATIENCE
    )
    assert waiting["status"]["phase"] == "Running"
    said = re.search(r"allow it: kubectl (.*?); tried again in \d+s", complete(waiting)["message"])
    assert said, complete(waiting)
    scene.kubectl(*said[1].split())
    backup = ended(scene, BACKUP, "b")
    assert (verdict(backup), backup["status"]["attempts"]) == (("Completed", "Saved"), 1)
