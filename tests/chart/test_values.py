"""values.yaml, its schema, and the table of what each value changes; no Helm is needed for these."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml
from aitask_rules.config import ConfigError, parse_config

from chart.manifests import ACCOUNT, added, default
from chart.values import leaves
from tests.chart.rows import BAD, ROWS, nested
from tests.support.helm import CHART

TEXT = (CHART / "values.yaml").read_text()
VALUES = yaml.safe_load(TEXT)
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def with_defaults(settings: dict[str, Any], base: Any = VALUES) -> dict[str, Any]:
    """As Helm merges them: mappings key by key, all else as a whole."""
    merged: dict[str, Any] = copy.deepcopy(base)
    for name, value in settings.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = with_defaults(value, merged[name]) if both else value
    return merged


def faults(settings: dict[str, Any]) -> list[str]:
    """Each with its path and the words of the validator."""
    found = VALIDATOR.iter_errors(with_defaults(nested(settings)))
    return [f"{error.json_path}: {error.message}" for error in _innermost(found)]


def _innermost(errors: Any) -> Iterator[Any]:
    for error in errors:
        yield error
        yield from _innermost(error.context or ())


def test_the_schema_is_one_and_takes_the_defaults() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert faults({}) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.path}-{row.field[-30:]}")
def test_the_schema_takes(row: Any) -> None:
    assert faults({**dict(row.beside), row.path: row.value}) == []


@pytest.mark.parametrize(("settings", "word"), BAD, ids=lambda one: str(one)[:60])
def test_the_schema_refuses(settings: dict[str, Any], word: str) -> None:
    found = faults(settings)
    assert any(word in fault for fault in found), found


def test_every_value_has_a_row() -> None:
    """In tests/chart/rows.py, whose setting must differ from the default."""
    tested = {row.path for row in ROWS}
    assert {one.path for one in leaves(TEXT)} == tested
    assert [row.path for row in ROWS if nested({row.path: row.value}).items() <= VALUES.items()] == []


def test_the_schema_knows_every_value_and_no_other() -> None:
    """And is closed wherever the chart says what there may be."""

    def compare(schema: dict[str, Any], values: dict[str, Any], path: str) -> None:
        assert schema.get("additionalProperties") is False, path
        for name, value in values.items():
            part = schema["properties"][name]
            if isinstance(value, dict) and "properties" in part:
                compare(part, value, f"{path}.{name}")
        open_ones = {"requests", "limits"} if path.endswith("resources") else {"global"}
        assert set(schema["properties"]) - open_ones <= set(values) or path.endswith(("affinity",)), path

    compare(SCHEMA, VALUES, "")


def test_the_defaults_are_those_of_config() -> None:
    [container] = default()["Deployment", ACCOUNT]["spec"]["template"]["spec"]["containers"]
    assert VALUES["resources"] == container["resources"]
    for probe in ("liveness", "readiness"):
        assert {"httpGet": container[f"{probe}Probe"]["httpGet"], **VALUES["probes"][probe]} == container[
            f"{probe}Probe"
        ]
    policy = added("network-policy")["NetworkPolicy", ACCOUNT]["spec"]["ingress"][0]
    assert VALUES["networkPolicy"]["from"] == policy["from"]
    config = yaml.safe_load(default()["ConfigMap", "aitask-operator-config"]["data"]["config.yaml"])
    assert _without_empty(VALUES["config"]) == _without_empty(config)


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _without_empty(one) for name, one in value.items() if one not in (None, {})}


CONFIGS = [row for row in ROWS if row.path.startswith("config.")]
BAD_CONFIGS = [settings for settings, _ in BAD if all(path.startswith("config.") for path in settings)]


@pytest.mark.parametrize("row", CONFIGS, ids=lambda row: row.path)
def test_the_operator_takes_the_configuration_that_the_schema_takes(row: Any) -> None:
    values = with_defaults(nested({row.path: row.value}))
    parse_config(yaml.safe_dump(values["config"]))


@pytest.mark.parametrize("settings", BAD_CONFIGS, ids=lambda one: str(one)[:60])
def test_the_operator_refuses_the_configuration_that_the_schema_refuses(settings: dict[str, Any]) -> None:
    values = with_defaults(nested(settings))
    with pytest.raises(ConfigError):
        parse_config(yaml.safe_dump(values["config"]))
