"""How a dependent names its owner, and how the owner is found again (contract 4.8, case D5)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.model.gvk import GVK, ObjectKey
from ansible_operator.model.owner import Owner, is_owned, opts_out, own, owners_of
from tests.support.properties import json_values

TASK = GVK("aiops.example.com", "v1", "AITask")
IN_A = Owner(TASK, ObjectKey("a", "web"), "uid-1")
CLUSTER = Owner(GVK("aiops.example.com", "v1", "Fleet"), ObjectKey("", "all"), "uid-2")
SECRET = Owner(GVK("", "v1", "Secret"), ObjectKey("a", "s"), "uid-3")

REFERENCE = {"apiVersion": "aiops.example.com/v1", "kind": "AITask", "name": "web", "uid": "uid-1"}
ANNOTATIONS = {
    "operator-sdk/primary-resource": "a/web",
    "operator-sdk/primary-resource-type": "AITask.aiops.example.com",
}


@pytest.mark.parametrize(
    ("owner", "namespaced", "namespace", "by"),
    [
        pytest.param(IN_A, True, "a", "reference", id="same namespace"),
        pytest.param(IN_A, True, "b", "annotations", id="another namespace"),
        pytest.param(IN_A, False, "", "annotations", id="cluster-scoped child of a namespaced owner"),
        pytest.param(IN_A, False, "a", "annotations", id="cluster-scoped child, whatever namespace is said"),
        pytest.param(CLUSTER, True, "b", "reference", id="child of a cluster-scoped owner"),
        pytest.param(CLUSTER, False, "", "reference", id="both cluster-scoped"),
    ],
)
def test_a_reference_where_kubernetes_allows_one_else_annotations(
    owner: Owner, namespaced: bool, namespace: str, by: str
) -> None:
    child: dict[str, Any] = {"metadata": {"name": "child"}}  # the namespace stands in the URL alone
    assert own(child, owner, namespaced=namespaced, namespace=namespace)
    if by == "reference":
        assert child["metadata"] == {"name": "child", "ownerReferences": [owner.reference()]}
    else:
        assert child["metadata"] == {"name": "child", "annotations": owner.annotations()}


def test_the_reference_has_four_fields_and_the_annotations_name_and_type() -> None:
    assert IN_A.reference() == REFERENCE
    assert IN_A.annotations() == ANNOTATIONS
    assert SECRET.reference()["apiVersion"] == "v1"
    assert SECRET.annotations()["operator-sdk/primary-resource-type"] == "Secret"
    assert CLUSTER.annotations()["operator-sdk/primary-resource"] == "all"


def test_other_owners_and_annotations_stay() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "uid-9"}
    child = {"metadata": {"ownerReferences": [other], "annotations": {"k": "v"}}}
    own(child, IN_A, namespaced=True, namespace="a")
    own(child, Owner(TASK, ObjectKey("c", "far"), "uid-4"), namespaced=True, namespace="a")
    assert child["metadata"]["ownerReferences"] == [other, REFERENCE]
    assert child["metadata"]["annotations"]["k"] == "v"
    assert child["metadata"]["annotations"]["operator-sdk/primary-resource"] == "c/far"


@pytest.mark.parametrize("namespace", ["a", "b"], ids=["by reference", "by annotation"])
def test_it_is_written_once(namespace: str) -> None:
    child: dict[str, Any] = {"metadata": {"name": "child"}}
    assert own(child, IN_A, namespaced=True, namespace=namespace)
    before = deepcopy(child)
    assert is_owned(child, IN_A)
    assert not own(child, IN_A, namespaced=True, namespace=namespace)
    assert child == before


def test_an_object_of_the_same_name_and_another_uid_does_not_own() -> None:
    child = {"metadata": {"ownerReferences": [{**REFERENCE, "uid": "an older one"}]}}
    assert not is_owned(child, IN_A)


@pytest.mark.parametrize("metadata", ["missing", None], ids=["missing", "null"])
def test_a_body_without_metadata_gets_some(metadata: str | None) -> None:
    child: dict[str, Any] = {} if metadata == "missing" else {"metadata": None}
    assert own(child, IN_A, namespaced=True, namespace="a")
    assert child == {"metadata": {"ownerReferences": [REFERENCE]}}


@pytest.mark.parametrize(("value", "kept"), [("keep", True), ("delete", False)])
def test_what_a_chart_keeps_stays_unowned(value: str, kept: bool) -> None:
    child: dict[str, Any] = {"metadata": {"annotations": {"helm.sh/resource-policy": value}}}
    assert own(child, IN_A, namespaced=True, namespace="a", of_chart=True) is not kept


def test_but_not_where_a_role_applies_it() -> None:
    child: dict[str, Any] = {"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}}
    assert own(child, IN_A, namespaced=True, namespace="a")


@pytest.mark.parametrize(("value", "out"), [("false", True), ("False", True), ("true", False), ("", False)], ids=repr)
def test_an_object_may_ask_to_stay_unowned(value: str, out: bool) -> None:
    child: dict[str, Any] = {"metadata": {"annotations": {"ansible.sdk.operatorframework.io/inject-owner": value}}}
    assert opts_out(child) is out
    assert own(child, IN_A, namespaced=True, namespace="a") is not out
    assert ("ownerReferences" in child["metadata"]) is not out


BROKEN_METADATA = [
    "text",
    ["a"],
    {"annotations": "text"},
    {"annotations": ["a"]},
    {"ownerReferences": "text"},
    {"ownerReferences": {"uid": "uid-1"}},
]


@pytest.mark.parametrize("metadata", BROKEN_METADATA, ids=repr)
@pytest.mark.parametrize("namespace", ["a", "b"], ids=["by reference", "by annotation"])
def test_a_body_that_is_wrong_is_left_for_the_api_server_to_judge(metadata: Any, namespace: str) -> None:
    child = {"metadata": deepcopy(metadata)}
    own(child, IN_A, namespaced=True, namespace=namespace)
    left = child["metadata"]
    if isinstance(metadata, dict):
        assert {key: left[key] for key in metadata} == metadata
    else:
        assert left == metadata


METADATA = st.fixed_dictionaries(
    {}, optional={"annotations": json_values, "ownerReferences": json_values, "x": json_values}
)


@given(st.fixed_dictionaries({"metadata": METADATA | json_values}), st.booleans(), st.sampled_from(["", "a", "b"]))
def test_no_body_is_too_strange(child: dict[str, Any], namespaced: bool, namespace: str) -> None:
    before = deepcopy(child)
    changed = own(child, IN_A, namespaced=namespaced, namespace=namespace)
    assert changed == (child != before)


# --- the way back ----------------------------------------------------------------------------------------------------


def child_in(namespace: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "child", **({"namespace": namespace} if namespace else {}), **metadata}}


def owners(child: dict[str, Any], gvk: GVK = TASK, *, namespaced: bool = True) -> set[str]:
    return {str(key) for key in owners_of(child, gvk, owner_is_namespaced=namespaced)}


def test_the_owner_is_found_by_reference_in_the_childs_namespace() -> None:
    assert owners(child_in("a", ownerReferences=[REFERENCE])) == {"a/web"}


def test_the_version_of_the_reference_does_not_matter() -> None:
    assert owners(child_in("a", ownerReferences=[{**REFERENCE, "apiVersion": "aiops.example.com/v2"}])) == {"a/web"}


@pytest.mark.parametrize("wrong", [{"kind": "Other"}, {"apiVersion": "other.com/v1"}, {"apiVersion": "v1"}], ids=repr)
def test_another_kind_or_group_is_another_owner(wrong: dict[str, str]) -> None:
    assert owners(child_in("a", ownerReferences=[{**REFERENCE, **wrong}])) == set()


def test_every_reference_counts_not_only_the_controllers() -> None:
    references = [{**REFERENCE, "controller": True}, {**REFERENCE, "name": "db", "uid": "uid-5"}]
    assert owners(child_in("a", ownerReferences=references)) == {"a/web", "a/db"}


def test_a_cluster_scoped_owner_is_found_from_any_namespace() -> None:
    assert owners(child_in("b", ownerReferences=[CLUSTER.reference()]), CLUSTER.gvk, namespaced=False) == {"all"}
    assert owners(child_in("", ownerReferences=[CLUSTER.reference()]), CLUSTER.gvk, namespaced=False) == {"all"}


def test_the_owner_is_found_by_annotation_from_another_namespace_and_from_none() -> None:
    assert owners(child_in("b", annotations=ANNOTATIONS)) == {"a/web"}
    assert owners(child_in("", annotations=ANNOTATIONS)) == {"a/web"}
    assert owners(child_in("b", annotations=SECRET.annotations()), SECRET.gvk) == {"a/s"}
    assert owners(child_in("b", annotations=CLUSTER.annotations()), CLUSTER.gvk, namespaced=False) == {"all"}


def test_the_annotations_of_another_type_name_another_owner() -> None:
    foreign = {**ANNOTATIONS, "operator-sdk/primary-resource-type": "AITask.other.com"}
    assert owners(child_in("b", annotations=foreign)) == set()
    assert owners(child_in("b", annotations={"operator-sdk/primary-resource": "a/web"})) == set()


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "a/",
        "/web",
        "web",
        "a/b/c",
        "..",
        "../..",
        "a/..",
        "../web",
        "../../../../etc",
        "a/.",
        "./web",
        "a/b%2fc",
    ],
    ids=repr,
)
def test_an_annotation_that_can_name_no_object_names_no_owner(name: str) -> None:
    """Anyone may annotate an object; the name becomes a path, of the API server and of the work directory."""
    assert owners(child_in("b", annotations={**ANNOTATIONS, "operator-sdk/primary-resource": name})) == set()


def test_a_name_without_a_namespace_is_for_cluster_scoped_owners_and_one_with_it_for_the_others() -> None:
    fleet = CLUSTER.annotations()
    fleet["operator-sdk/primary-resource"] = "a/all"
    assert owners(child_in("b", annotations=fleet), CLUSTER.gvk, namespaced=False) == set()


def test_a_cluster_scoped_child_cannot_refer_to_a_namespaced_owner() -> None:
    assert owners(child_in("", ownerReferences=[REFERENCE])) == set()


@pytest.mark.parametrize("metadata", [*BROKEN_METADATA[2:], {"ownerReferences": ["text", None]}], ids=repr)
def test_a_strange_object_has_no_owner(metadata: dict[str, Any]) -> None:
    assert owners({"metadata": {"namespace": "b", **metadata}}) == set()
