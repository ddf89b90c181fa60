"""The alerts: each has its section, and looks at nothing but what the operator exports and the role reports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from ansible_operator.model.gvk import GVK
from ansible_operator.telemetry.metrics import Metrics

ROOT = Path(__file__).parents[2]
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((ROOT / "config/prometheus/rules.yaml").read_text())["spec"]["groups"]
    for rule in group["rules"]
]
SECTIONS = re.split(r"^## ", (ROOT / "docs/alerts.md").read_text(), flags=re.MULTILINE)[1:]


def exported() -> set[str]:
    """The names of an operator that has seen an AITask and takes part in an election."""
    metrics = Metrics("1")
    metrics.run_ended(GVK("aiops.example.com", "v1", "AITask"), True, 0.1)
    metrics.leads("aitask-operator", True)
    page = generate_latest(metrics.registry).decode()
    families = set(re.findall(r"^# TYPE (\w+) ", page, re.MULTILINE))
    return families | set(re.findall(r"^(\w+)[ {]", page, re.MULTILINE))


def reported() -> set[str]:
    """The names that the role reports."""
    return set(re.findall(r'"(aitask_\w+)"', (ROOT / "roles/aitask/aitask_rules/metrics.py").read_text()))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_looks_at_what_there_is(rule: dict[str, Any]) -> None:
    named = set(re.findall(r"\b([a-z]+_[a-z_]+)\b(?=[{\[)])", rule["expr"]))
    assert named, rule["expr"]
    assert named - exported() - reported() == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_has_a_section_that_its_link_leads_to(rule: dict[str, Any]) -> None:
    (section,) = [text for text in SECTIONS if text.splitlines()[0] == rule["alert"]]
    assert rule["annotations"]["runbook_url"].endswith(f"docs/alerts.md#{rule['alert'].lower()}")
    assert rule["annotations"]["summary"]
    assert all(word in section for word in ("**Symptom.**", "**Causes.**", "```console"))


def test_there_is_no_section_without_an_alert() -> None:
    assert [text.splitlines()[0] for text in SECTIONS] == [rule["alert"] for rule in RULES]


def test_what_the_role_reports_is_documented() -> None:
    models = {"aitask_diagnoses_total", "aitask_llm_calls_total", "aitask_llm_tokens_total", "aitask_llm_seconds"}
    assert reported() == {"aitask_actions_total", "aitask_held_total", "aitask_guard_installed"} | models
    text = (ROOT / "docs/alerts.md").read_text()
    assert all(f"`{name}" in text for name in reported())


def test_the_namespace_of_a_series_is_its_own_and_not_that_of_the_scraped_pod() -> None:
    """Alerts name the task by it."""
    monitor = yaml.safe_load((ROOT / "config/prometheus/monitor.yaml").read_text())
    assert [endpoint["honorLabels"] for endpoint in monitor["spec"]["endpoints"]] == [True]
