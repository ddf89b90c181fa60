"""YAML 1.1 as the Go operator's library reads it and hands it on as JSON (contract 4.2).

Against PyYAML: ``y`` and ``n`` are booleans; dates and times of day stay texts; ``1e3`` is a number; a whole float is
an integer; all keys are texts. Unlike in Go, big integers keep all their digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import yaml

SCALARS = (str, int, float, bool)
_TAG = "tag:yaml.org,2002:"
_BOOLEAN = re.compile("[yYnN]$")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*:")
_WORDS = ("true", "false", "null", "~")
_NOT_IN_GO = (f"{_TAG}timestamp", f"{_TAG}value", f"{_TAG}float")


if TYPE_CHECKING:
    _Base = yaml.SafeLoader
else:
    _Base = object


class _GoScalars(_Base):
    """Go's scalars, for a loader of PyYAML."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as PyYAML declares it
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _NOT_IN_GO]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}  # noqa: RUF012

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        if tag == f"{_TAG}int" and implicit[0] and _SEXAGESIMAL.match(value):
            return f"{_TAG}str"
        return tag

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Keys become texts."""
        del deep
        self.flatten_mapping(node)
        return {self._key(key): self.construct_object(value, deep=True) for key, value in node.value}

    def _key(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode):
            return text_of(self.construct_object(node))
        raise yaml.constructor.ConstructorError(None, None, "found a key that is not a scalar", node.start_mark)

    def construct_go_float(self, node: yaml.ScalarNode) -> float:
        """A whole one is an integer, as in JSON."""
        value = self.construct_yaml_float(node)
        return int(value) if value.is_integer() else value

    def construct_merge(self, node: yaml.ScalarNode) -> str:
        """``<<`` where it is no key."""
        return str(self.construct_scalar(node))


class _Loader(_GoScalars, yaml.SafeLoader):
    """Its faults have places in the text."""


class _FastLoader(_GoScalars, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Ten times as fast."""


for _each in (_Loader, _FastLoader):
    _each.add_implicit_resolver(f"{_TAG}bool", _BOOLEAN, list("yYnN"))
    _each.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))
    _each.add_constructor(f"{_TAG}float", _each.construct_go_float)
    _each.add_constructor(f"{_TAG}merge", _each.construct_merge)


def compose(text: str) -> yaml.Node | None:
    """The tree of the only document; None where there is none, or only null. Raises YAMLError."""
    roots = [root for root in yaml.compose_all(text, Loader=_Loader) if root.tag != f"{_TAG}null"]
    if len(roots) > 1:
        raise yaml.composer.ComposerError(None, None, "a second document begins here", roots[1].start_mark)
    return roots[0] if roots else None


def construct(node: yaml.Node) -> Any:
    """The value of a node, as JSON can carry it. Raises YAMLError or ValueError."""
    loader = _Loader("")
    try:
        value = loader.construct_document(node)
        json.dumps(value, allow_nan=False)
    except (TypeError, LookupError) as error:
        raise ValueError(f"its tag does not fit: {error}") from error
    finally:
        loader.dispose()
    return value


def construct_as_written(node: yaml.Node) -> Any:
    """The same, but what stands there without quotes is a text, letter for letter: ``1.20``, ``0123``, ``on``, nothing.

    ``true``, ``false``, ``null`` and ``~`` stay what they are, and so does a quoted value with a tag (``!!int "3"``).
    """
    return construct(_as_written(node))


def _as_written(node: yaml.Node) -> yaml.Node:
    marks = node.start_mark, node.end_mark
    if isinstance(node, yaml.MappingNode):
        pairs = [(_as_written(key), _as_written(value)) for key, value in node.value]
        return yaml.MappingNode(node.tag, pairs, *marks)
    if isinstance(node, yaml.SequenceNode):
        return yaml.SequenceNode(node.tag, [_as_written(item) for item in node.value], *marks)
    assert isinstance(node, yaml.ScalarNode)
    plain = node.style is None and node.value not in _WORDS and node.tag != f"{_TAG}merge"
    return yaml.ScalarNode(f"{_TAG}str", node.value, *marks) if plain else node


def construct_all(text: str) -> Iterator[Any]:
    """The values of all documents of a text, fast. Raises YAMLError, ValueError, TypeError or LookupError."""
    loader = _FastLoader(text)
    try:
        while loader.check_data():  # type: ignore[no-untyped-call]
            yield loader.get_data()
    finally:
        loader.dispose()


def flatten(node: yaml.MappingNode) -> None:
    """Put what ``<<`` merges into the mapping itself. Raises YAMLError."""
    _Loader("").flatten_mapping(node)


def text_of(value: Any) -> str:
    """A scalar as a text, as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value)
