"""What of a definition has become narrower: each thing that a stored object, or a client of today, may break on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

# A bound, and whether it narrows by growing. Absent: no bound.
_LOWER = ("minimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "maxLength", "maxItems", "maxProperties")
# Whatever is not the same as before may refuse what was let through; only to go is harmless.
_EXACT = (
    "pattern", "format", "multipleOf", "not", "allOf", "anyOf", "oneOf", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
)  # fmt: skip
_ONLY_IF_TRUE = ("exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "x-kubernetes-embedded-resource")
# What lets more through: to go is what narrows.
_WIDENING = ("nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")


def narrowed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Faults of the new definition against the old one, each as `field: what, and the cure`."""
    name = new["metadata"]["name"]
    served = {one["name"]: one for one in new["spec"]["versions"] if one["served"]}
    faults = [
        f"{name}: {field} changed from {old['spec'][field]!r} to {new['spec'][field]!r}; objects are lost by that"
        for field in ("group", "scope")
        if old["spec"][field] != new["spec"][field]
    ]
    for version in (one for one in old["spec"]["versions"] if one["served"]):
        if version["name"] not in served:
            faults.append(f"{name}: version {version['name']} is no longer served; keep serving it")
            continue
        before, after = (one["schema"]["openAPIV3Schema"] for one in (version, served[version["name"]]))
        faults += [f"{name} {version['name']}: {fault}" for fault in _schema(before, after, "")]
    return faults


def _schema(old: Schema, new: Schema, path: str) -> Iterator[str]:
    yield from _values(old, new, path)
    yield from _rules(old, new, path)
    yield from _required(old, new, path)
    before, after = old.get("properties", {}), new.get("properties", {})
    for key in before:
        if key in after:
            yield from _schema(before[key], after[key], f"{path}.{key}")
        elif not new.get("x-kubernetes-preserve-unknown-fields"):
            yield f"{path}.{key} is gone; what is stored there would be dropped: keep the field"
    for key, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        yield from _below(old.get(key), new.get(key), f"{path}{suffix}")


def _below(old: Any, new: Any, path: str) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _schema(old, new, path)
    elif new not in (None, True) and old != new:
        yield f"{path}: anything was allowed, and now a schema holds; take it away"
    elif old not in (None, True, False) and new is None:
        yield f"{path}: what is stored there would be dropped; keep its schema"


def _required(old: Schema, new: Schema, path: str) -> Iterator[str]:
    """OLM looks at objects as they are stored: a default of the new schema does not help a required field."""
    for key in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
        yield f"{path}.{key} is required now; leave it optional, a default does not help"


def _values(old: Schema, new: Schema, path: str) -> Iterator[str]:
    if old.get("type") != new.get("type") and new.get("type") is not None:
        yield f"{path}: type changed from {old.get('type')} to {new['type']}; add another field instead"
    if "enum" in new and (gone := [one for one in old.get("enum", ["anything"]) if one not in new["enum"]]):
        yield f"{path}: enum no longer has {', '.join(map(str, gone))}; keep every value"
    for keys, sign in ((_LOWER, 1), (_UPPER, -1)):
        for key in keys:
            if key in new and (key not in old or sign * new[key] > sign * old[key]):
                yield f"{path}: {key} narrowed from {old.get(key, 'none')} to {new[key]}; keep the bound"
    yield from _words(old, new, path)


def _words(old: Schema, new: Schema, path: str) -> Iterator[str]:
    for key in _EXACT:
        if key in new and new[key] != old.get(key):
            yield f"{path}: {key} changed from {old.get(key, 'none')!r} to {new[key]!r}; keep it or drop it"
    for key in _ONLY_IF_TRUE:
        if new.get(key) and not old.get(key):
            yield f"{path}: {key} is new; take it away"
    for key in _WIDENING:
        if old.get(key) and not new.get(key):
            yield f"{path}: {key} is gone; keep it"


def _rules(old: Schema, new: Schema, path: str) -> Iterator[str]:
    """A CEL rule that is not word for word an old one may refuse more. Rules on new fields are not looked at."""
    before = {one["rule"] for one in old.get("x-kubernetes-validations", ())}
    for rule in new.get("x-kubernetes-validations", ()):
        if rule["rule"] not in before:
            yield f"{path}: a new rule, {rule['rule']!r}; put it on a new field, or let the operator tell it"
