"""There is a sample for each action and each metric, and its metadata are those of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CRD = ROOT / "config/crd/bases/aiops.example.com_aitasks.yaml"


def samples() -> dict[str, dict[str, Any]]:
    """The tasks among the samples, by file."""
    found = {file.name: yaml.safe_load(file.read_text()) for file in ROOT.glob("config/samples/aiops_v1_*.yaml")}
    return {name: sample for name, sample in found.items() if sample["kind"] == "AITask"}


def spec_schema() -> dict[str, Any]:
    schema = yaml.safe_load(CRD.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    properties: dict[str, Any] = schema["properties"]["spec"]["properties"]
    return properties


def test_there_is_a_sample_for_each_metric() -> None:
    metric = spec_schema()["metric"]["properties"]["type"]
    used = {sample["spec"].get("metric", {}).get("type", metric["default"]) for sample in samples().values()}
    assert used == set(metric["enum"])


def test_there_is_a_sample_for_each_action() -> None:
    said = spec_schema()["action"]["description"]
    known = said.partition(": ")[2].partition(". ")[0].replace(" or", ",").replace(",,", ",").split(", ")
    assert len(known) == 8
    assert {sample["spec"]["action"] for sample in samples().values()} == set(known)


def test_each_has_a_name_of_its_own_and_says_what_it_does() -> None:
    names = [sample["metadata"]["name"] for sample in samples().values()]
    assert len(set(names)) == len(names)
    for name in samples():
        assert (ROOT / "config/samples" / name).read_text().startswith("# "), name


def test_each_is_played_by_a_test() -> None:
    played = (ROOT / "tests/behaviour/test_samples.py").read_text()
    names = [file.stem.removeprefix("aiops_v1_") for file in ROOT.glob("config/samples/aiops_v1_*.yaml")]
    assert [name for name in names if f'"{name}"' not in played] == []
