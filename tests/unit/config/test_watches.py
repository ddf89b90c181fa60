"""What a watches file means: defaults, oddities of its YAML, finalizers, selectors (contract 4.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_operator.config.watches import load_watches, parse_watches
from ansible_operator.model.errors import ConfigError
from ansible_operator.model.gvk import GVK
from ansible_operator.model.selectors import Requirement, Selector
from ansible_operator.model.watch import Content, Finalizer, Watch

WEB = "- version: v1\n  group: example.com\n  kind: Web\n"
GVK_WEB = GVK("example.com", "v1", "Web")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("web", "cleanup", "fleet"):
        (tmp_path / "roles" / name).mkdir(parents=True)
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks/site.yml").touch()
    (tmp_path / "playbooks/finalize.yml").touch()
    return tmp_path


def read(text: str, directory: Path, **environment: str) -> list[Watch]:
    return parse_watches(text, "watches.yaml", environment, directory)


def read_one(lines: str, directory: Path, **environment: str) -> Watch:
    """The watch of the role ``web`` with more lines."""
    text = WEB + "  role: web\n" + "".join(f"  {line}\n" for line in lines.splitlines())
    (watch,) = read(text, directory, **environment)
    return watch


def test_the_defaults(directory: Path) -> None:
    assert read_one("", directory) == Watch(
        gvk=GVK_WEB,
        content=Content(role=directory / "roles/web"),
        vars={},
        max_runner_artifacts=20,
        reconcile_period=None,
        manage_status=True,
        watch_dependent_resources=True,
        watch_cluster_scoped_resources=False,
        snake_case_parameters=True,
        watch_annotations_changes=False,
        mark_unsafe=False,
        blacklist=frozenset(),
        finalizer=None,
        selector=Selector(),
    )


def test_every_key(directory: Path) -> None:
    text = """
- version: v1
  group: example.com
  kind: Web
  playbook: playbooks/site.yml
  vars: {state: present, replicas: 3, nested: {a: [1, two]}}
  maxRunnerArtifacts: 5
  reconcilePeriod: 1m30s
  manageStatus: false
  watchDependentResources: false
  watchClusterScopedResources: true
  snakeCaseParameters: false
  watchAnnotationsChanges: true
  markUnsafe: true
  blacklist:
    - {version: v1, kind: Pod}
    - {group: apps, version: v1, kind: ReplicaSet}
  finalizer:
    name: example.com/finalizer
    role: cleanup
    vars: {state: absent}
  selector:
    matchLabels: {tier: gold}
    matchExpressions:
      - {key: env, operator: NotIn, values: [dev, test]}
      - {key: paused, operator: DoesNotExist}
"""
    assert read(text, directory) == [
        Watch(
            gvk=GVK_WEB,
            content=Content(playbook=directory / "playbooks/site.yml"),
            vars={"state": "present", "replicas": 3, "nested": {"a": [1, "two"]}},
            max_runner_artifacts=5,
            reconcile_period=90,
            manage_status=False,
            watch_dependent_resources=False,
            watch_cluster_scoped_resources=True,
            snake_case_parameters=False,
            watch_annotations_changes=True,
            mark_unsafe=True,
            blacklist=frozenset({GVK("", "v1", "Pod"), GVK("apps", "v1", "ReplicaSet")}),
            finalizer=Finalizer(
                "example.com/finalizer", Content(role=directory / "roles/cleanup"), {"state": "absent"}
            ),
            selector=Selector(
                (
                    Requirement("tier", "In", ("gold",)),
                    Requirement("env", "NotIn", ("dev", "test")),
                    Requirement("paused", "DoesNotExist"),
                )
            ),
        )
    ]


# --- the document ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "\n", "# nothing yet\n", "---\n", "---\n---\n", "null\n", "~", "[]", "\ufeff"], ids=repr
)
def test_an_empty_file_is_no_watch(text: str, directory: Path) -> None:
    assert read(text, directory) == []


@pytest.mark.parametrize("mark", ["---\n{}", "{}---\n", "\ufeff{}", "%YAML 1.1\n---\n{}"], ids=repr)
def test_marks_around_the_list_are_nothing(mark: str, directory: Path) -> None:
    assert len(read(mark.format(WEB + "  role: web\n"), directory)) == 1


def test_a_second_document_would_be_lost_and_is_a_fault(directory: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 6: document: .* a second document"):
        read(WEB + "  role: web\n---\n" + WEB, directory)


def test_json_is_yaml(directory: Path) -> None:
    assert read('[{"version": "v1", "group": "", "kind": "Secret", "role": "web"}]', directory)[0].gvk == GVK(
        "", "v1", "Secret"
    )


def test_the_file_is_read_as_utf_8(directory: Path) -> None:
    (directory / "watches.yaml").write_text(WEB + "  role: web\n  vars: {name: Zoë}\n", encoding="utf-8")
    assert load_watches(directory / "watches.yaml", {}, directory)[0].vars == {"name": "Zoë"}


def test_watches_stay_in_their_order(directory: Path) -> None:
    text = "".join(f"- {{version: v1, group: example.com, kind: {kind}, role: web}}\n" for kind in ("B", "A", "C"))
    assert [watch.gvk.kind for watch in read(text, directory)] == ["B", "A", "C"]


def test_a_kind_may_be_watched_in_two_versions_and_in_two_groups(directory: Path) -> None:
    text = "".join(
        f"- {{version: {version}, group: {group}, kind: Web, role: web}}\n"
        for group, version in (("a.com", "v1"), ("a.com", "v2"), ("b.com", "v1"))
    )
    assert len(read(text, directory)) == 3


def test_an_anchor_and_a_merge_spare_words(directory: Path) -> None:
    text = """
