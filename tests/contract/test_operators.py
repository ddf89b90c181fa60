"""Two operators as people have them in production, in the manner of the Go operator's documentation."""

from __future__ import annotations

import base64
import hashlib
import shutil
from pathlib import Path

import pytest

from tests.support.api import Api, conditions, failed, state, succeeded
from tests.support.kinds import CONFIG_MAP, OTHER, SECRET, THING
from tests.support.operator import Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

OPERATORS = Path(__file__).parent / "operators"


def take(name: str, project: Project) -> None:
    """Put a copy of an operator where the project is, as an image would hold it."""
    shutil.copytree(OPERATORS / name, project.directory, dirs_exist_ok=True)


def secret(name: str, namespace: str, value: str, **labels: str) -> dict[str, object]:
    data = {"password": base64.b64encode(value.encode()).decode()}
    return SECRET.object(name, namespace, metadata={"labels": labels}, data=data, type="Opaque")


def digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def test_secrets_chosen_by_label_are_run_with_a_role_out_of_a_collection_and_never_get_a_status(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    take("secret-digests", project)
    api.create(SECRET, secret("bystander", namespace, "not watched"))
    api.create(SECRET, secret("watched", namespace, "first-canary", digest="wanted"))
    operator = start(
        "--ansible-collections-path",
        f"{project.directory}/collections:{Path(__file__).parent.parent.parent / '.collections'}",
        DIGEST_LABEL="digest",
    )

    made = api.wait(
        CONFIG_MAP, "watched-digest", namespace, lambda obj: obj["data"]["sha256"] == digest("first-canary")
    )
    assert made["metadata"]["ownerReferences"][0]["kind"] == "Secret"
    assert api.get(CONFIG_MAP, "bystander-digest", namespace) is None

    second = base64.b64encode(b"second-canary").decode()
    api.patch(SECRET, "watched", namespace, {"data": {"password": second}})
    api.wait(CONFIG_MAP, "watched-digest", namespace, lambda obj: obj["data"]["sha256"] == digest("second-canary"))

    operator.wait_runs(2, "watched")
    assert "status" not in (api.get(SECRET, "watched", namespace) or {})
    for canary in ("first-canary", "second-canary", second):
        assert canary not in operator.stderr


def test_a_fleet_of_kinds_with_finalizer_vars_workers_and_periods_of_their_own(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    take("fleet", project)
    operator = start(MAX_CONCURRENT_RECONCILES_THING_TEST_EXAMPLE_COM="1", ANSIBLE_VERBOSITY_OTHER_TEST_EXAMPLE_COM="0")
    period = "ansible.sdk.operatorframework.io/reconcile-period"
    api.create(THING, THING.object("often", namespace, metadata={"annotations": {period: "1s"}}, spec={"size": 3}))
    api.create(THING, THING.object("never", namespace, metadata={"annotations": {period: "soon"}}, spec={"size": 1}))
    api.create(OTHER, OTHER.object("plain", namespace, spec={"shipName": "Beagle"}))

    api.wait(THING, "often", namespace, succeeded)
    api.wait(OTHER, "plain", namespace, succeeded)
    operator.wait_runs(2, "often")
    refused = api.wait(THING, "never", namespace, failed)
    assert "reconcile-period" in conditions(refused)["Failure"]["message"]
    assert state(refused, "Running") == "False"
    assert operator.runs("never") == []
    assert (
        operator.metric(
            "controller_runtime_max_concurrent_reconciles",
            controller=f"thing-{THING.api_version.split('/')[1]}-controller",
        )
        == 1
    )

    manifest = api.wait(CONFIG_MAP, "plain", namespace, lambda obj: obj["data"]["ship"] == "Beagle")
    assert manifest["data"]["fleet"] == "north", "the vars of the watch reach the playbook"

    api.delete(OTHER, "plain", namespace)
    api.wait_gone(OTHER, "plain", namespace)
    farewell = api.get(CONFIG_MAP, "plain-farewell", namespace)
    assert farewell is not None and farewell["data"] == {"ship": "Beagle", "state": "absent"}
    until(lambda: [run.finalizing for run in operator.runs("plain")][-1:] == [True], "its last run was the finalizer's")
