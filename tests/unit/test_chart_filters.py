"""The filters of the playbook of charts."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import io
import json
import tarfile
from datetime import UTC, datetime, timedelta
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
        "state": "present",
        "owner": {"api_version": "example.com/v1", "kind": "Shop", "name": "one", "uid": "u-1"},
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
    metadata = {
        "name": f"sh.helm.release.v1.one.v{content['version']}",
        "labels": labels,
        "ownerReferences": references,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"metadata": metadata, "data": {"release": release}}


def test_what_the_last_record_says_of_a_release() -> None:
    manifest = "---\nkind: A\n"
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
        "manifest": manifest,
        "chart": "website",
        "owners": [{"kind": "Shop", "name": "other", "uid": "u-1"}],
        "since": "2026-01-01T00:00:00Z",
    }
    assert FILTERS["helm_release"]([]) == {}
    assert FILTERS["helm_release"]([record({"version": 1}, packed=False)])["manifest"] == ""


@pytest.mark.parametrize("release", ["", "bm8=", "%", base64.b64encode(base64.b64encode(b"\x1f\x8b\x08no")).decode()])
def test_a_damaged_record_is_named_and_hides_nothing_else(release: str) -> None:
    broken = {**record({"version": 3}), "data": {"release": release}}
    fault = FILTERS["helm_release"]([record({"version": 2}), broken])["fault"]
    assert "sh.helm.release.v1.one.v3" in fault
    assert fault.endswith("delete that Secret")


def test_a_manifest_is_read_as_helm_and_the_api_server_read_it() -> None:
    text = "---\n# Source: a\nkind: A\nat: 2024-01-01\n---\n# nothing\n---\nkind: List\nitems: [{kind: B}]\n"
    assert FILTERS["helm_objects"](text) == {"objects": [{"kind": "A", "at": "2024-01-01"}, {"kind": "B"}], "fault": ""}
    lists = "kind: BList\nitems: [{kind: B}]\n---\nkind: PriceList\nspec: {}\n"
    assert FILTERS["helm_objects"](lists)["objects"] == [{"kind": "B"}, {"kind": "PriceList", "spec": {}}]
    odd = "kind: A\nvalues: [=, <<, 12:30, 1e+06, 010, off]\n"
    assert FILTERS["helm_objects"](odd)["objects"][0]["values"] == ["=", "<<", "12:30", 1000000, 8, False]


@pytest.mark.parametrize(
    "text", ["kind: A\npassword: [hunter2", "a: *hunter2\n", "a: !hunter2 x\n", "a: {[hunter2]: 1}\n"]
)
def test_of_a_manifest_that_is_no_yaml_only_the_place_is_told(text: str) -> None:
    answer = FILTERS["helm_objects"](text)
    assert answer["objects"] == []
    assert answer["fault"].startswith("it cannot be read as YAML (line ")
    assert "hunter2" not in answer["fault"]


REFUSED = {"error": {"reason": "Unprocessable Entity", "msg": "Failed to apply object: hunter2"}}
FORBIDDEN = {"error": {"reason": "Forbidden", "msg": "configmaps is forbidden: no"}}
A, B = ({"kind": "Deployment", "metadata": {"name": name}} for name in ("a", "b"))


@pytest.mark.parametrize(
    ("answer", "objects", "expected"),
    [
        ({"result": {}}, [A], ("", "")),
        (REFUSED, [A], ("Deployment a (Unprocessable Entity)", "")),
        ({"result": {"results": [{}, REFUSED]}}, [A, B], ("Deployment b (Unprocessable Entity)", "")),
        ({"result": {"results": [FORBIDDEN, {}]}}, [A, B], ("Deployment a (Forbidden)", "configmaps is forbidden: no")),
        ({"result": {"results": [{"error": {"msg": "no kind"}}, {}]}}, [A, B], ("Deployment a (no answer)", "")),
        ({"failed": True, "msg": "no cluster"}, [A], ("", "no cluster")),
        ({"msg": "no cluster"}, [A, B], ("", "no cluster")),
        ({"skipped": True}, [], ("", "")),
    ],
)
def test_what_the_api_server_refuses_to_mend(answer: Any, objects: Any, expected: tuple[str, str]) -> None:
    refused = FILTERS["apply_refused"](answer, objects)
    assert (refused["objects"], refused["fault"]) == expected


@pytest.mark.parametrize(
    ("released", "wanted", "same"),
    [
        ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}, True),
        ({"a": 9007199254740992}, {"a": 9007199254740993}, True),
        ({"a": 1e21}, {"a": 10**21}, True),
        ({"a": 1}, {"a": 10**400}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": None}, {}, False),
    ],
)
def test_values_are_the_same_where_helm_keeps_them_as_the_same(released: Any, wanted: Any, same: bool) -> None:
    assert FILTERS["same_values"](released, wanted) is same


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


def foreign(owners: list[str], name: str, of: dict[str, Any], revision: int = 5) -> str:
    references = [{"apiVersion": "example.com/v1", "kind": "Shop", "name": "other", "uid": uid} for uid in owners]
    answer: str = FILTERS["release_foreign"]({"owners": references, "chart": name, "revision": revision}, of)
    return answer


def test_a_release_of_another_object_is_foreign_whatever_the_status_says(web: Path) -> None:
    assert foreign(["u-1"], "mysql", chart(web)) == ""
    assert foreign(["u-2", "u-1"], "website", chart(web)) == ""
    for state in ("present", "absent"):
        for applied in ({}, {"name": "one", "revision": 5}):
            of = chart(web, state=state, applied=applied)
            assert foreign(["u-2"], "website", of) == "belongs to Shop other"
    assert FILTERS["release_foreign"]({}, chart(web)) == ""


def test_a_release_of_the_object_that_this_one_is_a_copy_of_is_ours(web: Path) -> None:
    owner = {"apiVersion": "example.com/v1beta1", "kind": "Shop", "name": "one", "uid": "u-before"}
    release = {"owners": [owner], "chart": "website", "revision": 5}
    assert FILTERS["release_foreign"](release, chart(web, applied={"name": "one"})) == ""
    assert FILTERS["release_foreign"](release, chart(web)) == "belongs to Shop one"
    other_group = {**release, "owners": [{**owner, "apiVersion": "example.org/v1"}]}
    assert FILTERS["release_foreign"](other_group, chart(web, applied={"name": "one"})) == "belongs to Shop one"


def test_a_release_made_by_hand_is_taken_over_if_it_is_of_the_same_chart(web: Path) -> None:
    assert foreign([], "website", chart(web)) == ""
    assert foreign([], "mysql", chart(web)) == "is of another chart, mysql"
    assert foreign([], "web", chart("oci://registry/web")) == ""


def test_a_release_made_by_hand_is_never_taken_away(web: Path) -> None:
    assert foreign([], "website", chart(web, state="absent")) == "was made by hand"
    assert foreign([], "website", chart(web, state="absent", applied={"name": "two"})) == "was made by hand"
    assert foreign([], "website", chart(web, state="absent", applied={"name": "one"})) == ""


def test_without_owners_the_status_says_whose_a_release_of_a_renamed_chart_is(web: Path) -> None:
    for state in ("present", "absent"):
        assert foreign([], "former", chart(web, state=state, applied={"name": "one", "revision": 5})) == ""
        other = foreign([], "mysql", chart(web, state=state, applied={"name": "one", "revision": 4}))
        assert other == "is of another chart, mysql"


def test_the_name_of_a_package_stands_in_its_chart_yaml(tmp_path: Path) -> None:
    package = tmp_path / "shop-1.0.0-rc.1.tgz"
    with tarfile.open(package, "w:gz") as archive:
        for name in ("charts/sub/Chart.yaml", "Chart.yaml"):
            text = f"name: {'sub' if 'sub' in name else 'shop'}\n".encode()
            entry = tarfile.TarInfo(f"shop/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    assert foreign([], "shop", chart(package)) == ""
    package.write_text("no package")
    assert foreign([], "shop", chart(package)) == "is of another chart, shop"
    assert foreign([], "shop", chart(tmp_path / "gone.tgz")) == "is of another chart, shop"


@pytest.mark.parametrize(
    ("status", "owner", "minutes", "busy"),
    [
        ("deployed", "", 1, False),
        ("pending-upgrade", "", 1, True),
        ("pending-install", "u-2", 50, True),
        ("pending-upgrade", "", 90, False),
        ("pending-upgrade", "u-1", 1, False),
    ],
)
def test_a_release_that_somebody_else_works_on_is_left_alone(status: str, owner: str, minutes: int, busy: bool) -> None:
    since = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
    release = {"status": status, "owners": [{"uid": owner}] if owner else [], "since": since}
    answer = FILTERS["release_busy"](release, chart("/c"))
    assert bool(answer) is busy
    assert not busy or status in answer


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
