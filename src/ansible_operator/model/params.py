"""The extra vars of a run, in the Go operator's order (contract 4.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible_operator.model.casing import snake_keys
from ansible_operator.model.charts import VARIABLE, release_of
from ansible_operator.model.gvk import GVK, Object
from ansible_operator.model.watch import Watch

_UNSAFE = "__ansible_unsafe"


def extra_vars(watch: Watch, obj: Object, *, finalizing: bool) -> dict[str, Any]:
    """Spec fields, then ``ansible_operator_meta``, then the whole object and its raw spec, then the vars of the watch.

    Later wins. ``finalizing`` adds the vars of the finalizer. Values from the object are marked unsafe where the
    watch asks for it, so that Ansible never templates them; the vars of the watch never are.

    A chart's playbook gets what it needs in one variable, and no field of the spec as a variable of its own: the names
    of values are the chart's, and might be those of Ansible's settings.
    """
    if watch.chart is not None:
        release = release_of(watch, watch.chart, obj, finalizing=finalizing)
        return {"ansible_operator_meta": _meta(obj), VARIABLE: mark_unsafe(release)}
    spec = obj.get("spec")
    spec = spec if isinstance(spec, Mapping) else {}
    name = variable_name(watch.gvk)
    guard = mark_unsafe if watch.mark_unsafe else lambda value: value
    variables: dict[str, Any] = dict(guard(snake_keys(spec) if watch.snake_case_parameters else dict(spec)))
    variables["ansible_operator_meta"] = _meta(obj)
    variables[name] = guard(obj)
    variables[f"{name}_spec"] = guard(spec)
    variables.update(watch.vars)
    if finalizing and watch.finalizer:
        variables.update(watch.finalizer.vars)
    return variables


def _meta(obj: Object) -> dict[str, str]:
    meta = obj["metadata"]
    return {"namespace": meta.get("namespace", ""), "name": meta["name"]}


def variable_name(gvk: GVK) -> str:
    """``_<group>_<kind>``: ``_aiops_example_com_task``; for the core group ``__secret``."""
    return f"_{re.sub('[.-]', '_', gvk.group)}_{gvk.kind.lower()}"


def mark_unsafe(value: Any) -> Any:
    """The value with every string in it wrapped so that Ansible takes it literally; keys and numbers stay."""
    if isinstance(value, str):
        return {_UNSAFE: value}
    if isinstance(value, Mapping):
        return {key: mark_unsafe(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mark_unsafe(item) for item in value]
    return value
