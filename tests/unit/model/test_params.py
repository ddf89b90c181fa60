"""The extra vars of a run: their order, who wins, and what is marked unsafe (contract 4.4, case D3)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ansible_operator.model.gvk import GVK
from ansible_operator.model.params import extra_vars, mark_unsafe, variable_name
from ansible_operator.model.watch import Content, Finalizer, Watch
from tests.support.properties import json_values

WATCH = Watch(GVK("aiops.example.com", "v1", "AITask"), Content(role=Path("/roles/task")))
RAW, RAW_SPEC = "_aiops_example_com_aitask", "_aiops_example_com_aitask_spec"


def task(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "aiops.example.com/v1",
        "kind": "AITask",
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": spec,
    }


def test_the_order_is_spec_meta_object_raw_spec_watch_vars_finalizer_vars() -> None:
    watch = replace(WATCH, vars={"fromWatch": 1}, finalizer=Finalizer("x/f", vars={"fromFinalizer": 1}))
    variables = extra_vars(watch, task(minReplicas=1, action="scale"), finalizing=True)
    assert set(list(variables)[:2]) == {"min_replicas", "action"}
    assert list(variables)[2:] == ["ansible_operator_meta", RAW, RAW_SPEC, "fromWatch", "fromFinalizer"]


@pytest.mark.parametrize(
    ("name", "winner"),
    [
        ("plain", "spec"),
        ("ansible_operator_meta", {"namespace": "prod", "name": "web"}),
        (RAW_SPEC, "the raw spec"),
        ("watched", "watch"),
        ("finalized", "finalizer"),
    ],
)
def test_later_wins(name: str, winner: Any) -> None:
    spec = dict.fromkeys(["plain", "ansible_operator_meta", RAW_SPEC, "watched", "finalized"], "spec")
    watch = replace(
        WATCH,
        snake_case_parameters=False,
        vars={"watched": "watch", "finalized": "watch"},
        finalizer=Finalizer("x/f", vars={"finalized": "finalizer"}),
    )
    variables = extra_vars(watch, task(**spec), finalizing=True)
    assert variables[name] == (spec if winner == "the raw spec" else winner)


def test_the_vars_of_the_watch_win_even_over_the_meta_and_the_object() -> None:
    watch = replace(WATCH, vars={"ansible_operator_meta": "mine", RAW: "mine"})
    variables = extra_vars(watch, task(), finalizing=False)
    assert (variables["ansible_operator_meta"], variables[RAW]) == ("mine", "mine")


def test_the_finalizers_vars_come_only_with_a_finalizing_run() -> None:
    watch = replace(WATCH, vars={"state": "present"}, finalizer=Finalizer("x/f", vars={"state": "absent"}))
    assert extra_vars(watch, task(), finalizing=False)["state"] == "present"
    assert extra_vars(watch, task(), finalizing=True)["state"] == "absent"


def test_spec_keys_become_snake_case_and_the_raw_ones_stay_beside_them() -> None:
    obj = task(targetDeployment="web", env=[{"maxCPU": 1}])
    variables = extra_vars(WATCH, obj, finalizing=False)
    assert variables["target_deployment"] == "web"
    assert variables["env"] == [{"max_cpu": 1}]
    assert variables[RAW] == obj
    assert variables[RAW_SPEC] == obj["spec"]


def test_without_snake_case_the_keys_stay() -> None:
    variables = extra_vars(replace(WATCH, snake_case_parameters=False), task(targetDeployment="web"), finalizing=False)
    assert variables["targetDeployment"] == "web"
    assert "target_deployment" not in variables


@pytest.mark.parametrize("spec", [None, "text", ["a"], 3], ids=repr)
def test_a_spec_that_is_no_map_counts_as_empty(spec: Any) -> None:
    obj = {**task(), "spec": spec}
    assert list(extra_vars(WATCH, obj, finalizing=False)) == ["ansible_operator_meta", RAW, RAW_SPEC]
    assert extra_vars(WATCH, obj, finalizing=False)[RAW_SPEC] == {}


def test_a_secret_can_be_watched_and_a_cluster_scoped_object_has_no_namespace() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "a"}, "data": {"k": "dg=="}}
    watch = replace(WATCH, gvk=GVK("", "v1", "Secret"))
    variables = extra_vars(watch, secret, finalizing=False)
    assert variables["__secret"]["data"] == {"k": "dg=="}
    assert variables["__secret_spec"] == {}
    cluster_scoped = {"metadata": {"name": "x"}}
    assert extra_vars(watch, cluster_scoped, finalizing=False)["ansible_operator_meta"] == {
        "namespace": "",
        "name": "x",
    }


@pytest.mark.parametrize(
    ("gvk", "name"),
    [
        (GVK("aiops.example.com", "v1", "AITask"), "_aiops_example_com_aitask"),
        (GVK("my-group.io", "v1", "Foo"), "_my_group_io_foo"),
        (GVK("", "v1", "ConfigMap"), "__configmap"),
    ],
    ids=str,
)
def test_the_name_of_the_whole_object(gvk: GVK, name: str) -> None:
    assert variable_name(gvk) == name


def test_unsafe_marks_spec_values_object_and_raw_spec_but_neither_the_meta_nor_the_watchs_vars() -> None:
    watch = replace(WATCH, mark_unsafe=True, vars={"greeting": "{{ hello }}"})
    obj = task(action="{{ 6*7 }}", list=[{"k": "{% raw %}"}], replicas=3, dryRun=True)
    obj["metadata"]["annotations"] = {"note": "{{ lookup('env','HOME') }}"}
    variables = extra_vars(watch, obj, finalizing=False)
    assert variables["action"] == {"__ansible_unsafe": "{{ 6*7 }}"}
    assert variables["list"] == [{"k": {"__ansible_unsafe": "{% raw %}"}}]
    assert (variables["replicas"], variables["dry_run"]) == (3, True)
    assert variables[RAW]["metadata"]["annotations"]["note"] == {"__ansible_unsafe": "{{ lookup('env','HOME') }}"}
    assert variables[RAW_SPEC]["list"][0]["k"] == {"__ansible_unsafe": "{% raw %}"}
    assert variables["greeting"] == "{{ hello }}"
    assert variables["ansible_operator_meta"] == {"namespace": "prod", "name": "web"}


def test_without_unsafe_nothing_is_marked() -> None:
    assert "__ansible_unsafe" not in json.dumps(extra_vars(WATCH, task(action="{{ 6*7 }}"), finalizing=False))


@given(json_values)
def test_marking_wraps_every_string_and_nothing_else(value: Any) -> None:
    assert unwrapped(mark_unsafe(value)) == value


def unwrapped(value: Any) -> Any:
    """The inverse, which refuses a string that is not wrapped."""
    assert not isinstance(value, str)
    if isinstance(value, dict):
        if list(value) == ["__ansible_unsafe"] and isinstance(value["__ansible_unsafe"], str):
            return value["__ansible_unsafe"]
        return {key: unwrapped(item) for key, item in value.items()}
    return [unwrapped(item) for item in value] if isinstance(value, list) else value
