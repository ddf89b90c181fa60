"""The pure half of ``operator_sdk.util.k8s_event``: what an Event looks like."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PLUGINS = Path(__file__).parents[3] / "src/ansible_operator/collections/ansible_collections/operator_sdk/util/plugins"
FIRST, NOW = "2026-01-31T11:00:00Z", "2026-01-31T12:00:00Z"
PARAMS = {
    "name": "told",
    "namespace": "a",
    "message": "it was told",
    "reason": "Told",
    "type": "Normal",
    "reportingComponent": None,
    "source": None,
    "appendTimestamp": False,
}


def plugin(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"plugin_{Path(name).stem}", PLUGINS / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


event = plugin("module_utils/event.py")


def body(prior: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    made: dict[str, Any] = event.event_body({**PARAMS, **params}, "told", {"kind": "Web"}, prior, NOW)
    return made


def test_a_new_event_counts_from_1_and_gets_no_owner() -> None:
    assert body() == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": "told",
            "namespace": "a",
            "annotations": {"ansible.sdk.operatorframework.io/inject-owner": "false"},
        },
        "involvedObject": {"kind": "Web"},
        "type": "Normal",
        "reason": "Told",
        "message": "it was told",
        "count": 1,
        "firstTimestamp": NOW,
        "lastTimestamp": NOW,
    }


def test_what_is_given_of_its_source_is_told() -> None:
    made = body(reportingComponent="x.example.com/y", source={"component": "z"})
    assert (made["reportingComponent"], made["source"]) == ("x.example.com/y", {"component": "z"})


@pytest.mark.parametrize(
    ("prior", "count", "first"),
    [
        ({"reason": "Told", "count": 3, "firstTimestamp": FIRST}, 4, FIRST),
        ({"reason": "Told", "count": None, "firstTimestamp": None}, 2, NOW),
        ({"reason": "Other", "count": 3, "firstTimestamp": FIRST}, 1, NOW),
    ],
    ids=str,
)
def test_one_that_is_there_counts_on_if_its_reason_is_the_same(prior: dict[str, Any], count: int, first: str) -> None:
    made = body(prior)
    assert (made["count"], made["firstTimestamp"], made["lastTimestamp"]) == (count, first, NOW)


def test_a_name_with_the_time_is_one_that_kubernetes_takes() -> None:
    assert event.event_name(PARAMS, 1769860800000000001) == "told"
    assert event.event_name({**PARAMS, "appendTimestamp": True}, 1769860800000000001) == "told.188fcf053de38001"


@pytest.mark.parametrize(
    ("given", "found", "namespaced", "involved"),
    [
        (None, None, True, {"namespace": "a"}),
        ({"kind": "Web", "name": "w", "namespace": None}, None, True, {"kind": "Web", "name": "w", "namespace": "a"}),
        ({"kind": "Planet"}, None, False, {"kind": "Planet"}),
        (
            {"kind": "Web", "namespace": "b"},
            {"metadata": {"uid": "u", "resourceVersion": "7"}},
            True,
            {"kind": "Web", "namespace": "b", "uid": "u", "resourceVersion": "7"},
        ),
        ({"uid": "mine", "namespace": "a"}, {"metadata": {"uid": "u"}}, True, {"uid": "mine", "namespace": "a"}),
    ],
    ids=str,
)
def test_the_object_it_is_about(
    given: dict[str, Any] | None, found: dict[str, Any] | None, namespaced: bool, involved: dict[str, Any]
) -> None:
    assert event.involved_object(given, "a", found, namespaced) == involved


@pytest.mark.parametrize(
    ("merge_type", "content_type"),
    [
        (None, "application/strategic-merge-patch+json"),
        (["strategic-merge"], "application/strategic-merge-patch+json"),
        (["merge", "json"], "application/merge-patch+json"),
    ],
)
def test_a_change_is_a_patch_of_the_kind_that_is_asked_for(merge_type: list[str] | None, content_type: str) -> None:
    assert event.patch_of({"count": 2}, merge_type) == (content_type, {"count": 2})


def test_as_a_json_patch_it_names_each_field_but_the_names() -> None:
    assert event.patch_of({"kind": "Event", "apiVersion": "v1", "metadata": {}, "count": 2}, ["json"]) == (
        "application/json-patch+json",
        [{"op": "add", "path": "/count", "value": 2}],
    )
