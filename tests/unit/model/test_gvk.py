"""Names of kinds and objects, in each of the forms that others read."""

from __future__ import annotations

import pytest

from ansible_operator.model.gvk import GVK, ObjectKey, Resource

TASK = GVK("aiops.example.com", "v1", "AITask")
SECRET = GVK("", "v1", "Secret")


@pytest.mark.parametrize(
    ("gvk", "text", "api_version", "controller"),
    [
        (TASK, "aiops.example.com/v1, Kind=AITask", "aiops.example.com/v1", "aitask-v1-controller"),
        (SECRET, "/v1, Kind=Secret", "v1", "secret-v1-controller"),
    ],
    ids=["group", "core"],
)
def test_the_forms_of_a_kind(gvk: GVK, text: str, api_version: str, controller: str) -> None:
    assert (str(gvk), gvk.api_version, gvk.controller_name) == (text, api_version, controller)
    assert GVK.of({"apiVersion": gvk.api_version, "kind": gvk.kind}) == gvk


@pytest.mark.parametrize(
    ("resource", "where", "path"),
    [
        (Resource(TASK, "aitasks", True, frozenset()), {}, "/apis/aiops.example.com/v1/aitasks"),
        (
            Resource(TASK, "aitasks", True, frozenset()),
            {"namespace": "a", "name": "b", "subresource": "status"},
            "/apis/aiops.example.com/v1/namespaces/a/aitasks/b/status",
        ),
        (Resource(SECRET, "secrets", True, frozenset()), {"namespace": "a"}, "/api/v1/namespaces/a/secrets"),
        (
            Resource(GVK("", "v1", "Namespace"), "namespaces", False, frozenset()),
            {"namespace": "ignored", "name": "a"},
            "/api/v1/namespaces/a",
        ),
    ],
    ids=["all namespaces", "status of one", "core in a namespace", "cluster-scoped"],
)
def test_the_path_of_a_resource(resource: Resource, where: dict[str, str], path: str) -> None:
    assert resource.path(**where) == path


def test_the_forms_of_a_key() -> None:
    assert str(ObjectKey.of({"metadata": {"name": "a", "namespace": "b"}})) == "b/a"
    assert str(ObjectKey.of({"metadata": {"name": "a"}})) == "a"
