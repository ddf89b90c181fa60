"""The filters of the playbook of charts."""

from __future__ import annotations

import base64
import gzip
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
        "applied": {},
        **fields,
    }


@pytest.fixture
def web(tmp_path: Path) -> Path:
    (tmp_path / "web/templates").mkdir(parents=True)
    (tmp_path / "web/Chart.yaml").write_text("name: website\nversion: 0.1.0\n")
    (tmp_path / "web/templates/a.yaml").write_text("a: 1\n")
    return tmp_path / "web"


def record(content: dict[str, Any], *owners: str, packed: bool = True) -> dict[str, Any]:
    """A Secret as Helm writes it; records of its first years are not packed."""
    text = json.dumps(content).encode()
    release = base64.b64encode(base64.b64encode(gzip.compress(text) if packed else text)).decode()
    references = [{"kind": "Shop", "name": "other", "uid": uid} for uid in owners]
    labels = {"version": str(content["version"])}
    return {"metadata": {"labels": labels, "ownerReferences": references}, "data": {"release": release}}


def test_what_the_last_record_says_of_a_release() -> None:
    manifest = "---\n# Source: a\nkind: A\nat: 2024-01-01\n---\n# nothing\n---\nkind: List\nitems: [{kind: B}]\n"
    content = {
        "info": {"status": "deployed", "notes": "\nGo to x.\n"},
        "version": 10,
        "config": None,
        "manifest": manifest,
        "chart": {"metadata": {"name": "website"}},
    }
    older = record({"version": 9, "info": {"status": "superseded"}})
    assert FILTERS["helm_release"]([record(content, "u-1"), older]) == {
        "status": "deployed",
        "revision": 10,
        "values": {},
        "notes": "Go to x.",
        "objects": [{"kind": "A", "at": "2024-01-01"}, {"kind": "B"}],  # a text to Helm, and to the API server
        "chart": "website",
        "owners": [{"kind": "Shop", "name": "other", "uid": "u-1"}],
    }
    assert FILTERS["helm_release"]([]) == {}
    assert FILTERS["helm_release"]([record({"version": 1}, packed=False)])["objects"] == []


def test_notes_of_any_length_fit_into_a_status() -> None:
    long = record({"version": 1, "info": {"notes": "x" * 100_000}})
    assert len(FILTERS["helm_release"]([long])["notes"]) == 4096


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


def foreign(owners: list[str], name: str, of: dict[str, Any]) -> str:
    release = {"owners": [{"kind": "Shop", "name": "other", "uid": uid} for uid in owners], "chart": name}
    answer: str = FILTERS["release_foreign"](release, of)
    return answer


def test_a_release_of_another_object_is_foreign(web: Path) -> None:
    assert foreign(["u-1"], "mysql", chart(web)) == ""
    assert foreign(["u-2", "u-1"], "website", chart(web)) == ""
    assert foreign(["u-2"], "website", chart(web)) == "belongs to Shop other"
    assert foreign(["u-2"], "website", chart(web, applied={"name": "one"})) == ""
    assert FILTERS["release_foreign"]({}, chart(web)) == ""


def test_a_release_made_by_hand_is_taken_over_if_it_is_of_the_same_chart(web: Path) -> None:
    assert foreign([], "website", chart(web)) == ""
    assert foreign([], "mysql", chart(web)) == "is of another chart, mysql"
    assert foreign([], "web", chart("/charts/web-1.2.3.tgz")) == ""
    assert foreign([], "web", chart("oci://registry/web")) == ""


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
