"""What the last release stored, as a real API server judges it under the present definitions, rules in CEL included."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.roles.aitask_lab import ROOT, Lab
from tests.support.api import Api
from tests.support.kinds import Kind

pytestmark = pytest.mark.apiserver

PLURALS = {"AITask": "aitasks", "AITaskBackup": "aitaskbackups", "AITaskRestore": "aitaskrestores"}


def stored() -> list[dict[str, Any]]:
    directories = ROOT / "releases" / "previous" / "samples", ROOT / "tests" / "olm" / "stored"
    paths = [path for directory in directories for path in sorted(directory.glob("*.yaml"))]
    found = [one for path in paths for one in yaml.safe_load_all(path.read_text()) if one]
    return [one for one in found if one["kind"] in PLURALS]


def test_what_the_last_release_stored_is_accepted_whole(space: Lab) -> None:
    """Made anew, so that nothing is let through for having been there before; then its status, which was empty."""
    api = Api.of_administrator(space.cluster)
    objects = stored()
    assert {one["kind"] for one in objects} == set(PLURALS)
    with_status = 0
    for number, one in enumerate(objects):
        kind = Kind(one["apiVersion"], one["kind"], PLURALS[one["kind"]])
        name = f"stored-{number}"
        # Nobody looks at it: other operators of this session go by that label.
        made = api.create(kind, kind.object(name, space.namespace, spec=one["spec"]))
        if status := one.get("status"):
            with_status += 1
            path = kind.path(space.namespace, name, "status")
            answer = api.request("PUT", path + "?fieldValidation=Strict", {**made, "status": status})
            assert answer["status"] == status
    assert with_status >= 2
