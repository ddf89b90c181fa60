"""Where the data of Secrets is found: in objects, arguments, patches and diffs, in JSON and YAML texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.model.secret_data import secret_values
from tests.support.properties import json_values

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "YWFh", "b": "YmJi"}}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "open"}}


def found(document: Any) -> set[str]:
    return set(secret_values(document))


@pytest.mark.parametrize(
    "document",
    [
        SECRET,
        [[SECRET, CONFIG_MAP]],
        {"resources": [CONFIG_MAP, {"deep": {"er": SECRET}}]},
        {"kind": "SecretList", "items": [{"data": SECRET["data"]}]},
        {"kind": "List", "items": [CONFIG_MAP, SECRET]},
        {"module_args": {"kind": "secret", "name": "s", "definition": {"data": SECRET["data"]}}},
        {"module_args": {"kind": None, "definition": SECRET}},
        {"kind": "Secret", "diff": {"before": {"data": {"a": "YWFh"}}, "after": {"data": {"a": "YmJi"}}}},
        {"diff": {"before": {"data": {"a": "YWFh"}}, "after": {"data": {"a": "YmJi"}}}, "result": {"kind": "Secret"}},
        {"kind": "Secret", "patch": [{"path": "/data/a", "value": "YWFh"}, {"path": "/data", "value": {"b": "YmJi"}}]},
        {"stdout": json.dumps(SECRET)},
        {"stdout": json.dumps({"annotation": json.dumps(SECRET)})},
        {"stdout": yaml.safe_dump(SECRET)},
        {"stdout": yaml.safe_dump_all([CONFIG_MAP, SECRET])},
        {"stdout": yaml.safe_dump({"items": [SECRET, CONFIG_MAP]}).replace("open", "YWFh")},
        "apiVersion: v1\nkind: Secret\ndata: {a: YWFh, 'b': \"YmJi\"}",
        'kind: "Secret" # ours\nstringData:\n  a: \'YWFh\'\n  b: "YmJi"\ntype: Opaque\n',
        "data:\n  a: |\n    YWFh\n  b: >-\n    YmJi\nkind: Secret\n",
    ],
    ids=str,
)  # fmt: skip
def test_the_data_is_found(document: Any) -> None:
    assert found(document) == {"YWFh", "YmJi"}


@pytest.mark.parametrize(
    "document",
    [
        CONFIG_MAP,
        {"data": {"a": "b"}},
        {"kind": "Secret", "metadata": {"name": "s", "labels": {"a": "b"}}},
        {"diff": {"before": {"data": {"a": "b"}}}},
        {"text": "the Secret holds no data", "other": "kind: Secret\nmetadata:\n  name: data\n"},
        yaml.safe_dump(CONFIG_MAP) + "---\nSecret: data\n",
        '{"kind": "Secret", "data": ',
        None,
        5,
    ],
    ids=str,
)
def test_what_is_no_secret_is_left_alone(document: Any) -> None:
    assert found(document) == set()


def test_a_config_map_beside_a_secret_stays_readable() -> None:
    assert "open" not in found({"resources": [CONFIG_MAP, SECRET]})
    assert "open" not in found(yaml.safe_dump_all([CONFIG_MAP, SECRET]))


def test_no_nesting_is_too_deep() -> None:
    deep: Any = SECRET
    for _ in range(100_000):
        deep = {"x": [deep]}
    assert found(deep) == {"YWFh", "YmJi"}
    assert found('{"kind": "Secret", "data": ' + "[" * 100_000) == set()


@given(json_values)
def test_any_value_can_be_looked_at(value: Any) -> None:
    assert found({"value": value}) == set()


values = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30)


@given(st.dictionaries(st.from_regex(r"[a-zA-Z][-._a-zA-Z0-9]{0,10}", fullmatch=True), values, min_size=1, max_size=4))
def test_yaml_as_yaml_writes_it_is_understood(data: dict[str, str]) -> None:
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "stringData": data}, width=10_000)
    assert set(data.values()) <= {value.replace("''", "'") for value in found(text)}
