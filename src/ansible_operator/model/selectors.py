"""Label selectors (metav1.LabelSelector): matching and the text form that the API server understands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")

_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_LENGTH = 253


def is_qualified_name(text: str) -> bool:
    """Whether a label or a finalizer may have this key: ``name`` or ``prefix/name`` (apimachinery, IsQualifiedName)."""
    prefix, slash, name = text.rpartition("/")
    if slash and not (_SUBDOMAIN.fullmatch(prefix) and len(prefix) <= _SUBDOMAIN_LENGTH):
        return False
    return _WORD.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether a label may have this value: empty, or up to 63 characters (apimachinery, IsValidLabelValue)."""
    return not text or _WORD.fullmatch(text) is not None


@dataclass(frozen=True)
class Requirement:
    """One requirement on one label; ``operator`` is one of OPERATORS."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """As apimachinery does: ``NotIn`` also holds for an object without the label."""
        value = labels.get(self.key)
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        return (value in self.values) == (self.operator == "In")

    def __str__(self) -> str:
        if self.operator in ("In", "NotIn"):
            return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"
        return self.key if self.operator == "Exists" else f"!{self.key}"


@dataclass(frozen=True)
class Selector:
    """All requirements must hold; none means everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        """The value of the ``labelSelector`` query parameter; empty for everything."""
        return ",".join(map(str, self.requirements))