- &base
  version: v1
  group: example.com
  kind: Web
  role: web
  vars: &vars {a: 1, b: 1}
- <<: *base
  kind: Db
  vars: {<<: *vars, b: 2}
"""
    web, db = read(text, directory)
    assert (db.gvk, db.content) == (GVK("example.com", "v1", "Db"), web.content)
    assert (web.vars, db.vars) == ({"a": 1, "b": 1}, {"a": 1, "b": 2})


# --- keys and scalars ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["manageStatus", "managestatus", "ManageStatus", "MANAGESTATUS"])
def test_keys_match_in_any_case(key: str, directory: Path) -> None:
    assert not read_one(f"{key}: false", directory).manage_status


def test_unknown_keys_are_ignored(directory: Path) -> None:
    assert read_one("manageStatuss: nonsense\nworkers: {a: b}", directory) == read_one("", directory)


def test_of_equal_keys_the_last_wins(directory: Path) -> None:
    assert not read_one("manageStatus: true\nmanageStatus: false", directory).manage_status
    assert read_one("vars: {a: 1, a: 2}", directory).vars == {"a": 2}


@pytest.mark.parametrize("word", ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"])
def test_yaml_1_1_has_many_words_for_true(word: str, directory: Path) -> None:
    assert read_one(f"markUnsafe: {word}", directory).mark_unsafe


@pytest.mark.parametrize("word", ["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"])
def test_and_for_false(word: str, directory: Path) -> None:
    assert not read_one(f"manageStatus: {word}", directory).manage_status


@pytest.mark.parametrize("key", ["manageStatus", "watchDependentResources", "snakeCaseParameters", "vars", "finalizer"])
def test_null_means_the_default(key: str, directory: Path) -> None:
    assert read_one(f"{key}:\nblacklist: null", directory) == read_one("", directory)


@pytest.mark.parametrize(
    ("written", "group"),
    [
        ("1.0", "1"),
        ("1.5", "1.5"),
        ("1.23456789", "1.23456789"),
        ("12", "12"),
        ("0755", "493"),
        ("true", "true"),
        ("no", "false"),
        ("'1.0'", "1.0"),
        ('""', ""),
        ("", ""),
        ("~", ""),
        ("2026-01-31", "2026-01-31"),
    ],
    ids=str,
)
def test_a_scalar_that_is_no_text_becomes_one(written: str, group: str, directory: Path) -> None:
    (watch,) = read(f"- {{version: v1, kind: Web, role: web, group: {written}}}", directory)
    assert watch.gvk.group == group


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0755", 493),
        ("0x1f", 31),
        ("1_000", 1000),
        ("1e3", 1000),
        ("2.0", 2),
        ("2.5", 2.5),
        ("yes", True),
        ("n", False),
        ("'yes'", "yes"),
        ("yellow", "yellow"),
        ("no-op", "no-op"),
        ("~", None),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("12:30", "12:30"),
        ("12:30:45", "12:30:45"),
        ("=", "="),
        ("1.2.3", "1.2.3"),
        ("12345678901234567890", 12345678901234567890),
        ("{1: a, true: b, ~: c}", {"1": "a", "true": "b", "null": "c"}),
    ],
    ids=str,
)
def test_vars_are_what_go_hands_on_as_json(written: str, value: Any, directory: Path) -> None:
    found = read_one(f"vars: {{x: {written}}}", directory).vars["x"]
    assert found == value
    assert type(found) is type(value)


def test_the_key_n_is_false(directory: Path) -> None:
    assert read_one("vars: {n: 1, yes: 2, 3: 4}", directory).vars == {"false": 1, "true": 2, "3": 4}


@pytest.mark.parametrize("value", ["0", "null", "20", "20.0"])
def test_the_file_cannot_ask_for_zero_artifacts(value: str, directory: Path) -> None:
    assert read_one(f"maxRunnerArtifacts: {value}", directory).max_runner_artifacts == 20


@pytest.mark.parametrize(
    ("written", "seconds"), [("24h", 86400), ("1.5h", 5400), ("'1h30m'", 5400), ("0s", None), ("0", None), ("~", None)]
)
def test_a_period_of_zero_or_none_is_left_to_the_flag(written: str, seconds: float | None, directory: Path) -> None:
    assert read_one(f"reconcilePeriod: {written}", directory).reconcile_period == seconds


# --- content ---------------------------------------------------------------------------------------------------------


def test_of_role_and_playbook_the_playbook_wins(directory: Path) -> None:
    (watch,) = read(WEB + "  role: nowhere\n  playbook: playbooks/site.yml\n", directory)
    assert watch.content == Content(playbook=directory / "playbooks/site.yml")


def test_content_may_be_absolute(directory: Path) -> None:
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir()
    (watch,) = read(WEB + f"  role: {directory}/roles/web\n", elsewhere)
    assert watch.content == Content(role=directory / "roles/web")
    (watch,) = read(WEB + f"  playbook: {directory}/playbooks/site.yml\n", elsewhere)
    assert watch.content == Content(playbook=directory / "playbooks/site.yml")


@pytest.mark.parametrize(
    ("lines", "content", "variables"),
    [
        ("vars: {state: absent}", None, {"state": "absent"}),
        ("role: cleanup", "roles/cleanup", {}),
        ("playbook: playbooks/finalize.yml", "playbooks/finalize.yml", {}),
        ("role: nowhere, playbook: playbooks/finalize.yml, vars: {a: 1}", "playbooks/finalize.yml", {"a": 1}),
    ],
    ids=["vars alone", "role", "playbook", "both and vars"],
)
def test_a_finalizer_has_content_or_vars(lines: str, content: str | None, variables: Any, directory: Path) -> None:
    finalizer = read_one(f"finalizer: {{name: example.com/f, {lines}}}", directory).finalizer
    assert finalizer is not None
    assert finalizer.name == "example.com/f"
    assert str(finalizer.content) == (str(directory / content) if content else "None")
    assert finalizer.vars == variables


# --- selectors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["{}", "{matchLabels: {}}", "{matchExpressions: []}", "~"])
def test_an_empty_selector_selects_everything(written: str, directory: Path) -> None:
    assert read_one(f"selector: {written}", directory).selector == Selector()


def test_label_values_that_are_no_texts_become_texts(directory: Path) -> None:
    selector = read_one("selector: {matchLabels: {a: 1, b: true, c: , d: 1.0}}", directory).selector
    assert selector.matches({"a": "1", "b": "true", "c": "", "d": "1"})
    values = read_one("selector: {matchExpressions: [{key: a, operator: In, values: [1, yes]}]}", directory).selector
    assert values.matches({"a": "true"})


# --- variables -------------------------------------------------------------------------------------------------------


def test_variables_are_expanded_before_the_yaml_is_read(directory: Path) -> None:
    lines = "manageStatus: $MANAGE\nselector:\n  matchLabels: {tier: '${TIER}'}\n$MORE"
    watch = read_one(lines, directory, MANAGE="false", TIER="gold", MORE="markUnsafe: true")
    assert (watch.manage_status, watch.mark_unsafe) == (False, True)
    assert watch.selector.matches({"tier": "gold"})


def test_an_unset_variable_stays_as_a_text(directory: Path) -> None:
    assert read_one("vars:\n  a: $UNSET\n  b: '${UNSET}'\n  c: cost 5$", directory).vars == {
        "a": "${UNSET}",
        "b": "${UNSET}",
        "c": "cost 5$",
    }


def test_an_unset_variable_is_no_period(directory: Path) -> None:
    with pytest.raises(ConfigError, match=r"reconcilePeriod: '\$\{PERIOD\}' is not a duration"):
        read_one("reconcilePeriod: $PERIOD", directory)


def test_jinja_in_vars_is_ansibles_to_read(directory: Path) -> None:
    assert read_one('vars: {a: \'{{ lookup("env", "HOME") }}\'}', directory).vars == {
        "a": '{{ lookup("env", "HOME") }}'
    }
