"""Which changes of which objects lead to a reconcile (contract 4.3)."""

from __future__ import annotations

from typing import Any

from ansible_operator.model.gvk import Object
from ansible_operator.model.watch import Watch


def labels_of(obj: Object) -> dict[str, str]:
    """The labels of an object, empty where there are none."""
    return obj["metadata"].get("labels") or {}


def primary_update_matters(watch: Watch, old: Object, new: Object) -> bool:
    """Whether an update of a watched object asks for a reconcile.

    A new generation does, so does any change of a kind without generations (Secrets, ConfigMaps), a new deletion
    timestamp, a label that brings the object into the selector, and, where asked for, a change of annotations.
    """
    old_meta, new_meta = old["metadata"], new["metadata"]
    if bool(old_meta.get("deletionTimestamp")) != bool(new_meta.get("deletionTimestamp")):
        return True  # whatever its labels are: our finalizer may be on it
    if not watch.selector.matches(labels_of(new)):
        return False
    if not watch.selector.matches(labels_of(old)):
        return True
    if not old_meta.get("generation") and not new_meta.get("generation"):
        return dependent_update_matters(old, new)
    if old_meta.get("generation") != new_meta.get("generation"):
        return True
    return watch.watch_annotations_changes and (old_meta.get("annotations") or {}) != (
        new_meta.get("annotations") or {}
    )


def dependent_update_matters(old: Object, new: Object) -> bool:
    """Whether an update of a dependent is more than noise of the server: status, versions, managed fields."""
    return _substance(old) != _substance(new)


def _substance(obj: Object) -> dict[str, Any]:
    noise = ("resourceVersion", "managedFields", "generation")
    meta = {key: value for key, value in obj["metadata"].items() if key not in noise}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": meta}
