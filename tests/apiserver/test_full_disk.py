"""A work directory that is full: the run fails and says why, and the next one succeeds when there is room again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.api import Api, Object, conditions, failed, succeeded
from tests.support.kinds import THING
from tests.support.operator import Start
from tests.support.project import Project

pytestmark = [
    pytest.mark.apiserver,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system"),
]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of eight megabytes."""
    directory = tmp_path / "small"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs", directory]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"root may not mount here, as in a container: {done.stderr.strip()}")
    yield directory
    subprocess.run(["umount", "--lazy", directory], check=True)


def fill(directory: Path) -> Path:
    """Leave no byte free."""
    filler = directory / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return filler


def test_a_run_that_cannot_begin_says_so_and_begins_when_there_is_room(
    api: Api, namespace: str, project: Project, start: Start, small: Path
) -> None:
    project.watches({**THING.watch, "role": "nothing"})
    project.role("nothing", "- ansible.builtin.meta: noop")
    start(work_dir=small)
    filler = fill(small)
    api.create(THING, THING.object("one", namespace))
    message = conditions(api.wait(THING, "one", namespace, failed))["Failure"]["message"]
    assert "No space left on device" in message and str(small) in message
    filler.unlink()
    api.wait(THING, "one", namespace, succeeded)
    assert [path for path in small.rglob("*") if path.name.endswith((".new", ".tmp"))] == []


def test_a_disk_that_fills_up_during_a_run_fails_that_run_and_no_later_one(
    api: Api, namespace: str, project: Project, start: Start, small: Path
) -> None:
    project.watches({**THING.watch, "role": "greedy", "vars": {"small": str(small)}})
    project.role(
        "greedy",
        """
        - name: The disk fills up
          ansible.builtin.shell: "dd if=/dev/zero of={{ small }}/filler bs=4k; true"
          when: greedy
        - name: Something is written
          ansible.builtin.copy: {dest: "{{ small }}/result", content: "{{ 'x' * 10000 }}"}
        """,
    )
    operator = start(work_dir=small)
    api.create(THING, THING.object("one", namespace, spec={"greedy": True}))
    message = conditions(api.wait(THING, "one", namespace, failed))["Failure"]["message"]
    assert "No space left on device" in message
    api.patch(THING, "one", namespace, {"spec": {"greedy": False}})

    def healed(obj: Object) -> bool:
        """it succeeds once there is room: a greedy run that was under way may have filled the disk again"""
        (small / "filler").unlink(missing_ok=True)
        return succeeded(obj)

    api.wait(THING, "one", namespace, healed)
    assert operator.probe("/healthz")[0] == 200
