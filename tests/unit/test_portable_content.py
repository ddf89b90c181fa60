"""The content also runs under the Go operator: it uses only what that one documents (contract 4.2, 4.4, 4.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment
from jinja2.meta import find_undeclared_variables

ROOT = Path(__file__).parent.parent.parent

WATCH_KEYS = {
    *("group", "version", "kind", "role", "playbook", "vars", "maxRunnerArtifacts", "reconcilePeriod", "manageStatus"),
    *("watchDependentResources", "watchClusterScopedResources", "snakeCaseParameters", "watchAnnotationsChanges"),
    *("markUnsafe", "blacklist", "finalizer", "selector"),
}
GALAXY_ARGUMENTS = {
    "operator_sdk.util.k8s_status": {"api_version", "kind", "name", "namespace", "status", "conditions", "force"},
    "operator_sdk.util.requeue_after": {"time"},
    "operator_sdk.util.osdk_metric": {"name", "description", "counter", "gauge", "histogram", "summary"},
}
OURS_ONLY = {"operator_sdk.util.osdk_metric": {"labels"}}
"""Arguments that Galaxy's modules refuse: for tasks whose failure changes nothing."""
KEYWORDS = {
    *("name", "when", "register", "vars", "loop", "loop_control", "block", "rescue", "always", "no_log", "until"),
    *("retries", "delay", "changed_when", "failed_when", "check_mode", "tags", "environment"),
    *("hosts", "connection", "gather_facts", "tasks", "roles", "pre_tasks"),
}
VARIABLES = {
    *("_aiops_example_com_aitask", "_aiops_example_com_aitaskbackup", "_aiops_example_com_aitaskrestore"),
    *(
        "_aiops_example_com_aitask_spec",
        "_aiops_example_com_aitaskbackup_spec",
        "_aiops_example_com_aitaskrestore_spec",
    ),
    *("ansible_failed_task", "ansible_failed_result", "ansible_check_mode", "ansible_playbook_python"),
    *("lookup", "now", "omit"),
}
"""What a role or playbook may read besides its own variables: what operators pass, and what Ansible sets by itself."""
EXPRESSIONS = ("when", "failed_when", "changed_when", "until", "that")
OURS = re.compile(r"ANSIBLE_OPERATOR_|ansible_operator(?!_meta)")


def tasks(node: Any) -> Iterator[dict[str, Any]]:
    """Every task, play and block in a file."""
    for item in node or ():
        yield item
        for part in ("block", "rescue", "always", "tasks", "pre_tasks"):
            yield from tasks(item.get(part))


def content_files() -> list[Path]:
    tasks = [*ROOT.glob("roles/*/tasks/**/*.yml"), *ROOT.glob("examples/*/roles/*/tasks/**/*.yml")]
    return sorted([*tasks, *ROOT.glob("playbooks/*.yml")])


@pytest.mark.parametrize("file", content_files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_task_file_uses_modules_that_every_operator_has(file: Path) -> None:
    own = {module.stem for module in ROOT.glob("roles/*/library/*.py")}
    for task in tasks(yaml.safe_load(file.read_text())):
        for module in set(task) - KEYWORDS - own:
            assert re.fullmatch(r"(ansible\.builtin|kubernetes\.core)\.\w+", module) or module in GALAXY_ARGUMENTS, (
                module
            )
            if module in GALAXY_ARGUMENTS:
                forgiving = str(task.get("failed_when")).startswith("'module_stderr' in ")
                more = OURS_ONLY.get(module, set()) if forgiving else set()
                assert set(task[module]) <= GALAXY_ARGUMENTS[module] | more, task["name"]


def texts(node: Any, key: str = "") -> Iterator[str]:
    """Every Jinja text in a document; bare expressions in braces."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from texts(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value, key)
    elif isinstance(node, str):
        yield f"{{{{ {node} }}}}" if key in EXPRESSIONS else node


class EveryName(dict[str, Any]):
    """Filters and tests, of whose names this says nothing."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, str)


def variables(file: Path) -> set[str]:
    environment = Environment()
    environment.filters, environment.tests = EveryName(environment.filters), EveryName(environment.tests)
    parse = environment.parse
    return {name for text in texts(yaml.safe_load(file.read_text())) for name in find_undeclared_variables(parse(text))}


def reads() -> list[Path]:
    """The files of the operator's own content that read variables; an example has its own names."""
    folders = ("roles/*/tasks/**/*.yml", "roles/*/defaults/*.yml", "roles/*/vars/*.yml", "playbooks/*.yml")
    return sorted(file for folder in folders for file in ROOT.glob(folder))


@pytest.mark.parametrize("file", reads(), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_reads_variables_that_every_operator_has(file: Path) -> None:
    own = re.compile(r"(__)?aitask_\w+")
    assert {name for name in variables(file) if not own.fullmatch(name)} <= VARIABLES


def test_watches_has_documented_keys_only() -> None:
    for entry in yaml.safe_load((ROOT / "watches.yaml").read_text()):
        assert set(entry) <= WATCH_KEYS


@pytest.mark.parametrize("folder", ["roles", "playbooks"])
def test_nothing_names_our_runtime(folder: str) -> None:
    files = [file for file in (ROOT / folder).rglob("*") if file.is_file() and file.suffix in (".yml", ".py", ".j2")]
    assert files
    assert [file for file in files if OURS.search(file.read_text())] == []


def test_the_runtime_names_no_content() -> None:
    files = [file for file in (ROOT / "src").rglob("*") if file.is_file() and file.suffix in (".py", ".yml", ".md")]
    assert [file for file in files if "aitask" in file.read_text().lower()] == []
