"""The conditions of the playbook of charts that decide whether something is taken away, and what it shows."""

from __future__ import annotations

import re
from typing import Any

import jinja2
import pytest
import yaml

from ansible_operator.config.charts import PLAYBOOK


def task(file: str, name: str) -> dict[str, Any]:
    (play,) = yaml.safe_load(PLAYBOOK.read_text()) if file == PLAYBOOK.name else ({"tasks": None},)
    tasks = play["tasks"] or yaml.safe_load((PLAYBOOK.parent / "chart" / file).read_text())
    (found,) = (each for each in tasks if each["name"] == name)
    assert isinstance(found, dict)
    return found


def holds(condition: str, **variables: Any) -> bool:
    """As Ansible judges it; of its own tests those that are used here."""
    environment = jinja2.Environment(autoescape=True)
    environment.tests["search"] = lambda text, pattern: re.search(pattern, text) is not None
    environment.tests["match"] = lambda text, pattern: re.match(pattern, text) is not None
    return bool(environment.compile_expression(condition)(**variables))


@pytest.mark.parametrize(
    ("asked", "unread"),
    [
        ({"resources": [], "api_found": True}, False),
        ({"resources": []}, False),
        ({"resources": [], "api_found": False, "msg": "Failed to find API"}, True),
        ({"msg": "secrets is forbidden"}, True),
    ],
)
def test_records_that_could_not_be_asked_for_are_not_none(asked: dict[str, Any], unread: bool) -> None:
    assert holds(task("look.yml", "They cannot be read")["when"], asked=asked) is unread


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        ("", False),
        ("Error: uninstall: Release not loaded: web: release: not found", False),
        ('configmaps "web-bye" is forbidden: because it is being terminated', False),
        ('Error: failed pre-delete: pods "x" is forbidden: serviceaccount "x" not found', True),
    ],
)
def test_of_all_that_is_not_found_only_the_release_counts(said: str, failed: bool) -> None:
    assert holds(task("uninstall.yml", "Helm has failed")["when"], said=said) is failed
    unhooked = task("uninstall.yml", "A namespace that is being deleted makes no hooks")["failed_when"]
    assert holds(unhooked, unhooked={"rc": 0, "stderr": "not found"}) is False
    if "terminated" not in said:
        assert holds(unhooked, unhooked={"rc": 1, "stderr": said or "no"}) is (failed or not said)


@pytest.mark.parametrize("name", ["Look at the release", "Bring it to the state that is asked for"])
def test_an_object_without_a_namespace_has_no_release_that_could_be_taken_away(name: str) -> None:
    condition = task("chart.yml", name)["when"]
    assert not holds(condition, chart={"namespace": ""})
    assert holds(condition, chart={"namespace": "shop"})


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("look.yml", "Read Helm's records"),
        ("look.yml", "Keep what they say"),
        ("mend.yml", "Read the manifest of the release"),
        ("mend.yml", "Apply the manifest of the release"),
        ("mend.yml", "Hear what was refused"),
        ("upgrade.yml", "Write the values"),
        ("upgrade.yml", "Install or upgrade"),
        ("uninstall.yml", "Uninstall"),
    ],
)
def test_what_has_all_values_or_the_manifest_in_it_is_not_shown(file: str, name: str) -> None:
    assert task(file, name)["no_log"] is True
