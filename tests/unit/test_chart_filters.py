"""The filters of the playbook of charts."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.config.charts import PLAYBOOK

FILE = PLAYBOOK.parent / "filter_plugins/chart.py"


def _filters() -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("chart_filters", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    filters: dict[str, Any] = module.FilterModule().filters()
    return filters


FILTERS = _filters()


def chart(reference: Path | str, **fields: Any) -> dict[str, Any]:
    return {
        "reference": str(reference),
        "repository": "",
        "version": "",
        "release": "one",
        "namespace": "shop",
        "owner": {"uid": "u-1"},
        **fields,
    }


@pytest.fixture
def web(tmp_path: Path) -> Path:
    (tmp_path / "web/templates").mkdir(parents=True)
    (tmp_path / "web/Chart.yaml").write_text("name: website\nversion: 0.1.0\n")
    (tmp_path / "web/templates/a.yaml").write_text("a: 1\n")
    return tmp_path / "web"


def test_what_helm_says_of_a_release() -> None:
    manifest = "---\n# Source: a\nkind: A\nat: 2024-01-01\n---\n# nothing\n---\nkind: List\nitems: [{kind: B}]\n"
    answer = {
        "info": {"status": "deployed", "notes": "\nGo to x.\n"},
        "version": 3,
        "config": None,
        "manifest": manifest,
    }
    assert FILTERS["helm_release"](json.dumps(answer)) == {
        "status": "deployed",
        "revision": 3,
        "values": {},
        "notes": "Go to x.",
        "objects": [{"kind": "A", "at": "2024-01-01"}, {"kind": "B"}],  # a text to Helm, and to the API server
    }
    assert FILTERS["helm_release"]('{"name": "one"}')["objects"] == []


def test_notes_of_any_length_fit_into_a_status() -> None:
    assert len(FILTERS["helm_release"](json.dumps({"info": {"notes": "x" * 100_000}}))["notes"]) == 4096


def test_each_edit_of_a_chart_changes_its_digest(web: Path) -> None:
    digests = [FILTERS["chart_digest"](chart(web))]
    assert FILTERS["chart_digest"](chart(web)) == digests[0]
    (web / "templates/a.yaml").write_text("a: 2\n")
    digests.append(FILTERS["chart_digest"](chart(web)))
    (web / "templates/a.yaml").rename(web / "templates/b.yaml")
    digests.append(FILTERS["chart_digest"](chart(web)))
    (web / "values.yaml").touch()
    digests.append(FILTERS["chart_digest"](chart(web)))
    assert len(set(digests)) == 4


def test_what_is_fetched_is_told_by_its_version() -> None:
    one, two = (FILTERS["chart_digest"](chart("oci://r/web", version=version)) for version in ("1.0.0", "1.0.1"))
    assert one != two


def record(*uids: str) -> dict[str, Any]:
    return {"metadata": {"ownerReferences": [{"kind": "Shop", "name": "other", "uid": uid} for uid in uids]}}


def test_a_release_of_another_object_is_foreign(web: Path) -> None:
    foreign = FILTERS["release_foreign"]
    same = '{"chart": "website"}'
    assert foreign([record("u-1")], "", chart(web)) == ""
    assert foreign([record("u-2", "u-1")], "", chart(web)) == ""
    assert foreign([record("u-2")], same, chart(web)) == "belongs to Shop other"


def test_a_release_made_by_hand_is_taken_over_if_it_is_of_the_same_chart(web: Path) -> None:
    foreign = FILTERS["release_foreign"]
    assert foreign([record()], '{"chart": "website"}', chart(web)) == ""
    assert foreign([], '{"chart": "mysql"}', chart(web)) == "is of another chart, mysql"
    assert foreign([], '{"chart": "web"}', chart("/charts/web-1.2.3.tgz")) == ""
    assert foreign([], '{"chart": "web"}', chart("oci://registry/web")) == ""


def test_helms_words_name_the_release_and_the_cure() -> None:
    words = FILTERS["helm_words"]
    said = 'Error: list: failed to list: secrets is forbidden: User "robot" cannot list resource "secrets"\n'
    assert words(said, "status", chart("/c")) == (
        'release one: status failed: list: failed to list: secrets is forbidden: User "robot" cannot list resource'
        ' "secrets"; Helm keeps releases in Secrets: give the operator get, list, create, update, patch and delete on'
        " secrets in shop"
    )
    assert words("WARNING: group-readable\nError: UPGRADE FAILED: no\n", "upgrade", chart("/c")) == (
        "release one: upgrade failed: UPGRADE FAILED: no"
    )
    assert words("", "upgrade", chart("/c")) == "release one: upgrade failed: Helm says nothing"
