"""Times, quantities and numbers as Kubernetes spells them."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil
from typing import Any

_SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,3})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)")


def parse_quantity(text: Any) -> Fraction | None:
    """The exact number, or None for what is no finite quantity: an unreadable value is missing data, never 0."""
    found = _QUANTITY.fullmatch(str(text).strip())
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    if len(number) > 40 or abs(int(exponent or 0)) > 30:
        return None  # beyond any quantity that a server accepts
    return Fraction(number) * (Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix or ""])


def format_value(value: Fraction) -> str:
    """At most three decimals, for people; comparisons use the exact value. What has no end of digits is shortened."""
    if abs(value) >= 10**15:
        return f"{float(value):.6g}"
    return f"{float(value):.3f}".rstrip("0").rstrip(".")


def parse_time(text: Any) -> datetime | None:
    if not isinstance(text, str) or not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # also a moment that is none in UTC
        return None


def format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_of_day(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%H:%M:%SZ")


def go_duration(seconds: float) -> str:
    """Rounded up: a pass that comes a moment early finds that its sample is not due. Only tests wait less than 5 s."""
    if seconds >= 5:
        return f"{ceil(round(seconds, 6))}s"
    milliseconds = ceil(round(seconds * 1000, 3))
    return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one: what the API leaves out reads like what it sends empty."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def one_line(text: Any, limit: int) -> str:
    """Words of others, as they may stand in a status: on one line, cut, and no template to any version of Ansible."""
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in str(text)[: 8 * limit]).split())
    words = re.sub(r"\{(?=[{%#])", "{ ", words)
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


def whole(value: Any) -> int:
    """Integer status fields: absent means 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def first(result: Any) -> Mapping[str, Any]:
    """The object that a reading task found, or the first of several; empty if there is none."""
    return mapping(next(iter(items(mapping(result).get("resources"))), None))
