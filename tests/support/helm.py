"""The pinned Helm for tests, and what it makes of the operator's chart."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster.build import built_path
from tests.support.operator import REPOSITORY


@pytest.fixture(scope="session")
def helm() -> Path:
    """The program; without it what needs it is skipped."""
    program = built_path("helm")
    if not program.exists():
        pytest.skip("helm is not built; make test-helm builds it first")
    return program


CHART = REPOSITORY / "charts" / "aitask-operator"
NAME = "aitask-operator"
NAMESPACE = "release-ns"
_KUBE_VERSION = "1.37.0"
"""What `helm template` is told: without a cluster it takes the version that it was built for."""

Manifest = dict[str, Any]
Key = tuple[str, str]
"""Kind and name."""


def template(
    helm: Path, values: Mapping[str, Any], namespace: str = NAMESPACE, chart: Path = CHART, only: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """`helm template` of the operator's chart, or of another; ``only``: names of templates."""
    command = [helm, "template", NAME, chart, "-n", namespace, "--kube-version", _KUBE_VERSION, "-f", "-"]
    command += [f"--show-only=templates/{name}.yaml" for name in only]
    return subprocess.run(command, input=json.dumps(values), capture_output=True, text=True, check=False, timeout=120)


def rendered(
    helm: Path, values: Mapping[str, Any], namespace: str = NAMESPACE, chart: Path = CHART, only: Sequence[str] = ()
) -> dict[Key, Manifest]:
    """The objects of a release with these values."""
    done = template(helm, values, namespace, chart, only)
    assert done.returncode == 0, done.stderr
    found = [one for one in yaml.load_all(done.stdout, yaml.CSafeLoader) if one]
    keyed = {(one["kind"], one["metadata"]["name"]): one for one in found}
    assert len(keyed) == len(found)
    return keyed
