"""What the command line and the environment ask for. Each field is explained where its flag is: ``config/flags.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Address:
    """Where a server listens. ``port`` 0 switches it off, as in controller-runtime."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class LeaderElection:
    """Whether and how replicas agree on one of them. Times in seconds; an empty namespace means the pod's own."""

    enabled: bool
    lease_name: str
    namespace: str
    lease_duration: float
    renew_deadline: float


@dataclass(frozen=True)
class Settings:
    """The settings of one ``ansible-operator run``. Periods and time-outs are in seconds."""

    watches_file: Path
    work_dir: Path
    namespaces: tuple[str, ...]
    inject_owner_ref: bool
    ansible_verbosity: int
    ansible_roles_path: str
    ansible_collections_path: str
    ansible_args: str
    cold: bool
    ansible_log_events: str
    debug_logs: bool
    reconcile_period: float
    max_concurrent_reconciles: int
    max_concurrent_runs: int
    run_timeout: float
    metrics_address: Address
    metrics_secure: bool
    metrics_require_rbac: bool
    user_metrics_address: Address
    probe_address: Address
    proxy_port: int
    proxy_allow_anonymous: bool
    graceful_shutdown_timeout: float
    leader_election: LeaderElection
    log_level: str
    log_format: str
    environment: Mapping[str, str] = field(default_factory=dict)
