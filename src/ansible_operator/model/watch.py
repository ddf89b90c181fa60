"""One entry of ``watches.yaml`` with its defaults filled in (contract 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_operator.model.gvk import GVK
from ansible_operator.model.selectors import Selector

DEFAULT_MAX_RUNNER_ARTIFACTS = 20


@dataclass(frozen=True)
class Content:
    """What a run plays: a playbook, or a role on localhost. Exactly one of the two is set, absolute and resolved."""

    playbook: Path | None = None
    role: Path | None = None

    def __str__(self) -> str:
        return str(self.playbook or self.role)


@dataclass(frozen=True)
class Chart:
    """A Helm chart: an absolute path, or at ``version`` an ``oci://`` reference or a name in ``repository``.

    ``override_values`` win over those of the object.
    """

    reference: str
    repository: str = ""
    version: str = ""
    override_values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finalizer:
    """What runs when an object is deleted. Without content of its own the main content runs, with ``vars`` added."""

    name: str
    content: Content | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Watch:
    """A kind bound to Ansible content. ``reconcile_period`` is in seconds, None where it is left to the flag.

    With a ``chart`` the content is the playbook that releases charts.
    """

    gvk: GVK
    content: Content
    vars: Mapping[str, Any] = field(default_factory=dict)
    max_runner_artifacts: int = DEFAULT_MAX_RUNNER_ARTIFACTS
    reconcile_period: float | None = None
    manage_status: bool = True
    watch_dependent_resources: bool = True
    watch_cluster_scoped_resources: bool = False
    snake_case_parameters: bool = True
    watch_annotations_changes: bool = False
    mark_unsafe: bool = False
    blacklist: frozenset[GVK] = frozenset()
    finalizer: Finalizer | None = None
    selector: Selector = field(default_factory=Selector)
    chart: Chart | None = None
