"""Flags and environment together (contract 4.1)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ansible_operator import cli
from ansible_operator.config import flags
from ansible_operator.config.settings import (
    allowed_cpus,
    allowed_runs,
    build_settings,
    verbosity_for,
    watched_namespaces,
    workers_for,
)
from ansible_operator.model.gvk import GVK
from ansible_operator.model.settings import Settings

TASK = GVK("aiops.example.com", "v1", "AITask")
MIB = 1024**2


def build(*arguments: str, **environment: str) -> tuple[Settings, list[str]]:
    options = cli._parser().parse_args(flags.normalise(["run", *arguments]))
    return build_settings(flags.values_of(options), environment)


def settings(*arguments: str, **environment: str) -> Settings:
    found, complaints = build(*arguments, **environment)
    assert complaints == []
    return found


@pytest.mark.parametrize(
    ("text", "namespaces"),
    [
        (None, ()),
        ("", ()),
        (" ", ()),
        (",", ()),
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        (" a , b ", ("a", "b")),
        ("a,,b,", ("a", "b")),
        ("b,a,b", ("b", "a")),
    ],
    ids=repr,
)
def test_watch_namespace(text: str | None, namespaces: tuple[str, ...]) -> None:
    assert watched_namespaces({} if text is None else {"WATCH_NAMESPACE": text}) == namespaces


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("nothing", "nothing"),
        ("Tasks", "tasks"),
        ("EVERYTHING", "everything"),
    ],
)
def test_the_level_of_events_in_any_case(text: str, level: str) -> None:
    assert settings(f"--ansible-log-events={text}").ansible_log_events == level


@pytest.mark.parametrize("text", ["all", "", "task"], ids=repr)
def test_an_unknown_level_of_events_means_tasks_and_is_complained_about(text: str) -> None:
    found, complaints = build(f"--ansible-log-events={text}")
    assert found.ansible_log_events == "tasks"
    assert len(complaints) == 1
    assert complaints[0].startswith(f"--ansible-log-events {text!r}")


@pytest.mark.parametrize(
    ("arguments", "level", "form"),
    [
        ([], "info", "json"),
        (["--zap-log-level=debug"], "debug", "json"),
        (["--zap-log-level=error"], "error", "json"),
        (["--zap-log-level=Warning"], "warn", "json"),
        (["--zap-log-level=panic"], "error", "json"),
        (["--zap-log-level=0"], "info", "json"),
        (["--zap-log-level=2"], "debug", "json"),
        (["--zap-devel"], "debug", "console"),
        (["--zap-devel", "--zap-log-level=error"], "error", "console"),
        (["--zap-devel", "--zap-encoder=json"], "debug", "json"),
        (["--zap-encoder=console"], "info", "console"),
    ],
    ids=" ".join,
)
def test_the_form_of_logs(arguments: list[str], level: str, form: str) -> None:
    assert (settings(*arguments).log_level, settings(*arguments).log_format) == (level, form)


def test_an_unknown_log_level_means_info_and_is_complained_about() -> None:
    found, complaints = build("--zap-log-level=loud")
    assert found.log_level == "info"
    assert complaints == ["--zap-log-level 'loud' is not debug, info, error or a number; info is used"]


# --- per kind --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "workers"),
    [
        ({}, 3),
        ({"MAX_CONCURRENT_RECONCILES_AITASK_AIOPS_EXAMPLE_COM": "7"}, 7),
        ({"WORKER_AITASK_AIOPS_EXAMPLE_COM": "5"}, 5),
        ({"MAX_CONCURRENT_RECONCILES_AITASK_AIOPS_EXAMPLE_COM": "7", "WORKER_AITASK_AIOPS_EXAMPLE_COM": "5"}, 7),
        ({"MAX_CONCURRENT_RECONCILES_AITASK_AIOPS_EXAMPLE_COM": "0"}, 3),
        ({"MAX_CONCURRENT_RECONCILES_AITASK_AIOPS_EXAMPLE_COM": "-1"}, 3),
        ({"MAX_CONCURRENT_RECONCILES_AITASK_AIOPS_EXAMPLE_COM": "many"}, 3),
        ({"MAX_CONCURRENT_RECONCILES_AITASK_AIOPS_EXAMPLE_COM": ""}, 3),
        ({"MAX_CONCURRENT_RECONCILES_OTHER_AIOPS_EXAMPLE_COM": "7"}, 3),
        ({"max_concurrent_reconciles_aitask_aiops_example_com": "7"}, 3),
    ],
    ids=str,
)
def test_workers_of_a_kind(environment: dict[str, str], workers: int) -> None:
    assert workers_for(TASK, settings("--max-concurrent-reconciles=3", **environment)) == workers


@pytest.mark.parametrize(
    ("text", "verbosity"),
    [("0", 0), ("4", 4), ("7", 7), ("8", 1), ("-1", 1), ("", 1), ("high", 1), ("10", 1), ("3\n", 1)],
    ids=repr,
)
def test_verbosity_of_a_kind(text: str, verbosity: int) -> None:
    found = settings("--ansible-verbosity=1", ANSIBLE_VERBOSITY_AITASK_AIOPS_EXAMPLE_COM=text)
    assert verbosity_for(TASK, found) == verbosity
    assert verbosity_for(GVK("", "v1", "Secret"), found) == 1


def test_in_the_names_of_variables_dots_become_underscores_and_hyphens_stay() -> None:
    found = settings(**{"MAX_CONCURRENT_RECONCILES_WEB_MY-GROUP_EXAMPLE_COM": "9", "WORKER_SECRET_": "8"})
    assert workers_for(GVK("my-group.example.com", "v1", "Web"), found) == 9
    assert workers_for(GVK("", "v1", "Secret"), found) == 8


# --- what flags and variables share ----------------------------------------------------------------------------------


def test_path_flags_beat_the_variables_of_the_same_name() -> None:
    found = settings("--ansible-roles-path=/flag", ANSIBLE_ROLES_PATH="/variable", ANSIBLE_COLLECTIONS_PATH="/kept")
    assert found.environment["ANSIBLE_ROLES_PATH"] == "/flag"
    assert found.environment["ANSIBLE_COLLECTIONS_PATH"] == "/kept"
    assert settings("--ansible-collections-path=/c").environment == {"ANSIBLE_COLLECTIONS_PATH": "/c"}
    assert settings().environment == {}


def test_the_lease_is_named_by_the_flag_or_by_operator_name() -> None:
    assert settings("--leader-election-id=flag", OPERATOR_NAME="name").leader_election.lease_name == "flag"
    assert settings(OPERATOR_NAME="name").leader_election.lease_name == "name"
    assert settings().leader_election.lease_name == ""


def test_the_work_directory_is_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings("--work-dir=here").work_dir == tmp_path / "here"


@pytest.mark.parametrize(("text", "shown"), [("true", True), ("T", True), ("1", True), ("false", False), ("", False)])
def test_ansible_debug_logs_is_a_boolean(text: str, shown: bool) -> None:
    assert settings(ANSIBLE_DEBUG_LOGS=text).debug_logs is shown


# --- what the container may use --------------------------------------------------------------------------------------


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> int:
    """A host with 64 cores, all of which the process may use."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    return 64


