"""Reading a YAML file whose faults are all reported, each with its line.

A Section is a mapping of the file. Its readers never raise: what is wrong goes to the list of faults and a harmless
value comes back, so that one pass finds everything. Keys match in any case, the last of two equal keys wins, unknown
keys are ignored (contract 4.2); YAML is 1.1, as the Go operator reads it (yaml_1_1.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from ansible_operator.config.yaml_1_1 import SCALARS, compose, construct, construct_as_written, flatten, text_of
from ansible_operator.model.durations import parse_duration
from ansible_operator.model.errors import ConfigError, Fault


class Section:
    """One mapping of the document; ``path`` is how a person would name it, such as ``[0].finalizer``."""

    def __init__(self, node: yaml.MappingNode, path: str, faults: list[Fault]) -> None:
        self._faults = faults
        self._path = path
        self.line = node.start_mark.line + 1
        try:
            flatten(node)
        except yaml.YAMLError as error:
            faults.append(_not_yaml(error, f"{path}.<<".lstrip(".")))
        self._nodes = {str(key.value).lower(): value for key, value in node.value}

    def fault(self, key: str, problem: str, cure: str) -> None:
        """Record a fault of ``key``; it points at the key's value, or at the section where the key is missing."""
        node = self._nodes.get(key.lower())
        line = node.start_mark.line + 1 if node is not None else self.line
        self._faults.append(Fault(line, f"{self._path}.{key}".lstrip("."), problem, cure))

    def has(self, key: str) -> bool:
        """Whether anything but null stands there."""
        return self._value(key) is not None

    def text(self, key: str, *, required: bool = False) -> str:
        """A text; numbers and booleans become one, as in JSON."""
        value = self._value(key)
        if value is None or value == "":
            if required:
                self.fault(key, "is missing", f"add {key} to this entry")
            return ""
        if isinstance(value, SCALARS):
            return text_of(value)
        self.fault(key, "is not a text", "write one word or path")
        return ""

    def boolean(self, key: str, default: bool) -> bool:
        """True or false; a quoted word is a fault."""
        value = self._value(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self.fault(key, f"is {value!r}", "write true or false without quotes")
        return default

    def number(self, key: str, default: int) -> int:
        """A whole number."""
        value = self._value(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.fault(key, f"is {value!r}", "write a whole number without quotes")
        return default

    def duration(self, key: str) -> float | None:
        """Seconds of a Go duration; None where the key is missing, null or 0."""
        value = self._value(key)
        if value is None:
            return None
        try:
            return parse_duration(text_of(value)) or None
        except ValueError as error:
            self.fault(key, *str(error).rsplit("; ", 1))
            return None

    def mapping(self, key: str) -> dict[str, Any]:
        """A map with any content."""
        value = self._value(key)
        if value is None:
            return {}
        if isinstance(value, dict):
            return {text_of(name): item for name, item in value.items()}
        self.fault(key, "is not a map", "write name: value pairs")
        return {}

    def map_as_written(self, key: str) -> dict[str, Any]:
        """A map with any content, in which what has no quotes is a text, letter for letter (construct_as_written)."""
        if not self.mapping(key):
            return {}
        value = construct_as_written(self._nodes[key.lower()])
        assert isinstance(value, dict)
        return value

    def text_map(self, key: str) -> dict[str, str]:
        """A map of texts."""
        texts = {}
        for name, value in self.mapping(key).items():
            if value is None or isinstance(value, SCALARS):
                texts[name] = "" if value is None else text_of(value)
            else:
                self.fault(key, f"the value of {name} is not a text", "write one word")
        return texts

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self._value(key)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, SCALARS) for item in value):
            return tuple(text_of(item) for item in value)
        self.fault(key, "is not a list of texts", "write a list such as [a, b]")
        return ()

    def section(self, key: str) -> Section | None:
        """A map with known keys; None where it is missing."""
        node = self._nodes.get(key.lower())
        if node is None or self._value(key) is None:
            return None
        if isinstance(node, yaml.MappingNode):
            return Section(node, f"{self._path}.{key}", self._faults)
        self.fault(key, "is not a map", "write name: value pairs")
        return None

    def sections(self, key: str) -> list[Section]:
        """A list of maps with known keys."""
        node = self._nodes.get(key.lower())
        if node is None or self._value(key) is None:
            return []
        if isinstance(node, yaml.SequenceNode):
            return list(_maps(node, f"{self._path}.{key}", self._faults))
        self.fault(key, "is not a list", "write a list of maps")
        return []

    def _value(self, key: str) -> Any:
        node = self._nodes.get(key.lower())
        try:
            return None if node is None else construct(node)
        except (yaml.YAMLError, ValueError) as error:
            fault = _not_yaml(error, f"{self._path}.{key}".lstrip("."), node)
            if fault not in self._faults:
                self._faults.append(fault)
            return None


def _maps(node: yaml.SequenceNode, path: str, faults: list[Fault]) -> Iterator[Section]:
    for index, item in enumerate(node.value):
        if isinstance(item, yaml.MappingNode):
            yield Section(item, f"{path}[{index}]", faults)
        else:
            faults.append(
                Fault(item.start_mark.line + 1, f"{path}[{index}]", "is not a map", "write name: value pairs")
            )


def read_list(text: str, source: str, faults: list[Fault]) -> list[Section]:
    """The entries of a document that is a list of maps; an empty document is an empty list.

    Raises ConfigError where the text is not YAML: then nothing else can be said about it.
    """
    try:
        root = compose(text)
    except yaml.YAMLError as error:
        raise ConfigError(source, [_not_yaml(error, "document")]) from error
    if root is None:
        return []
    if not isinstance(root, yaml.SequenceNode):
        line = root.start_mark.line + 1
        fault = Fault(line, "document", "is not a list of watches", "begin each watch with '- version: …'")
        raise ConfigError(source, [fault])
    return list(_maps(root, "", faults))


def _not_yaml(error: Exception, field: str, node: yaml.Node | None = None) -> Fault:
    mark = getattr(error, "problem_mark", None) or (node.start_mark if node is not None else None)
    problem = getattr(error, "problem", None) or str(error)
    return Fault(mark.line + 1 if mark else 1, field, f"is not YAML: {problem}", "correct the syntax at this line")
