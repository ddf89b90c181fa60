"""The values of the chart, with the comments that stand above them in values.yaml."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

_KEY = re.compile(r"^( *)([A-Za-z]\w*):")
_COMMENT = re.compile(r"^ *# ?(.*)$")


@dataclass(frozen=True)
class Value:
    """A key of values.yaml with a comment of its own; ``path`` as Helm's --set has it."""

    path: str
    comment: str
    default: Any


def documented(text: str) -> list[Value]:
    """In the order of the file. A key without a comment belongs to the value above it."""
    values = yaml.safe_load(text)
    return [Value(path, comment, _at(values, path)) for path, comment in _commented(text)]


def leaves(text: str) -> list[Value]:
    """Those that hold no other documented value."""
    found = documented(text)
    return [one for one in found if not any(other.path.startswith(f"{one.path}.") for other in found)]


def uncommented(text: str) -> list[str]:
    """Paths that no comment covers: neither their own, nor that of the value which they are a part of."""
    covered = [one.path for one in leaves(text)]
    everything = _paths(yaml.safe_load(text))
    parents = {one.path for one in documented(text)}
    return [
        path
        for path in everything
        if path not in parents and not any(path == one or path.startswith(f"{one}.") for one in covered)
    ]


def table(text: str) -> str:
    """The values as a table of Markdown."""
    whole = {one.path for one in leaves(text)}
    lines = ["| value | default | meaning |\n", "|---|---|---|\n"]
    for one in documented(text):
        shown = f"`{json.dumps(one.default, ensure_ascii=False)}`" if one.path in whole else ""
        lines.append(f"| `{one.path}` | {_cell(shown)} | {_cell(one.comment)} |\n")
    return "".join(lines)


def _commented(text: str) -> Iterator[tuple[str, str]]:
    stack: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in text.splitlines():
        if (remark := _COMMENT.match(line)) is not None:
            comment.append(remark[1])
            continue
        if (key := _KEY.match(line)) is not None:
            depth = len(key[1])
            stack = [one for one in stack if one[0] < depth] + [(depth, key[2])]
            if comment:
                yield ".".join(name for _, name in stack), " ".join(comment)
        comment = []


def _paths(values: dict[str, Any], before: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield before + name
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{name}.")


def _at(values: Any, path: str) -> Any:
    for name in path.split("."):
        values = values[name]
    return values


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
