"""Reading fields of a mapping that a person wrote; faults are collected, each naming the field and the cure."""

from collections.abc import Mapping
from typing import Any

from .values import mapping


def part(raw: Mapping[str, Any], name: str, where: str, faults: list[str]) -> Mapping[str, Any]:
    value = raw.get(name)
    if value is not None and not isinstance(value, Mapping):
        faults.append(f"{where}{name} must be a mapping")
    return mapping(value)


def unknown(raw: Mapping[str, Any], known: tuple[str, ...], where: str, faults: list[str]) -> None:
    for name in raw:
        if name not in known:
            faults.append(f"{where}{str(name)[:63]} is not known; known are {', '.join(known)}")


def number(raw: Mapping[str, Any], name: str, where: str, default: Any, most: int, faults: list[str]) -> Any:
    """A whole number from 1 to `most`, or the default where nothing stands."""
    value = raw.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        faults.append(f"{where}{name} must be a whole number from 1 to {most}")
        return default
    return value
