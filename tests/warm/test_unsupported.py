"""Where Ansible is not the one that is known from within, every run goes cold, and the log says so once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ansible_operator.model.watch import Content
from ansible_operator.runner.interface import RunRequest
from ansible_operator.runner.pool import WarmRunner
from tests.warm.runs import IDENTS, NO_CLUSTER, OWNER, environment

pytestmark = pytest.mark.slow
PLAY = "- hosts: localhost\n  gather_facts: false\n  tasks: [{debug: {msg: hello}}, {ping: {}}]\n"
_ANOTHER_VERSION = "import ansible.release\nansible.release.__version__ = '2.99.0'\n"
_OTHER_INSIDES = """
import importlib.util, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "ansible.plugins.strategy":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            known = module.StrategyBase._queue_task
            def _queue_task(self, host, task, task_vars, play_context, novelty=None):
                return known(self, host, task, task_vars, play_context)
            module.StrategyBase._queue_task = _queue_task
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    ("change", "reason"),
    [(_ANOTHER_VERSION, "ansible-core 2.99.0"), (_OTHER_INSIDES, "StrategyBase._queue_task takes")],
)
async def test_runs_go_cold(tmp_path: Path, change: str, reason: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(change)
    (tmp_path / "playbook.yml").write_text(PLAY)
    path = os.pathsep.join(part for part in (str(tmp_path), os.environ.get("PYTHONPATH")) if part)
    runner = WarmRunner(environment(PYTHONPATH=path), 1)
    with capture_logs() as logs:
        await runner.start()
        assert not await runner.parent().wait_ready(120)
        codes = [await _run(runner, tmp_path) for _ in range(2)]
        await runner.stop()
    assert (codes, runner.warm_runs) == ([0, 0], 0)
    said = [entry["reason"] for entry in logs if entry["event"].startswith("runs go cold")]
    assert len(said) == 1
    assert reason in said[0]


async def _run(runner: WarmRunner, directory: Path) -> int:
    content = Content(playbook=directory / "playbook.yml")
    request = RunRequest(directory / "run", next(IDENTS), OWNER, content, {}, NO_CLUSTER)
    return (await runner.run(request, lambda _: None)).exit_code
