"""Finalizers where it is hard: a namespace that is going, and runs that fail, ask for another, or are killed."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.api import Api, conditions, failed, succeeded
from tests.support.kinds import CONFIG_MAP, NAMESPACE, OTHER, THING
from tests.support.operator import Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

END = """
- name: What to do this time
  ansible.builtin.set_fact:
    mode: "{{ lookup('ansible.builtin.file', mode_file) | trim }}"
- name: Clean up
  ansible.builtin.fail:
    msg: the backend says no
  when: mode == 'fail'
- name: Hang
  ansible.builtin.command: sleep 600
  when: mode == 'hang'
- name: Clean up in the cluster
  kubernetes.core.k8s:
    state: absent
    api_version: v1
    kind: ConfigMap
    namespace: "{{ ansible_operator_meta.namespace }}"
    name: outside
- name: Wait for the rest
  operator_sdk.util.requeue_after:
    time: 1s
  when: mode == 'requeue'
"""


def deleting(obj: dict[str, Any]) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def says_no(obj: dict[str, Any]) -> bool:
    """And not that it took too long, as a run may on a busy machine; then another follows."""
    return "the backend says no" in conditions(obj)["Failure"]["message"]


def test_a_namespace_that_goes_waits_for_finalizers_that_fail_requeue_and_hang_until_they_succeed(
    api: Api, namespace2: str, project: Project, start: Start, tmp_path: Path
) -> None:
    mode = tmp_path / "mode"
    mode.write_text("fail")
    common = {"vars": {"mode_file": str(mode)}}
    project.watches(
        {**THING.watch, **common, "role": "nothing", "finalizer": {"name": "test.example.com/end", "role": "end"}},
        {**OTHER.watch, **common, "role": "either", "finalizer": {"name": "test.example.com/e", "vars": {"end": True}}},
    )
    project.role("nothing", "- ansible.builtin.meta: noop")
    project.role("end", END)
    project.role("either", "- ansible.builtin.include_role: {name: end}\n  when: end | default(false)")
    operator = start("--run-timeout=15s", watch=namespace2)
    for kind in (THING, OTHER):
        api.create(kind, kind.object("one", namespace2))
        api.wait(kind, "one", namespace2, succeeded)
    api.create(CONFIG_MAP, CONFIG_MAP.object("outside", namespace2, metadata={"finalizers": ["example.com/hold"]}))

    api.delete(NAMESPACE, namespace2)
    for kind in (THING, OTHER):
        api.wait(kind, "one", namespace2, lambda obj: deleting(obj) and failed(obj) and says_no(obj), "it fails")

    mode.write_text("hang")
    for kind in (THING, OTHER):
        api.wait(
            kind,
            "one",
            namespace2,
            lambda obj: "longer than 15 s" in conditions(obj)["Failure"]["message"],
            "it was killed",
        )
        assert (api.get(kind, "one", namespace2) or {})["metadata"]["finalizers"], "a killed run finishes nothing"

    mode.write_text("requeue")
    for kind in (THING, OTHER):
        good = [run for run in operator.ended_runs("one", kind.gvk) if run.succeeded]
        until(
            lambda kind=kind, good=good: (  # type: ignore[misc]
                sum(bool(run.succeeded) for run in operator.ended_runs("one", kind.gvk)) >= len(good) + 2
            ),
            "it has asked twice for another run",
            120,
            [operator.check_alive],
        )
        assert (api.get(kind, "one", namespace2) or {})["metadata"]["finalizers"], "it is not done yet"

    mode.write_text("done")
    for kind in (THING, OTHER):
        api.wait_gone(kind, "one", namespace2)
        assert operator.runs("one", kind.gvk)[-1].finalizing
    api.patch(CONFIG_MAP, "outside", namespace2, {"metadata": {"finalizers": None}})
    api.wait_gone(NAMESPACE, namespace2, seconds=120)
    assert operator.complaints() == []