def cgroup(root: Path, files: dict[str, str | None]) -> Path:
    """A directory with these files of a control group; None leaves one out."""
    for name, text in files.items():
        if text is not None:
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(f"{text}\n")
    return root


def v2(root: Path, cpu: str | None = None, memory: str | None = None) -> Path:
    return cgroup(root, {"cpu.max": cpu, "memory.max": memory})


def v1(root: Path, quota: str, memory: str | None = None) -> Path:
    cpu = {"cpu/cpu.cfs_quota_us": quota, "cpu/cpu.cfs_period_us": "100000"}
    return cgroup(root, {**cpu, "memory/memory.limit_in_bytes": memory})


@pytest.mark.parametrize(
    ("quota", "cpus"),
    [
        ("max 100000", 64),
        ("200000 100000", 2),
        ("50000 100000", 1),
        ("150000 100000", 1),
        ("9900000 100000", 64),
        ("nonsense", 64),
        ("", 64),
    ],
)
def test_cpus_by_a_cgroup_v2(quota: str, cpus: int, tmp_path: Path, cores: int) -> None:
    assert allowed_cpus(v2(tmp_path, quota)) == cpus


@pytest.mark.parametrize(("quota", "cpus"), [("-1", 64), ("0", 64), ("300000", 3), ("10000", 1), ("x", 64)])
def test_cpus_by_a_cgroup_v1(quota: str, cpus: int, tmp_path: Path, cores: int) -> None:
    assert allowed_cpus(v1(tmp_path, quota)) == cpus


def test_cpus_without_a_cgroup_are_those_of_the_affinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5}, raising=False)
    assert allowed_cpus(tmp_path) == 2
    assert allowed_cpus(v2(tmp_path, "400000 100000")) == 2


@pytest.mark.parametrize(
    ("limit", "runs"),
    [
        ("max", 64),
        (str(768 * MIB), 3),
        (str(64 * MIB), 1),
        (str(1024 * 1024 * MIB), 64),
        ("nonsense", 64),
    ],
    ids=["none", "768 MiB", "64 MiB", "1 TiB", "nonsense"],
)
def test_runs_at_once_by_the_memory_of_a_cgroup_v2(limit: str, runs: int, tmp_path: Path, cores: int) -> None:
    assert allowed_runs(v2(tmp_path, "max 100000", limit)) == runs


def test_runs_at_once_by_the_memory_of_a_cgroup_v1(tmp_path: Path, cores: int) -> None:
    assert allowed_runs(v1(tmp_path, "-1", memory=str(528 * MIB))) == 2
    assert allowed_runs(v1(tmp_path, "-1", memory=str(2**63 - 4096))) == 64
    assert allowed_runs(v1(tmp_path, "200000", memory=str(2**63 - 4096))) == 2


def test_without_flags_the_container_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansible_operator.config.settings.allowed_cpus", lambda *_: 5)
    monkeypatch.setattr("ansible_operator.config.settings.allowed_runs", lambda *_: 4)
    assert (settings().max_concurrent_reconciles, settings().max_concurrent_runs) == (5, 4)
    found = settings("--max-concurrent-reconciles=9", "--max-concurrent-runs=8")
    assert (found.max_concurrent_reconciles, found.max_concurrent_runs) == (9, 8)


def test_values_may_come_from_elsewhere_than_argparse() -> None:
    values: dict[str, Any] = {flag.dest: flag.kind(flag.default) for flag in flags.FLAGS}
    assert build_settings(values, {})[0] == settings()
