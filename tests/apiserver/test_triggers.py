"""What leads to a run and what does not: selectors, deletions, namespaces (contract 4.3, 4.7; cases D7, D8)."""

from pathlib import Path

import pytest

from tests.support.api import Api, succeeded, succeeded_at_generation
from tests.support.kinds import CONFIG_MAP, OTHER, THING
from tests.support.operator import Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver


def test_an_object_that_leaves_the_selector_is_left_alone_and_one_that_enters_it_is_run(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    selector = {"selector": {"matchLabels": {"tier": "gold"}}}
    finalizer = {"finalizer": {"name": f"{namespace}.example.com/end", "vars": {"ending": True}}}
    project.watches(
        {**THING.watch, **selector, "role": "make", "reconcilePeriod": "3s"},
        {**OTHER.watch, **selector, "role": "make", **finalizer},
    )
    project.role(
        "make",
        """
        - ansible.builtin.command:
            cmd: kubectl apply -f -
            stdin: '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ ansible_operator_meta.name }}"}}'
        """,
    )
    gold, silver = {"metadata": {"labels": {"tier": "gold"}}}, {"metadata": {"labels": {"tier": "silver"}}}
    operator = start()
    for name in ("leaver", "clock"):
        api.create(THING, THING.object(name, namespace, **gold))
    api.create(THING, THING.object("comer", namespace, **silver))
    api.create(OTHER, OTHER.object("ended", namespace, **gold))
    for kind, name in ((THING, "leaver"), (OTHER, "ended")):
        api.wait(kind, name, namespace, succeeded)
    operator.wait_runs(1, "clock")

    api.patch(THING, "leaver", namespace, silver)
    api.patch(OTHER, "ended", namespace, silver)
    api.patch(CONFIG_MAP, "leaver", namespace, {"data": {"touched": "yes"}})
    api.patch(THING, "clock", namespace, {"spec": {"later": True}})
    api.wait(THING, "clock", namespace, succeeded_at_generation)  # so what was changed before it has been seen as well
    left, ticks = len(operator.runs("leaver")), len(operator.runs("clock"))
    operator.wait_runs(ticks + 2, "clock")  # its periods are the leaver's
    assert len(operator.runs("leaver")) == left
    assert operator.runs("comer") == []

    api.patch(THING, "comer", namespace, gold)
    api.wait(THING, "comer", namespace, succeeded)

    api.delete(OTHER, "ended", namespace)
    api.wait_gone(OTHER, "ended", namespace)
    assert [run.finalizing for run in operator.runs("ended")] == [False, True], "a finalizer outlives the label"


def test_an_object_deleted_during_its_run_is_run_to_the_end_then_finalized_once(
    api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    finalizer = f"{namespace}.example.com/end"
    project.watches(
        {
            **THING.watch,
            "role": "slow",
            "vars": {"gate": str(tmp_path / "gate"), "marker": str(tmp_path / "marker")},
            "finalizer": {"name": finalizer, "role": "end", "vars": {"word": "bye"}},
        },
        {**OTHER.watch, "role": "slow", "vars": {"gate": str(tmp_path / "gate")}},
    )
    project.role("slow", '- ansible.builtin.wait_for: {path: "{{ gate }}", timeout: 600}')
    project.role(
        "end",
        """
        - ansible.builtin.shell: echo {{ word }} {{ _test_example_com_thing.metadata.deletionTimestamp }} >>{{ marker }}
        """,
    )
    operator = start()
    foreign = "example.com/foreign"
    for kind in (THING, OTHER):
        api.create(kind, kind.object("one", namespace, metadata={"finalizers": [foreign]} if kind == THING else {}))
        operator.wait_log("run started", name="one", gvk=kind.gvk)
        api.delete(kind, "one", namespace)
    api.wait_gone(OTHER, "one", namespace)
    (tmp_path / "gate").touch()

    api.wait(THING, "one", namespace, lambda obj: obj["metadata"]["finalizers"] == [foreign], "ours is off, not theirs")
    runs = operator.runs("one", THING.gvk)
    assert [(run.finalizing, run.succeeded) for run in runs] == [(False, True), (True, True)]
    assert runs[0].ended and runs[0].ended <= runs[1].started
    assert (tmp_path / "marker").read_text().startswith("bye 20")
    api.patch(THING, "one", namespace, {"metadata": {"finalizers": None}})
    api.wait_gone(THING, "one", namespace)
    operator.wait_runs(1, "one", OTHER.gvk)
    until(lambda: not operator.run_directory(THING.api_version, "Thing", namespace, "one").exists(), "it is purged")
    assert operator.records(level="error") == [] and operator.records("reconcile failed") == []
    assert len(operator.runs("one")) == 3


def test_objects_outside_the_watched_namespaces_are_ignored(
    api: Api, namespace: str, namespace2: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "nothing"})
    project.role("nothing", "- ansible.builtin.meta: noop")
    api.create(THING, THING.object("outside", "default"))
    try:
        operator = start(watch=f" {namespace} ,{namespace2},")
        for number, where in enumerate((namespace, namespace2)):
            api.create(THING, THING.object(f"inside{number}", where))
        for number, where in enumerate((namespace, namespace2)):
            api.wait(THING, f"inside{number}", where, succeeded)
        api.patch(THING, "outside", "default", {"spec": {"touched": True}})
        api.create(THING, THING.object("last", namespace))
        api.wait(THING, "last", namespace, succeeded)
        assert {run.name for run in operator.runs()} == {"inside0", "inside1", "last"}
        outside = api.get(THING, "outside", "default")
        assert outside and "status" not in outside
    finally:
        api.delete(THING, "outside", "default")
