"""What every object of a release has in common: its namespace, its labels, the account that rights are bound to."""

from __future__ import annotations

import copy
from typing import Any

from chart.manifests import ACCOUNT, SYSTEM, Manifest
from chart.pages import Block, Inline, dump

NAMESPACE = Inline("{{ .Release.Namespace }}")
ACCOUNT_NAME = Inline('{{ include "aitask-operator.serviceAccountName" . }}')
_COMMON = ("app.kubernetes.io/name", "app.kubernetes.io/part-of", "app.kubernetes.io/managed-by")


def released(manifest: Manifest, more_labels: str = "") -> Manifest:
    """A copy of the object as one of the release. ``more_labels``: the path of a value with labels of the user's."""
    found = copy.deepcopy(manifest)
    metadata = found["metadata"]
    if metadata.get("namespace") == SYSTEM:
        metadata["namespace"] = NAMESPACE
    metadata["labels"] = labels("aitask-operator.labels", metadata.get("labels", {}), more_labels)
    for subject in found.get("subjects", ()):
        _bind(subject)
    return found


def labels(helper: str, own: dict[str, str], more: str = "") -> Block:
    """The field `labels`: those of a helper, the object's own, and those of a value."""
    lines = ["labels:", f'  {{{{- include "{helper}" . | nindent @2 }}}}']
    lines += [f"  {line}" for line in _lines({name: text for name, text in own.items() if name not in _COMMON})]
    lines += [f"  {{{{- with {more} }}}}", "  {{- toYaml . | nindent @2 }}", "  {{- end }}"] if more else []
    return Block("\n".join(lines))


def optional(field: str, value: str) -> Block:
    """A field that is there where its value is not empty."""
    return Block(f"{{{{- with {value} }}}}\n{field}:\n  {{{{- toYaml . | nindent @2 }}}}\n{{{{- end }}}}")


def literal(field: str, value: Any) -> str:
    """Lines of a field as they stand in config/."""
    return dump({field: value}).rstrip("\n")


def _lines(value: dict[str, str]) -> list[str]:
    return dump(value).splitlines() if value else []


def _bind(subject: dict[str, Any]) -> None:
    if (subject["namespace"], subject["name"]) == (SYSTEM, ACCOUNT):
        subject["namespace"], subject["name"] = NAMESPACE, ACCOUNT_NAME
