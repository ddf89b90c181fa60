"""Nothing goes from run to run: not in the memory of the parent or of a later child, not in files or environment."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.model.events import RunEnd
from ansible_operator.model.watch import Content
from ansible_operator.runner.interface import Access, RunRequest
from ansible_operator.runner.pool import WarmRunner
from ansible_operator.runner.processes import processes_of
from localcluster import Cluster
from localcluster.pytest_plugin import cluster
from tests.warm.memory import found_in
from tests.warm.runs import IDENTS, NO_CLUSTER, OWNER, PATIENT, environment

__all__ = ["cluster"]

pytestmark = pytest.mark.slow
PLAY = "- hosts: localhost\n  gather_facts: false\n  tasks:\n"
_PATIENCE = 180.0
_VAULTED = """\
    - copy: {content: '{{ vaulted | vault(password) }}', dest: '{{ playbook_dir }}/vaulted.yml'}
      vars: {vaulted: "in_vault: {{ canaries.vault }}\\n", password: rosebud}
      no_log: true
    - include_vars: vaulted.yml
    - debug: {msg: '{{ in_vault }}'}
"""
_EVERYWHERE = f"""\
    - debug: {{msg: '{{{{ canaries.variable }}}}'}}
    - ping: {{data: '{{{{ canaries.module }}}}'}}
    - shell: 'echo $CANARY > $TMPDIR/left-behind'
      environment: {{CANARY: '{{{{ canaries.environment }}}}'}}
    - ping:
      environment: {{CANARY: '{{{{ canaries.environment }}}}'}}
    - set_fact: {{kept: '{{{{ canaries.fact }}}}', cacheable: true}}
    - copy: {{content: '{{{{ canaries.file }}}}', dest: '{{{{ playbook_dir }}}}/f.txt'}}
    - debug: {{msg: '{{{{ lookup("file", "f.txt") }}}}'}}
{_VAULTED}"""
_READ_SECRET = """\
    - kubernetes.core.k8s:
        definition: {apiVersion: v1, kind: Secret, metadata: {name: canary, namespace: default}, stringData: {word: '{{ canaries.secret }}'}}
    - kubernetes.core.k8s_info: {api_version: v1, kind: Secret, name: canary, namespace: default}
      register: read
    - debug: {msg: '{{ read.resources[0].data.word | b64decode }} {{ lookup("kubernetes.core.k8s", kind="Secret", resource_name="canary", namespace="default").data.word }}'}
    - kubernetes.core.k8s: {state: absent, api_version: v1, kind: Secret, name: canary, namespace: default}
"""  # noqa: E501 - a task in one line reads better than one cut to fit
_WAITS = """\
    - shell: env; ls -a $TMPDIR . ~/.ansible 2>/dev/null
    - debug: {msg: '{{ vars }} {{ canaries.later }} {{ ansible_facts }}'}
    - copy: {content: here, dest: '{{ playbook_dir }}/here'}
    - wait_for: {path: '{{ playbook_dir }}/go', timeout: 900, sleep: 1}
