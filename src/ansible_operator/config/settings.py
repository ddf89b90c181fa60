"""Flags and environment, made into Settings (contract 4.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_operator.model.gvk import GVK
from ansible_operator.model.settings import LeaderElection, Settings

_OPERATOR_MEMORY = 128 * 1024**2
_RUN_MEMORY = 200 * 1024**2
"""Bytes; a cold run (ansible-runner, ansible-playbook, a worker, a module) takes up to 140 MiB, as measured."""

_NO_LIMIT = 2**62
"""cgroup v1 says «no limit» by a number near 2**63."""

_SHORTEST_DEADLINE = 2.4
"""Seconds, as in client-go: time for one retry."""

LOG_EVENTS = ("nothing", "tasks", "everything")


def build_settings(values: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """The settings, and complaints about values that were ignored. Raises ValueError for a contradiction."""
    if values["metrics_require_rbac"] and not values["metrics_secure"]:
        raise ValueError("--metrics-require-rbac needs --metrics-secure: tokens must not travel in the clear")
    complaints: list[str] = []
    environment = _with_paths(values, environment)
    log_events = values["ansible_log_events"]
    if log_events not in LOG_EVENTS:
        complaints.append(f"--ansible-log-events {log_events!r} is not one of {', '.join(LOG_EVENTS)}; tasks is used")
        log_events = "tasks"
    level = _log_level(values["zap_log_level"], values["zap_devel"], complaints)
    settings = Settings(
        watches_file=Path(values["watches_file"]),
        work_dir=Path(values["work_dir"]).absolute(),
        namespaces=watched_namespaces(environment),
        inject_owner_ref=values["inject_owner_ref"],
        ansible_verbosity=values["ansible_verbosity"],
        ansible_roles_path=values["ansible_roles_path"],
        ansible_collections_path=values["ansible_collections_path"],
        ansible_args=values["ansible_args"],
        cold=values["cold"],
        ansible_log_events=log_events,
        debug_logs=environment.get("ANSIBLE_DEBUG_LOGS", "").lower() in ("1", "t", "true"),
        reconcile_period=values["reconcile_period"],
        max_concurrent_reconciles=values["max_concurrent_reconciles"] or allowed_cpus(),
        max_concurrent_runs=values["max_concurrent_runs"] or allowed_runs(),
        run_timeout=values["run_timeout"],
        metrics_address=values["metrics_bind_address"],
        metrics_secure=values["metrics_secure"],
        metrics_require_rbac=values["metrics_require_rbac"],
        user_metrics_address=values["user_metrics_bind_address"],
        probe_address=values["health_probe_bind_address"],
        proxy_port=values["proxy_port"],
        proxy_allow_anonymous=values["proxy_allow_anonymous"],
        graceful_shutdown_timeout=values["graceful_shutdown_timeout"],
        leader_election=_leader_election(values, environment),
        log_level=level,
        log_format=values["zap_encoder"] or ("console" if values["zap_devel"] else "json"),
        environment=environment,
    )
    return settings, complaints


def _leader_election(values: Mapping[str, Any], environment: Mapping[str, str]) -> LeaderElection:
    duration, deadline = values["leader_elect_lease_duration"], values["leader_elect_renew_deadline"]
    if values["leader_elect"] and not _SHORTEST_DEADLINE < deadline < duration:
        raise ValueError(
            f"--leader-elect-renew-deadline must be longer than {_SHORTEST_DEADLINE:g} s and shorter than "
            "--leader-elect-lease-duration: a leader must give up before another takes over"
        )
    return LeaderElection(
        enabled=values["leader_elect"],
        lease_name=values["leader_election_id"] or environment.get("OPERATOR_NAME", ""),
        namespace=values["leader_election_namespace"],
        lease_duration=duration,
        renew_deadline=deadline,
    )


def _with_paths(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with the two path flags in it; they beat the variables of the same name."""
    paths = {
        "ANSIBLE_ROLES_PATH": values["ansible_roles_path"],
        "ANSIBLE_COLLECTIONS_PATH": values["ansible_collections_path"],
    }
    return {**environment, **{name: path for name, path in paths.items() if path}}


def watched_namespaces(environment: Mapping[str, str]) -> tuple[str, ...]:
    """``WATCH_NAMESPACE``: a comma list; empty means all namespaces, given as an empty tuple."""
    names = (name.strip() for name in environment.get("WATCH_NAMESPACE", "").split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _log_level(text: str, devel: bool, complaints: list[str]) -> str:
    if text.isdecimal():
        return "debug" if int(text) > 0 else "info"
    level = {"warning": "warn", "panic": "error"}.get(text.lower(), text.lower())
    if level not in ("debug", "info", "warn", "error"):
        complaints.append(f"--zap-log-level {text!r} is not debug, info, error or a number; info is used")
        level = "info"
    return "debug" if devel and level == "info" else level


def workers_for(gvk: GVK, settings: Settings) -> int:
    """Runs at once for one kind: ``MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>``, the old ``WORKER_…``, or the flag."""
    for prefix in ("MAX_CONCURRENT_RECONCILES", "WORKER"):
        text = settings.environment.get(_kind_variable(prefix, gvk), "")
        if text.isdecimal() and int(text) > 0:
            return int(text)
    return settings.max_concurrent_reconciles


def verbosity_for(gvk: GVK, settings: Settings) -> int:
    """Number of v's for one kind: ``ANSIBLE_VERBOSITY_<KIND>_<GROUP>`` from 0 to 7, or the flag."""
    text = settings.environment.get(_kind_variable("ANSIBLE_VERBOSITY", gvk), "")
    return int(text) if re.fullmatch("[0-7]", text) else settings.ansible_verbosity


def _kind_variable(prefix: str, gvk: GVK) -> str:
    return f"{prefix}_{gvk.kind}_{gvk.group}".upper().replace(".", "_")


def allowed_cpus(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """CPUs this process may use, at least 1: its affinity, cut down to the container's quota (not the host's cores)."""
    cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    return max(1, int(min(cores, _cpu_quota(cgroup) or cores)))


def allowed_runs(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Runs at once that CPUs and the container's memory limit have room for, at least 1."""
    limit = _memory_limit(cgroup)
    by_memory = (limit - _OPERATOR_MEMORY) // _RUN_MEMORY if limit is not None else allowed_cpus(cgroup)
    return max(1, min(allowed_cpus(cgroup), by_memory))


def _memory_limit(cgroup: Path) -> int | None:
    """Bytes that the cgroup (v2, or v1) grants; None where it sets no limit."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = (cgroup / name).read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdecimal() and int(text) < _NO_LIMIT else None
    return None


def _cpu_quota(cgroup: Path) -> float | None:
    """CPUs that the cgroup (v2, or v1) grants; None where it grants all."""
    try:
        if (cgroup / "cpu.max").exists():
            quota, period = (cgroup / "cpu.max").read_text().split()
            return None if quota == "max" else int(quota) / int(period)
        quota = (cgroup / "cpu/cpu.cfs_quota_us").read_text().strip()
        period = (cgroup / "cpu/cpu.cfs_period_us").read_text().strip()
        return None if int(quota) <= 0 else int(quota) / int(period)
    except (OSError, ValueError):
        return None
