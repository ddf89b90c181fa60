"""A Helm chart as the content of a watch: which release an object has, and with which values."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from ansible_operator.model.gvk import Object
from ansible_operator.model.watch import Chart, Watch

VARIABLE = "ansible_operator_chart"
"""The extra var by which the playbook of charts is told all that it must know."""

APPLIED = "deployedRelease"
"""The field of the status in which the playbook writes down what it has released (helm-operator's name)."""

FINALIZER = "helm.sdk.operatorframework.io/uninstall-release"
"""helm-operator's name too, so that objects may be handed over."""

_LONGEST = 53  # Helm's limit: it leaves ten characters of a DNS label to charts
_DIGEST = 8
_DOT = re.compile(r"(?<!\\)\.")
_ESCAPED = re.compile(r"\\(.)")
_NAME = r"(?:[^\\.,=\[\]{}]|\\.)+"
_PATH = re.compile(rf"{_NAME}(?:\.{_NAME})*")


def release_name(name: str) -> str:
    """That of the object; where Helm finds it too long, its beginning and a digest of the whole."""
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{name[: _LONGEST - _DIGEST - 1].rstrip('.-')}-{digest}"


def is_path(key: str) -> bool:
    """Whether a dotted key is one that ``nested`` understands: unlike ``helm --set`` it has no items of lists."""
    return _PATH.fullmatch(key) is not None


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as the maps that they mean, as ``helm --set`` reads them: ``image.tag``; ``\\.`` is a plain dot."""
    result: dict[str, Any] = {}
    for key, value in flat.items():
        deep = value
        for part in reversed(_DOT.split(key)):
            deep = {_ESCAPED.sub(r"\1", part): deep}
        result = merged(result, deep)
    return result


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both maps, at every depth; where both have something else than a map, ``over`` wins."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        result[key] = merged(below, value) if both and below is not None else value
    return result


def release_of(watch: Watch, chart: Chart, obj: Object, *, finalizing: bool) -> dict[str, Any]:
    """What the playbook is told: the chart, the release, its values, whose it is, and what was applied before.

    Nothing in it is marked unsafe yet. An object that is not in a namespace gives an empty one.
    """
    meta = obj["metadata"]
    status = obj.get("status")
    applied = status.get(APPLIED) if isinstance(status, Mapping) else None
    spec = obj.get("spec")
    return {
        "state": "absent" if finalizing else "present",
        "reference": chart.reference,
        "repository": chart.repository,
        "version": chart.version,
        "release": release_name(meta["name"]),
        "namespace": meta.get("namespace", ""),
        "values": merged(spec if isinstance(spec, Mapping) else {}, chart.override_values),
        "owner": {
            "api_version": watch.gvk.api_version,
            "kind": watch.gvk.kind,
            "name": meta["name"],
            "uid": meta.get("uid", ""),
        },
        "applied": applied if isinstance(applied, Mapping) else {},
    }
