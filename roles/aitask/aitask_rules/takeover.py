"""Fields of a pod template that others have written since, made the template's own before it is applied again.

Server-side apply takes away only what its own field manager owns. What an act (a patch, by another manager) has put
there would stay for ever, and where one of two fields excludes the other (`value` and `valueFrom` of an environment
variable) no apply would be accepted any more. So their ownership is moved first, as `kubectl apply --server-side` does
with that of the client-side apply before it.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from .owned import FIELD_MANAGER
from .target import LAST_ACTION
from .values import items, mapping


def taking(found: Mapping[str, Any], everything: bool) -> dict[str, Any] | None:
    """The patch that moves them; None if there is nothing to move. Either what our own acts have written, or
    `everything` that anybody has."""
    meta = mapping(found.get("metadata"))
    entries: list[Any] = copy.deepcopy(list(items(meta.get("managedFields"))))
    ours = next((one for one in entries if _is_ours(one)), None)
    others = [one for one in _writers(entries) if everything or _has_acted(one)]
    if ours is None or not others:
        return None
    for entry in others:
        written = entry["fieldsV1"]["f:spec"].pop("f:template")
        _merge(ours["fieldsV1"].setdefault("f:spec", {}).setdefault("f:template", {}), written)
    names = {key: meta.get(key) for key in ("name", "namespace", "resourceVersion")}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**names, "managedFields": entries}}


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply"


def _writers(entries: list[Any]) -> Iterator[dict[str, Any]]:
    """Those that have written into the pod template, but for ours."""
    for entry in entries:
        if not _is_ours(entry) and "f:template" in mapping(mapping(entry.get("fieldsV1")).get("f:spec")):
            yield entry


def _has_acted(entry: Mapping[str, Any]) -> bool:
    notes = mapping(mapping(mapping(entry.get("fieldsV1")).get("f:metadata")).get("f:annotations"))
    return f"f:{LAST_ACTION}" in notes


def _merge(into: dict[str, Any], more: Any) -> None:
    for key, value in mapping(more).items():
        _merge(into.setdefault(key, {}), value)
