"""What runs leave on disk: bounded, private, and gone with its object (contract 4.5; case D10)."""

import stat
from pathlib import Path

import pytest

from tests.support.api import Api, succeeded_at_generation
from tests.support.kinds import THING
from tests.support.operator import Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver


def run_directories(directory: Path) -> set[str]:
    return {entry.name for entry in (directory / "artifacts").iterdir() if not entry.is_symlink()}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_artifacts_are_bounded_private_and_purged_with_their_object(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "nothing", "maxRunnerArtifacts": 2})
    project.role("nothing", "- ansible.builtin.meta: noop")
    keep_all = {"ansible.sdk.operatorframework.io/max-runner-artifacts": "0"}
    operator = start()
    api.create(THING, THING.object("some", namespace, spec={"secret": "hidden"}))
    api.create(THING, THING.object("all", namespace, metadata={"annotations": keep_all}))
    for number in range(3):
        for name in ("some", "all"):
            api.patch(THING, name, namespace, {"spec": {"round": number}})
        for name in ("some", "all"):
            api.wait(THING, name, namespace, succeeded_at_generation)

    some, every = (operator.run_directory(THING.api_version, "Thing", namespace, name) for name in ("some", "all"))
    jobs = [run.job for run in operator.runs("some")]
    assert len(jobs) >= 3
    assert run_directories(some) == set(jobs[-2:])
    assert run_directories(every) == {run.job for run in operator.runs("all")}
    assert (some / "artifacts/latest").resolve().name == jobs[-1]
    for part in ("stdout", "rc", "status", "job_events", "command"):
        assert (some / "artifacts/latest" / part).exists(), part

    assert not (some / "kubeconfig").exists(), "the run's access is gone with the run"
    root = operator.work_dir
    assert mode(root) == 0o700
    for path in root.rglob("*"):
        closed = any(mode(parent) == 0o700 for parent in path.parents if root in parent.parents)
        assert closed or mode(path) in (0o600, 0o700) or path.name.startswith("proxy-ca-"), f"others can read {path}"
    assert {mode(path) for path in (some / "env").iterdir()} == {0o600}

    for name in ("some", "all"):
        api.delete(THING, name, namespace)
    until(lambda: not any((root / "runner").iterdir()), "nothing is left of the two", checks=api.checks)
