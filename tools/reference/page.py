"""The page: a section for each kind, the flags, the metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from ansible_operator.config import flags
from ansible_operator.telemetry.metrics import Metrics
from reference.fields import Schema, rows, rules

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference.md"
KINDS = ("aitasks", "aitaskbackups", "aitaskrestores")
_HEAD = """# Reference

Made from the CRDs, the flags and the metrics themselves by `make reference`; a test fails where this page is not what
they say. On a cluster, `kubectl explain aitask.spec` says the same of the version that is installed there. What a task
does with its fields is told in [aitask.md](aitask.md), of backups in [backup.md](backup.md).
"""
_FLAGS_HEAD = """
## Flags of ansible-operator run

Durations are Go's (`1h30m`). An address is `host:port`, `:port`, or `0` for none.
"""
_METRICS_HEAD = """
## Metrics of the operator

Beside `process_…` and `python_…`. Those of AITask, and the alerts, are in [alerts.md](alerts.md).
"""
_FLAG_KINDS: dict[Callable[[str], Any], str] = {
    flags.boolean: "true or false",
    flags.duration: "duration",
    flags.time_limit: "duration",
    flags.address: "address",
    flags.whole_number: "whole number",
    flags.port: "port",
}


def render() -> str:
    """The whole page."""
    return "".join([_HEAD, *(_kind(plural) for plural in KINDS), _flags(), _metrics()])


def _kind(plural: str) -> str:
    crd = yaml.safe_load((ROOT / f"config/crd/bases/aiops.example.com_{plural}.yaml").read_text())["spec"]
    version, names = crd["versions"][0], crd["names"]
    schema = version["schema"]["openAPIV3Schema"]
    short = ", ".join(f"`{name}`" for name in names["shortNames"])
    title = f"\n## {names['kind']}\n\n`{crd['group']}/{version['name']}`, short {short}. {schema['description']}\n"
    spec, status = (schema["properties"][part] for part in ("spec", "status"))
    return title + _part("spec", spec) + _rules(spec) + _part("status", status)


def _part(name: str, schema: Schema) -> str:
    lines = ((f"`{row.path}`", row.kind, row.default, row.meaning) for row in rows(schema))
    head = f"\n### {name}\n\n{' '.join(schema.get('description', '').split())}\n"
    return head + _table(("field", "type and bounds", "default", "meaning"), lines)


def _rules(schema: Schema) -> str:
    found = [(f"`{where.lstrip('.') or 'spec'}`", message) for where, message in rules(schema)]
    return "\nRefused by the API server besides:\n" + _table(("field", "rule"), found) if found else ""


def _flags() -> str:
    lines = (
        (f"`--{flag.name}`", _FLAG_KINDS.get(flag.kind, "text"), _code(flag.default), flag.help) for flag in flags.FLAGS
    )
    return _FLAGS_HEAD + _table(("flag", "type", "default", "meaning"), lines)


def _metrics() -> str:
    """The families, but those of the process and of Python, which any client has."""
    families = sorted(Metrics("").registry.collect(), key=lambda family: family.name)
    lines = (
        (f"`{_series(family)}`", family.type, family.documentation)
        for family in families
        if not family.name.startswith(("process_", "python_"))
    )
    return _METRICS_HEAD + _table(("metric", "type", "meaning"), lines)


def _series(family: Any) -> str:
    return f"{family.name}_total" if family.type == "counter" else str(family.name)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    return "\n" + "\n".join(_lines([*head], lines)) + "\n"


def _lines(head: list[str], lines: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for cells in lines:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
