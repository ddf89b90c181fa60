"""YAML 1.1 as the Go operator's library reads it and hands it on as JSON (contract 4.2).

Against PyYAML: ``y`` and ``n`` are booleans; dates and times of day stay texts; ``1e3`` is a number; a whole float is
an integer; all keys are texts. Unlike in Go, big integers keep all their digits.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

SCALARS = (str, int, float, bool)
_TAG = "tag:yaml.org,2002:"
_BOOLEAN = re.compile("[yYnN]$")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*:")
_NOT_IN_GO = (f"{_TAG}timestamp", f"{_TAG}value", f"{_TAG}float")


class _Loader(yaml.SafeLoader):
    """SafeLoader with Go's scalars."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as PyYAML declares it
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _NOT_IN_GO]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

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


_Loader.add_implicit_resolver(f"{_TAG}bool", _BOOLEAN, list("yYnN"))
_Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))
_Loader.add_constructor(f"{_TAG}float", _Loader.construct_go_float)
_Loader.bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}


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


def flatten(node: yaml.MappingNode) -> None:
    """Put what ``<<`` merges into the mapping itself. Raises YAMLError."""
    _Loader("").flatten_mapping(node)


def text_of(value: Any) -> str:
    """A scalar as a text, as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value)
