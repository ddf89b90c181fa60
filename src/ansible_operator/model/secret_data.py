"""Where the data of Secrets stands in results, arguments and texts. Pure; time and memory grow with the input only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

DATA_FIELDS = frozenset({"data", "stringData", "string_data"})
_KINDS = frozenset({"secret", "secrets", "secretlist"})
_NEUTRAL_KINDS = frozenset({"", "list"})
_PATHS = ("/data", "/stringData")

_YAML_KIND = re.compile(r"""^[\s-]*["']?kind["']?:\s*["']?Secret(List)?["']?\s*(#.*)?$""")
_YAML_FIELD = re.compile(r"""^(?P<indent>[\s-]*)["']?(data|stringData)["']?:\s*(?P<rest>.*)$""")
_YAML_ENTRY = re.compile(r"""^\s*["']?[-._A-Za-z0-9]+["']?:(\s+(?P<value>.*))?$""")
_FLOW_VALUE = re.compile(r""":\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,{}"'][^,{}]*)""")
_BLOCK_SCALAR = re.compile(r"^[|>][-+0-9]*$")


def belongs_to_secret(node: Mapping[Any, Any], inherited: bool | None) -> bool | None:
    """Whether a map is (part of) a Secret: True, False, or None where nothing says so.

    A ``kind`` decides, be it that of an object or of a module's arguments; without one what holds around it does.
    """
    kind = node.get("kind")
    if not isinstance(kind, str) or kind.lower() in _NEUTRAL_KINDS:
        return inherited
    return kind.lower() in _KINDS


def names_secret_data(operation: Mapping[Any, Any]) -> bool:
    """Whether an operation of a JSON patch is about data."""
    return str(operation.get("path") or "").startswith(_PATHS)


def secret_values(document: Any) -> Iterator[str]:
    """Every value of ``data`` and ``stringData`` of the Secrets in a document, as it stands there.

    Strings that are JSON or YAML themselves are looked into. Where a document shows a Secret anywhere, ``data`` that
    no kind claims (a diff) counts as a Secret's as well. Not recursive, so no nesting is too deep for it.
    """
    unclaimed: list[Any] = []
    found = False
    stack: list[tuple[Any, bool | None]] = [(document, None)]
    while stack:
        node, secret = stack.pop()
        if isinstance(node, Mapping):
            secret = belongs_to_secret(node, secret)
            found = found or secret is True
            data = [value for key, value in node.items() if key in DATA_FIELDS and isinstance(value, Mapping)]
            if secret:
                yield from _leaves([data, node.get("value") if names_secret_data(node) else None])
            elif secret is None:
                unclaimed += data
            stack.extend((value, secret) for key, value in node.items() if not (secret and key in DATA_FIELDS))
        elif isinstance(node, list | tuple):
            stack.extend((item, secret) for item in node)
        elif isinstance(node, str) and "Secret" in node and "ata" in node:
            stack.extend((parsed, None) for parsed in _parsed(node))
            yield from _values_in_yaml(node)
    if found:
        yield from _leaves(unclaimed)


def _leaves(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            stack.extend(node.values())
        elif isinstance(node, list | tuple):
            stack.extend(node)
        elif isinstance(node, str):
            yield node


def _parsed(text: str) -> list[Any]:
    """The text as JSON, where it is."""
    if text.lstrip()[:1] not in ("{", "["):
        return []
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def _values_in_yaml(text: str) -> Iterator[str]:
    """By lines, since no parser may be used here, and what tools print is often not quite YAML."""
    document: list[str] = []
    for line in [*text.splitlines(), "---"]:
        if not line.startswith("---"):
            document.append(line)
            continue
        if any(_YAML_KIND.match(entry) for entry in document):
            yield from _values_in_document(document)
        document = []


def _values_in_document(lines: list[str]) -> Iterator[str]:
    inside: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip(" -"))
        if inside is not None and (not line.strip() or indent > inside):
            yield from _value_of_entry(line)
            continue
        field = _YAML_FIELD.match(line)
        inside = len(field["indent"]) if field else None
        if field and field["rest"]:
            yield from map(_unquoted, _FLOW_VALUE.findall(field["rest"]))


def _value_of_entry(line: str) -> Iterator[str]:
    """The value beside a key; a line without one continues a value."""
    entry = _YAML_ENTRY.match(line)
    value = (entry["value"] or "").strip() if entry else line.strip()
    if value and not _BLOCK_SCALAR.match(value):
        yield _unquoted(value)


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    return value[1:-1] if len(value) >= 2 and value[0] == value[-1] == "'" else value
