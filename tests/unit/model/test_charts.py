"""What an object says of its release (docs/helm.md)."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator.model.charts import VARIABLE, is_path, nested, release_name, release_of
from ansible_operator.model.gvk import GVK
from ansible_operator.model.params import extra_vars
from ansible_operator.model.watch import Chart, Content, Watch

CHART = Chart("/charts/web", override_values={"image": {"tag": "2"}})
WATCH = Watch(GVK("example.com", "v1", "Web"), Content(), chart=CHART, vars={})


def web(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "one", "namespace": "shop", "uid": "u-1"}, **fields}


def test_a_release_has_the_name_of_its_object() -> None:
    assert release_name("one.two-3") == "one.two-3"
    assert release_name("a" * 53) == "a" * 53


def test_a_name_that_helm_finds_too_long_is_cut_and_stays_unique() -> None:
    one, other = release_name("a" * 43 + "." + "b" * 60), release_name("a" * 43 + "." + "c" * 60)
    assert one != other
    assert one.startswith("a" * 43 + "-")  # never two separators in a row
    assert max(len(one), len(other)) <= 53


@pytest.mark.parametrize(
    ("flat", "deep"),
    [
        ({}, {}),
        ({"a": 1}, {"a": 1}),
        ({"image.tag": "2", "image.name": "web"}, {"image": {"tag": "2", "name": "web"}}),
        ({"image": {"tag": "1"}, "image.name": "web"}, {"image": {"tag": "1", "name": "web"}}),
        ({r"labels.example\.com/tier": "gold"}, {"labels": {"example.com/tier": "gold"}}),
        ({r"args.a\[0\]\=b": 1}, {"args": {"a[0]=b": 1}}),
        ({"a.b": 1, "a": None}, {"a": None}),
    ],
)
def test_dotted_keys_are_maps(flat: dict[str, Any], deep: dict[str, Any]) -> None:
    assert nested(flat) == deep


@pytest.mark.parametrize("key", ["a", "a.b-c.d_e", r"a.example\.com/b", r"a\[0\]", r"a\."])
def test_a_path_has_names_between_dots(key: str) -> None:
    assert is_path(key)


@pytest.mark.parametrize("key", ["", ".", "a.", ".a", "a..b", "a[0]", "a[0].b", "{a}", "a,b", "a=b", "a\\"])
def test_what_no_value_would_be_found_by_is_no_path(key: str) -> None:
    assert not is_path(key)


def test_values_are_the_spec_as_it_stands_and_what_the_watch_gives_wins() -> None:
    spec = {"replicaCount": 2, "image": {"tag": "1", "pullPolicy": "Always"}, "ansible_connection": "ssh"}
    release = release_of(WATCH, CHART, web(spec=spec), finalizing=False)
    assert release["values"] == {**spec, "image": {"tag": "2", "pullPolicy": "Always"}}
    assert spec["image"] == {"tag": "1", "pullPolicy": "Always"}
    assert (release["state"], release["release"], release["namespace"]) == ("present", "one", "shop")
    assert release["owner"] == {"api_version": "example.com/v1", "kind": "Web", "name": "one", "uid": "u-1"}


@pytest.mark.parametrize("spec", [None, "text", [1]])
def test_a_spec_that_is_no_map_gives_no_values(spec: Any) -> None:
    assert release_of(WATCH, Chart("/charts/web"), web(spec=spec), finalizing=False)["values"] == {}


@pytest.mark.parametrize("status", [None, "text", {}, {"deployedRelease": "text"}])
def test_a_status_that_says_nothing_is_none(status: Any) -> None:
    assert release_of(WATCH, CHART, web(status=status), finalizing=True)["applied"] == {}


def test_the_spec_gives_one_variable_in_which_nothing_is_a_template() -> None:
    obj = web(spec={"text": "{{ lookup('pipe', 'id') }}"}, status={"deployedRelease": {"notes": "{{ x }}"}})
    variables = extra_vars(WATCH, obj, finalizing=True)
    assert set(variables) == {"ansible_operator_meta", VARIABLE}
    release = variables[VARIABLE]
    assert release["values"]["text"] == {"__ansible_unsafe": "{{ lookup('pipe', 'id') }}"}
    assert release["applied"]["notes"] == {"__ansible_unsafe": "{{ x }}"}
    assert release["state"] == {"__ansible_unsafe": "absent"}
