"""Every file that is written from something else: what it should hold, and whether it does."""

from __future__ import annotations

import re
from pathlib import Path

from chart.manifests import ROOT
from chart.parts import templates
from chart.values import table

__all__ = ["CHART", "DOCUMENT", "ROOT", "stale", "wanted"]

CHART = ROOT / "charts" / "aitask-operator"
DOCUMENT = ROOT / "docs" / "chart.md"
_TABLE = re.compile(r"(?<=<!-- values -->\n).*(?=<!-- end of values -->)", re.DOTALL)


def wanted() -> dict[Path, str]:
    """The text of each file, by path: templates, the chart's version, the table of values."""
    found = {CHART / "templates" / name: text for name, text in templates().items()}
    found[CHART / "Chart.yaml"] = _versioned((CHART / "Chart.yaml").read_text())
    found[DOCUMENT] = _TABLE.sub(lambda _: table((CHART / "values.yaml").read_text()), DOCUMENT.read_text())
    return found


def stale() -> dict[Path, str]:
    """Those of them that are not there, or hold something else."""
    return {path: text for path, text in wanted().items() if not path.exists() or path.read_text() != text}


def _versioned(chart: str) -> str:
    """Chart and operator are released together, under one version."""
    source = (ROOT / "src" / "ansible_operator" / "__init__.py").read_text()
    [version] = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    chart = re.sub(r"^version: .*$", f"version: {version}", chart, flags=re.MULTILINE)
    return re.sub(r"^appVersion: .*$", f'appVersion: "{version}"', chart, flags=re.MULTILINE)
