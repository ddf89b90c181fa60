"""The shipped rights are what is used, no less and no more, by the audit log of everything that ran with the account.

Last of this directory, so that it sees what the tests before it did: one of tests/behaviour and tests/roles uses each
right.
Whatever else runs on the same cluster has accounts of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.roles.aitask_lab import ACCOUNT, ROOT, Lab
from tests.support.audit_log import entries

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

# Namespaces of tests that take a right away to see what is said then.
_TAKE_RIGHTS_AWAY = ("without-the-right-to-create",)
_USER = "system:serviceaccount:" + ":".join(ACCOUNT)


class Use(NamedTuple):
    """A verb on a kind of object."""

    group: str
    resource: str
    verb: str


@pytest.fixture(scope="module")
def requests(cluster: Any, request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """What the account asked for, in the order of the answers."""
    ran = {Path(str(item.path)).parent.name for item in request.session.items}
    narrowed = request.config.option.keyword or any("::" in argument for argument in request.config.args)
    if not {"behaviour", "roles"} <= ran or narrowed:
        pytest.skip("only a run of all of tests/behaviour and tests/roles uses every right (make test-apiserver)")
    told = entries(cluster.audit_log, containing=f'"{_USER}"')
    return [entry for entry in told if entry.get("objectRef") and entry["user"]["username"] == _USER]


def use_of(entry: dict[str, Any]) -> Use:
    subject = entry["objectRef"]
    resource = "/".join(part for part in (subject["resource"], subject.get("subresource", "")) if part)
    return Use(subject.get("apiGroup", ""), resource, entry["verb"])


def granted(space: Lab) -> Iterator[Use]:
    """What the roles allow that are bound to the account: by config/default, or where somebody wants backups."""
    shown = space.kubectl("kustomize", str(ROOT / "config" / "default"))
    found = list(yaml.safe_load_all(shown))
    bound = {
        (one["roleRef"]["kind"], one["roleRef"]["name"])
        for one in found
        if one["kind"].endswith("Binding") and {"kind": "ServiceAccount", "name": ACCOUNT[1], "namespace": ACCOUNT[0]}
        in one.get("subjects", [])
    }  # fmt: skip
    assert len(bound) >= 4
    bound.add(("ClusterRole", "aitask-operator-backup-store-role"))
    for role in found:
        if (role["kind"], role["metadata"]["name"]) in bound:
            for rule in role["rules"]:
                yield from (Use(g, r, v) for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"])


def test_nothing_was_refused_for_want_of_a_right(requests: list[dict[str, Any]]) -> None:
    refused = [
        (use_of(entry), entry["objectRef"].get("namespace"), entry["responseStatus"].get("message"))
        for entry in requests
        if entry["responseStatus"]["code"] == 403
        and "being terminated" not in entry["responseStatus"].get("message", "")
        and not entry["objectRef"].get("namespace", "").startswith(_TAKE_RIGHTS_AWAY)
    ]
    assert refused == []


def uses(requests: list[dict[str, Any]]) -> set[Use]:
    """What was let through. An apply that creates is a patch in the log, and needs the right to create as well."""
    used = set()
    for entry in requests:
        use, code = use_of(entry), entry["responseStatus"]["code"]
        if code != 403:
            used |= {use} | ({use._replace(verb="create")} if (use.verb, code) == ("patch", 201) else set())
    return used


def test_every_right_was_used(requests: list[dict[str, Any]], space: Lab) -> None:
    used = uses(requests)
    # The runtime says in the status of any kind that a run has failed; one kind is enough to show it.
    assert Use("aiops.example.com", "aitasks/status", "patch") in used
    by_the_runtime = {use for use in granted(space) if use.resource.endswith("/status") and use.verb == "patch"}
    assert sorted(set(granted(space)) - used - by_the_runtime) == []