"""


class Runs:
    """Runs in a directory."""

    def __init__(self, directory: Path, runner: WarmRunner, access: Access) -> None:
        self.directory = directory
        self.runner = runner
        self._access = access

    def start(self, tasks: str, canaries: Mapping[str, str]) -> tuple[str, asyncio.Task[tuple[RunEnd, list[Any]]]]:
        """Begin a run: its name, and its end."""
        book = self.directory / "playbook.yml"
        book.write_text(PLAY + tasks)
        ident = next(IDENTS)
        request = RunRequest(
            self.directory / "run", ident, OWNER, Content(playbook=book), {"canaries": canaries}, self._access
        )
        return ident, asyncio.create_task(self._run(request))

    async def _run(self, request: RunRequest) -> tuple[RunEnd, list[Any]]:
        events: list[Any] = []
        return await self.runner.run(request, events.append), events


@pytest.fixture
async def runner(tmp_path: Path) -> AsyncIterator[WarmRunner]:
    (tmp_path / "password").write_text("rosebud")
    runner = WarmRunner(environment(), 2, f"--vault-password-file {tmp_path}/password", PATIENT)
    await runner.start()
    assert await runner.parent().wait_ready(120)
    yield runner
    await runner.stop()


def _canaries(*names: str) -> dict[str, str]:
    return {name: f"{name}-{secrets.token_hex(12)}" for name in names}


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE):
        while not holds():  # noqa: ASYNC110 - a file sends no event
            await asyncio.sleep(0.05)


async def _nothing_is_left(runs: Runs, tasks: str, names: tuple[str, ...]) -> None:
    """The two runs are to be of one parent. Another is started for a change in a library, or on a busy machine."""
    for _ in range(3):
        before = runs.runner.warm_runs
        await _run_twice(runs, tasks, names)
        if runs.runner.warm_runs == before + 2:
            return
        await runs.runner.parent().wait_ready(120)
    raise AssertionError("they did not run warm")


async def _run_twice(runs: Runs, tasks: str, names: tuple[str, ...]) -> None:
    for mark in ("here", "go"):
        (runs.directory / mark).unlink(missing_ok=True)
    earlier, later = _canaries(*names), _canaries("later")
    _, first = runs.start(tasks, earlier)
    end, events = await first
    assert end.exit_code == 0, end.output_tail
    assert all(canary in str(events) for name, canary in earlier.items() if name in {"variable", "vault", "secret"})
    ident, second = runs.start(_WAITS, later)
    await _until((runs.directory / "here").exists)
    children = processes_of(ident)
    seen = {pid: await asyncio.to_thread(found_in, pid, earlier | later) for pid in children}
    (runs.directory / "go").touch()
    end, events = await second
    assert end.exit_code == 0, end.output_tail
    assert set.union(*seen.values()) == {"later"}  # so the search does find what is there
    assert await asyncio.to_thread(found_in, runs.runner.parent().pid, earlier | later) == set()
    assert not any(canary in str(events) for canary in earlier.values())
    assert "left-behind" not in str(events)


async def test_nothing_of_a_run_is_in_a_later_one(runner: WarmRunner, tmp_path: Path) -> None:
    names = ("variable", "module", "environment", "fact", "file", "vault")
    await _nothing_is_left(Runs(tmp_path, runner, NO_CLUSTER), _EVERYWHERE, names)


@pytest.mark.apiserver
async def test_nor_of_a_secret_that_it_has_read(runner: WarmRunner, tmp_path: Path, cluster: Cluster) -> None:
    token = (cluster.directory / "admin.token").read_text().strip()
    access = Access(cluster.server, cluster.ca_file, token, "default")
    await _nothing_is_left(Runs(tmp_path, runner, access), _READ_SECRET, ("secret",))


async def test_temporary_files_end_with_the_run_and_its_background_jobs(runner: WarmRunner, tmp_path: Path) -> None:
    runs = Runs(tmp_path, runner, NO_CLUSTER)
    job = f"until [ -e {tmp_path}/go ]; do sleep 0.2; done; cat $TMPDIR/mine > {tmp_path}/read"
    tasks = f"    - shell: echo mine > $TMPDIR/mine; echo $TMPDIR\n      register: t\n    - debug: {{msg: 'in={{{{ t.stdout }}}}='}}\n    - shell: '{job}'\n      async: 900\n      poll: 0\n"  # noqa: E501
    _, run = runs.start(tasks, {})
    end, events = await run
    assert end.exit_code == 0, end.output_tail
    temporary = Path(str(events).split("in=")[1].split("=")[0])
    assert (temporary / "mine").exists()
    (tmp_path / "go").touch()
    await _until(lambda: not temporary.exists())
    assert (tmp_path / "read").read_text() == "mine\n"
