"""A run that the kernel kills for memory: the status says so, and the operator goes on."""

import pytest

from tests.support.api import Api, conditions, failed, succeeded
from tests.support.kinds import THING
from tests.support.memory_group import memory_group
from tests.support.operator import Start
from tests.support.project import Project

pytestmark = pytest.mark.apiserver

GREEDY = """
    - name: Take far more memory than there is
      ansible.builtin.debug: {msg: "{{ ('x' * (mebibytes | int) * 1048576) | length }}"}
"""
WARM = "warm runs are ready"


def test_a_run_that_is_killed_for_memory_says_so_in_the_status(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "greedy"})
    project.role("greedy", GREEDY)
    with memory_group() as group:
        group.limit(900)
        with group.joined():
            operator = start("--max-concurrent-runs=2")
        operator.wait_log(WARM)
        api.create(THING, THING.object("greedy", namespace, spec={"mebibytes": 1500}))
        found = conditions(api.wait(THING, "greedy", namespace, failed))
        assert "killed by the kernel: out of memory" in found["Failure"]["message"]
        api.create(THING, THING.object("modest", namespace, spec={"mebibytes": 1}))
        api.wait(THING, "modest", namespace, succeeded)
        api.delete(THING, "greedy", namespace)
        api.wait_gone(THING, "greedy", namespace)
        assert operator.stop() == 0
