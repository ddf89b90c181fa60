"""Molecule on the cluster of MOLECULE_KUBECONFIG: what is somebody else's stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localcluster import Cluster
from tests.support.api import Api
from tests.support.kinds import NAMESPACE

ROOT = Path(__file__).parents[2]
OURS = "aitask-molecule"
KUBECTL = """#!/bin/sh
echo "$*" >> "$KUBECTL_CALLS"
exec {kubectl} version --client -o json
"""

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]


class Scenario:
    """Scenario ``operator`` with a kubectl that only records what it is asked to do."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.directory = directory / "ephemeral"
        self._calls = directory / "calls"
        program = directory / "bin" / "kubectl"
        program.parent.mkdir()
        program.write_text(KUBECTL.format(kubectl=cluster.kubectl))
        program.chmod(0o755)
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "KUBECTL_CALLS": str(self._calls),
            "MOLECULE_KUBECONFIG": str(cluster.kubeconfig),
            "MOLECULE_EPHEMERAL_DIRECTORY": str(self.directory),
        }

    def play(self, command: str) -> tuple[int, str]:
        """Exit status and output of ``molecule COMMAND``."""
        words = [str(Path(sys.executable).with_name("molecule")), command, "-s", "operator"]
        done = subprocess.run(
            words,
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def deleted(self) -> list[str]:
        """The deletions that kubectl was asked for."""
        calls = self._calls.read_text().splitlines() if self._calls.exists() else []
        return [call for call in calls if call.startswith("delete")]


def test_a_given_cluster_loses_nothing_that_is_not_of_the_scenario(cluster: Cluster, api: Api, tmp_path: Path) -> None:
    api.create(NAMESPACE, NAMESPACE.object(OURS))
    try:
        scenario = Scenario(cluster, tmp_path)
        status, said = scenario.play("test")
        assert status, said
        assert "use another cluster" in said
        _is_untouched(scenario, api)

        scenario.directory.mkdir(exist_ok=True)
        (scenario.directory / "ours").write_text("another cluster")
        status, said = scenario.play("cleanup")
        assert status, said
        assert "installed into another cluster" in said
        _is_untouched(scenario, api)

        here = api.get(NAMESPACE, "kube-system")
        assert here
        (scenario.directory / "ours").write_text(here["metadata"]["uid"])
        status, said = scenario.play("cleanup")
        assert status == 0, said
        assert scenario.deleted(), "what the scenario has installed is removed"
        _is_there(api)
        assert not (scenario.directory / "ours").exists()
    finally:
        if api.get(NAMESPACE, OURS):
            api.delete(NAMESPACE, OURS)


def _is_untouched(scenario: Scenario, api: Api) -> None:
    assert scenario.deleted() == []
    _is_there(api)


def _is_there(api: Api) -> None:
    found = api.get(NAMESPACE, OURS)
    assert found
    assert "deletionTimestamp" not in found["metadata"]
