"""Which changes lead to a run (contract 4.3, case D7)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.model.gvk import GVK
from ansible_operator.model.predicates import dependent_update_matters, primary_update_matters
from ansible_operator.model.selectors import Requirement, Selector
from ansible_operator.model.watch import Content, Finalizer, Watch

ANY = Watch(GVK("aiops.example.com", "v1", "AITask"), Content(role=Path("/roles/task")))
GOLD = replace(ANY, selector=Selector((Requirement("tier", "In", ("gold",)),)))
NOTES = replace(ANY, watch_annotations_changes=True)
NOW = "2026-01-31T12:00:00Z"
LABELLED, NOTED, NEXT = {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"generation": 2}


def task(**metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "uid": "1", "resourceVersion": "1", "generation": 1, **metadata},
        "spec": {"x": 1},
        "status": {"phase": "old"},
    }


def config_map(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "uid": "1", "resourceVersion": "1", **metadata}, "data": {"k": "v"}}


def after(old: dict[str, Any], /, **changes: Any) -> dict[str, Any]:
    """The object a write later; ``metadata`` is merged, other parts replace."""
    new = deepcopy(old)
    new["metadata"] |= {"resourceVersion": "2", "managedFields": [{"time": NOW}], **changes.pop("metadata", {})}
    return new | changes


GOLDEN = task(labels={"tier": "gold"})
SILVER = task(labels={"tier": "silver"})


@pytest.mark.parametrize(
    ("watch", "old", "new", "matters"),
    [
        pytest.param(ANY, task(), after(task(), metadata=NEXT), True, id="generation"),
        pytest.param(ANY, task(), after(task()), False, id="managed fields"),
        pytest.param(ANY, task(), after(task(), status={"phase": "new"}), False, id="status"),
        pytest.param(ANY, task(), after(task(), metadata=LABELLED), False, id="label alone"),
        pytest.param(ANY, task(), after(task(), metadata=NOTED), False, id="annotation, not asked for"),
        pytest.param(NOTES, task(), after(task(), metadata=NOTED), True, id="annotation added"),
        pytest.param(NOTES, task(**NOTED), after(task()), True, id="annotation gone"),
        pytest.param(NOTES, task(annotations={}), after(task()), False, id="no annotations in another way"),
        pytest.param(NOTES, task(**NOTED), after(task(**NOTED)), False, id="same annotations"),
        pytest.param(ANY, task(), after(task(), metadata={"finalizers": ["x/y"]}), False, id="finalizer alone"),
        pytest.param(ANY, task(), after(task(), metadata={"deletionTimestamp": NOW}), True, id="deletion"),
        pytest.param(
            ANY,
            task(deletionTimestamp=NOW),
            after(task(deletionTimestamp=NOW), metadata={"finalizers": []}),
            False,
            id="still being deleted",
        ),
        pytest.param(GOLD, GOLDEN, after(GOLDEN, metadata=NEXT), True, id="generation, selected"),
        pytest.param(GOLD, SILVER, after(SILVER, metadata=NEXT), False, id="generation, not selected"),
        pytest.param(GOLD, task(), after(task(), metadata=NEXT), False, id="generation, no labels"),
        pytest.param(GOLD, SILVER, after(GOLDEN), True, id="label brings it into the selector"),
        pytest.param(GOLD, GOLDEN, after(SILVER), False, id="label takes it out"),
        pytest.param(GOLD, GOLDEN, after(SILVER, metadata=NEXT), False, id="label takes it out, with a change"),
        pytest.param(ANY, config_map(), after(config_map(), data={"k": "w"}), True, id="no generation: data"),
        pytest.param(ANY, config_map(), after(config_map(), metadata=LABELLED), True, id="no generation: label"),
        pytest.param(
            ANY, config_map(), after(config_map(), metadata=NOTED), True, id="no generation: annotation"
        ),
        pytest.param(ANY, config_map(), after(config_map()), False, id="no generation: managed fields"),
        pytest.param(ANY, config_map(generation=0), after(config_map(generation=0), data={}), True, id="generation 0"),
    ],
)  # fmt: skip
def test_an_update_of_a_watched_object(watch: Watch, old: dict[str, Any], new: dict[str, Any], matters: bool) -> None:
    assert primary_update_matters(watch, old, new) is matters


def test_a_deletion_matters_outside_the_selector_since_our_finalizer_may_hold_the_object() -> None:
    """Else an object that was relabelled would be in deletion for ever."""
    watch = replace(GOLD, finalizer=Finalizer("x/ours"))
    held = task(labels={"tier": "silver"}, finalizers=["x/foreign", "x/ours"])
    deleted = after(held, metadata={"deletionTimestamp": NOW})
    assert primary_update_matters(watch, held, deleted)
    assert not primary_update_matters(watch, deleted, after(deleted, metadata={"finalizers": ["x/ours"]}))


@pytest.mark.parametrize(
    ("new", "matters"),
    [
        pytest.param(after(task(), spec={"x": 2}, metadata=NEXT), True, id="spec"),
        pytest.param(after(task(), metadata=LABELLED), True, id="label"),
        pytest.param(after(task(), metadata=NOTED), True, id="annotation"),
        pytest.param(after(task(), metadata={"ownerReferences": [{"uid": "9"}]}), True, id="owner"),
        pytest.param(after(task(), metadata={"deletionTimestamp": NOW}), True, id="deletion begun"),
        pytest.param(after(task(), extra={}), True, id="field without a name"),
        pytest.param(after(task()), False, id="version and managed fields"),
        pytest.param(after(task(), metadata={"managedFields": [{"manager": "other"}]}), False, id="managed fields"),
        pytest.param(after(task(), status={"phase": "new"}), False, id="status"),
        pytest.param(after({**task(), "status": {}}), False, id="status emptied"),
    ],
)  # fmt: skip
def test_an_update_of_a_dependent(new: dict[str, Any], matters: bool) -> None:
    assert dependent_update_matters(task(), new) is matters
