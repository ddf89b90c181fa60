"""Action patchResources: raise what one container of the target asks for and may use, up to the maximum."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from .model import Change, Hold, Raise, Wish
from .values import mapping, parse_quantity

_MIB = 2**20


def raise_resources(wish: Wish) -> Change | Hold:
    """Request and limit grow by the same percent; what is at the maximum already, or over it, stays as it is."""
    target, name = wish.target, wish.spec.container_to_raise
    container = next((found for found in target.containers if found.get("name") == name), None)
    if container is None:
        return Hold("ContainerNotFound", f"{target.name} has no container {name}; correct patchResources.container")
    resources = mapping(container.get("resources"))
    grown: dict[str, dict[str, str]] = {}
    before, after = [], []
    for wanted in wish.spec.raises:
        old = {kind: mapping(resources.get(kind)).get(wanted.resource) for kind in ("requests", "limits")}
        if old == {"requests": None, "limits": None}:
            return Hold("MissingRequests", f"container {name} asks for no {wanted.resource} that could be raised")
        new = {kind: _raised(text, wanted) for kind, text in old.items() if text is not None}
        if any(amount is None for amount in new.values()):
            return Hold("MissingRequests", f"{wanted.resource} of container {name} is no quantity that could be raised")
        changed = {kind: str(text) for kind, text in new.items() if text != old[kind]}
        for kind, text in changed.items():
            grown.setdefault(kind, {})[wanted.resource] = text
        if changed:
            before.append(_words(wanted.resource, old))
            after.append(_words(wanted.resource, {**old, **changed}))
    if not grown:
        limits = ", ".join(f"{wanted.resource} {wanted.most_text}" for wanted in wish.spec.raises)
        return Hold("AtMaximum", f"container {name} is at its maximum ({limits})")
    origin, goal = ", ".join(before), ", ".join(after)
    return Change(
        origin=origin,
        goal=goal,
        body={"template": {"spec": {"containers": [{"name": name, "resources": grown}]}}},
        words=f"raised {name}: {origin} -> {goal}",
        intends=f"raise container {name} of {target.name}: {origin} -> {goal}",
    )


def _raised(text: Any, wanted: Raise) -> str | None:
    """One amount after one act, as it is written in a manifest; None if it is no quantity."""
    amount = parse_quantity(text)
    if amount is None or amount <= 0:
        return None
    if amount >= wanted.most:
        return str(text)
    goal = amount * (100 + wanted.percent) / 100
    rounded = _rounded(goal, wanted.resource)
    return wanted.most_text if rounded >= wanted.most else _written(rounded, wanted.resource)


def _rounded(amount: Fraction, resource: str) -> Fraction:
    """Up, to what people write: thousandths of a core, MiB."""
    if resource == "cpu":
        return Fraction(ceil(amount * 1000), 1000)
    return Fraction(ceil(amount / _MIB) * _MIB) if amount >= _MIB else Fraction(ceil(amount))


def _written(amount: Fraction, resource: str) -> str:
    if resource == "cpu":
        return f"{int(amount * 1000)}m"
    return f"{int(amount / _MIB)}Mi" if amount >= _MIB else str(int(amount))


def _words(resource: str, amounts: Mapping[str, Any]) -> str:
    """`cpu 100m/200m`: request and limit, `-` for one that is not set."""
    return f"{resource} {amounts.get('requests') or '-'}/{amounts.get('limits') or '-'}"
