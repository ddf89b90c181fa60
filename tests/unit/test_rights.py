"""What a right, its use and its refusal are, by lines as the API server writes them."""

from __future__ import annotations

from typing import Any

import yaml

from tests.support.rights import Refusal, Right, granted, granted_again, refused, used

MANIFESTS = list(
    yaml.safe_load_all("""
kind: ClusterRole
metadata: {name: wide}
rules:
  - {apiGroups: [""], resources: [pods, pods/status], verbs: [get, list]}
  - {apiGroups: [apps], resources: [deployments], verbs: [create, patch]}
---
kind: Role
metadata: {name: narrow}
rules:
  - {apiGroups: [""], resources: [secrets], resourceNames: [a, b], verbs: [get]}
  - {apiGroups: [""], resources: [pods], resourceNames: [one], verbs: [get]}
---
kind: ClusterRole
metadata: {name: of-others}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [delete]}
""")
)
WIDE, NARROW = ("ClusterRole", "wide"), ("Role", "narrow")
RIGHTS = granted(MANIFESTS, [WIDE, NARROW])


def line(
    verb: str, resource: str, *, by: str = 'ClusterRoleBinding "w" of ClusterRole "wide"', code: int = 200, **more: Any
) -> dict[str, Any]:
    resource, _, subresource = resource.partition("/")
    reason = f'RBAC: allowed by {by} to ServiceAccount "operator/system"' if by else ""
    return {
        "verb": verb,
        "objectRef": {"resource": resource, **({"subresource": subresource} if subresource else {}), **more},
        "responseStatus": {"code": code},
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": reason},
    }


def forbidden(verb: str, message: str, **subject: str) -> dict[str, Any]:
    return {"verb": verb, "objectRef": subject, "responseStatus": {"code": 403, "message": message}}


def test_each_verb_on_each_kind_and_name_of_a_bound_role_is_a_right() -> None:
    assert {right[1:] for right in RIGHTS if right.role == NARROW} == {
        ("", "secrets", "get", "a"),
        ("", "secrets", "get", "b"),
        ("", "pods", "get", "one"),
    }
    assert len([right for right in RIGHTS if right.role == WIDE]) == 6
    assert len(RIGHTS) == 9


def test_a_right_is_used_by_what_it_let_through_whatever_came_of_it() -> None:
    log = [line("get", "pods/status", code=404, name="p"), line("list", "pods", code=429)]
    assert used(log, RIGHTS) == {Right(WIDE, "", "pods/status", "get"), Right(WIDE, "", "pods", "list")}


def test_the_same_request_by_another_role_uses_nothing() -> None:
    others = ('RoleBinding "x/ns" of Role "wide"', 'ClusterRoleBinding "w" of ClusterRole "other"', "")
    assert used([line("list", "pods", by=by) for by in others], RIGHTS) == set()


def test_of_a_right_with_a_name_only_that_object_is_a_use() -> None:
    by = 'RoleBinding "n/ns" of Role "narrow"'
    assert used([line("get", "secrets", by=by, name="b")], RIGHTS) == {Right(NARROW, "", "secrets", "get", "b")}


def test_an_apply_that_creates_uses_both_rights_and_one_that_changes_only_its_own() -> None:
    patch, create = (Right(WIDE, "apps", "deployments", verb) for verb in ("patch", "create"))
    assert used([line("patch", "deployments", apiGroup="apps")], RIGHTS) == {patch}
    assert used([line("patch", "deployments", apiGroup="apps", code=201)], RIGHTS) == {patch, create}


def test_what_a_role_of_the_whole_cluster_grants_needs_no_other() -> None:
    assert granted_again(RIGHTS, {WIDE}) == {Right(NARROW, "", "pods", "get", "one")}
    assert granted_again(RIGHTS, {NARROW}) == set()


def test_a_refusal_is_told_by_its_words_also_the_right_that_an_apply_lacks() -> None:
    may_not = 'pods "p" is forbidden: User "u" cannot get resource "pods/log" in API group "" in the namespace "ns"'
    lacks = 'deployments.apps "d" is forbidden: User "u" cannot create resource "deployments" in API group "apps" in '
    everywhere = 'nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope'
    going = 'events "e" is forbidden: unable to create new content in namespace ns because it is being terminated'
    log = [
        forbidden("get", may_not, resource="pods", subresource="log", name="p"),
        forbidden("patch", lacks + 'the namespace "ns"', resource="deployments", name="d"),
        forbidden("list", everywhere, resource="nodes"),
        forbidden("create", going, resource="events"),
        line("get", "pods"),
    ]
    assert refused(log) == [
        Refusal("", "pods/log", "get", "ns", "p"),
        Refusal("apps", "deployments", "create", "ns", "d"),
        Refusal("", "nodes", "list", "", ""),
    ]
