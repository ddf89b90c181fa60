"""Where the kernel counts its kills, in the layouts that containers and machines have, and what the count explains."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator.runner import memory
from ansible_operator.runner.memory import OutOfMemory, oom_file, oom_kills

V2 = "30 24 0:26 {} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1 = "35 31 0:32 {} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
UNIFIED = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw"
OTHER = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"

LAYOUTS = {
    "v2, namespace": (["0::/"], [V2.format("/")], "memory.events"),
    "v2, nested": (["0::/a.slice/x.service"], [V2.format("/")], "a.slice/x.service/memory.events"),
    "v2, path of the host": (["0::/pods/p/c"], [V2.format("/pods/p/c")], "memory.events"),
    "v1, path of the host": (
        ["4:memory:/docker/c", "0::/"],
        [OTHER, V1.format("/docker/c"), UNIFIED],
        "memory/memory.oom_control",
    ),
    "v1, nested, beside v2": (
        ["2:cpu,cpuacct:/", "0::/", "4:memory:/a/b"],
        [UNIFIED, OTHER, V1.format("/")],
        "memory/a/b/memory.oom_control",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_where_the_kernel_counts(tmp_path: Path, layout: str) -> None:
    groups, mounts, name = LAYOUTS[layout]
    (tmp_path / "cgroup").write_text("\n".join(groups) + "\n")
    (tmp_path / "mountinfo").write_text("\n".join(mounts) + "\n")
    assert oom_file(tmp_path, tmp_path) is None
    file = tmp_path / "sys/fs/cgroup" / name
    file.parent.mkdir(parents=True)
    file.touch()
    assert oom_file(tmp_path, tmp_path) == file


def test_a_machine_without_cgroups(tmp_path: Path) -> None:
    assert oom_file(tmp_path) is None


COUNTS = {
    "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n": 2,
    "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n": 4,
    "oom_kill_disable 0\nunder_oom 0\n": 0,
}


@pytest.mark.parametrize("text", COUNTS, ids=["v2", "v1", "v1 of an old kernel"])
def test_the_count(tmp_path: Path, text: str) -> None:
    (tmp_path / "events").write_text(text)
    assert oom_kills(tmp_path / "events") == COUNTS[text]


def test_each_kill_explains_one_death() -> None:
    kills = [3]
    watch = OutOfMemory(lambda: kills[0])
    assert not watch.explains(), "those of earlier times"
    kills[0] = 5
    assert [watch.explains(), watch.explains(), watch.explains()] == [True, True, False]


def test_a_kill_of_a_task_does_not_explain_a_death_long_after(monkeypatch: pytest.MonkeyPatch) -> None:
    now, kills = [100.0], [0]
    monkeypatch.setattr(memory.time, "monotonic", lambda: now[0])
    watch = OutOfMemory(lambda: kills[0])
    kills[0] = 1
    watch.look()
    now[0] += 60
    assert not watch.explains()
