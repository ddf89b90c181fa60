"""The shipped rights are what is used, no less and no more, by the audit log of everything that ran with the account.

Last of this directory, since it judges what the tests before it have left in the log: some test of tests/behaviour or
tests/roles must use each right, and not by chance (what only a race would use needs a test that makes it happen). After
less than all of them it is skipped, and says so. Whatever else runs on the same cluster has accounts of its own.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.roles.aitask_lab import ACCOUNT, ROOT
from tests.support.audit_log import entries
from tests.support.rights import Refusal, Right, granted, granted_again, refused, used

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

_USER = "system:serviceaccount:" + ":".join(ACCOUNT)
_BOUND_BY_PEOPLE = {
    ("ClusterRole", "aitask-operator-backup-store-role"),
    ("ClusterRole", "aitask-operator-log-reader-role"),
}
"""In the namespaces that they want backups in, or logs sent to a language model."""


@pytest.fixture(scope="module")
def requests(cluster: Any, begun: int, request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """What the account asked for, in the order of the answers."""
    course, tests = request.config.pluginmanager.get_plugin("course"), ROOT / "tests"
    files = {*tests.glob("behaviour/test_*.py"), *tests.glob("roles/test_*.py")} - {Path(__file__)}
    lacking = course.lacks(request.session, files, _is_run_by_make_test_apiserver)
    if lacking:
        pytest.skip(f"all of tests/behaviour and tests/roles is needed before (make test-apiserver): {lacking}")
    told = entries(cluster.audit_log, begun, containing=f'"{_USER}"')
    return [entry for entry in told if entry.get("objectRef") and entry["user"]["username"] == _USER]


def _is_run_by_make_test_apiserver(item: pytest.Item) -> bool:
    return item.get_closest_marker("apiserver") is not None and item.get_closest_marker("prometheus") is None


@pytest.fixture(scope="module")
def manifests(cluster: Any) -> list[dict[str, Any]]:
    """All of config/default."""
    done = subprocess.run([cluster.kubectl, "kustomize", ROOT / "config" / "default"], check=True, capture_output=True)
    return list(yaml.safe_load_all(done.stdout))


def bound(manifests: list[dict[str, Any]], *kinds: str) -> set[tuple[str, str]]:
    """The roles that these kinds of bindings give to the account."""
    subject = {"kind": "ServiceAccount", "name": ACCOUNT[1], "namespace": ACCOUNT[0]}
    return {
        (found["roleRef"]["kind"], found["roleRef"]["name"])
        for found in manifests
        if found["kind"] in kinds and subject in found["subjects"]
    }


@pytest.fixture(scope="module")
def rights(manifests: list[dict[str, Any]]) -> set[Right]:
    """Those of the account, with what is bound where somebody wants it."""
    roles = bound(manifests, "ClusterRoleBinding", "RoleBinding") | _BOUND_BY_PEOPLE
    found = granted(manifests, roles)
    assert {right.role for right in found} == roles
    return found


def test_no_right_is_granted_twice(manifests: list[dict[str, Any]], rights: set[Right]) -> None:
    assert sorted(granted_again(rights, bound(manifests, "ClusterRoleBinding"))) == []


def test_every_right_was_used(requests: list[dict[str, Any]], rights: set[Right]) -> None:
    assert sorted(rights - used(requests, rights)) == []


def test_nothing_was_refused_for_want_of_a_right(
    requests: list[dict[str, Any]], manifests: list[dict[str, Any]], rights: set[Right]
) -> None:
    everywhere = bound(manifests, "ClusterRoleBinding")

    def is_shipped(refusal: Refusal) -> bool:
        """It is granted: a test has taken it away for a while, or the server did not know of it yet."""
        places = everywhere | (bound(manifests, "RoleBinding") if refusal.namespace == ACCOUNT[0] else set())
        return any(
            right.role in places and right[1:4] == refusal[:3] and right.name in ("", refusal.name) for right in rights
        )

    assert [one for one in refused(requests) if not is_shipped(one) and not is_meant(one)] == []


def is_meant(refusal: Refusal) -> bool:
    """Whether a test asked for it: a namespace that nobody has bound the right to the stores in, and a configuration
    that names another Secret than that of the tokens."""
    unbound = refusal.namespace.startswith("without-the-right-to-create-a-store")
    return unbound or refusal[1:] == ("secrets", "get", ACCOUNT[0], "another")
