"""The entry of a watches file that names a Helm chart. The key is this runtime's alone: the Go operator has none."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_operator.config.content import SearchPath
from ansible_operator.config.document import Section
from ansible_operator.model.charts import FINALIZER, is_path, nested
from ansible_operator.model.gvk import GVK
from ansible_operator.model.watch import Chart, Content, Finalizer

PLAYBOOK = Path(__file__).parent.parent / "playbooks/chart.yml"
"""Plays every chart; it ships with the runtime."""

CONTENT = Content(playbook=PLAYBOOK)
UNINSTALL = Finalizer(FINALIZER)
"""The playbook itself uninstalls, told so by its variable."""

BLACKLIST = frozenset({GVK("", "v1", "Secret")})
"""Each upgrade rewrites the Secrets in which Helm keeps releases: they would wake their object, and fill the memory."""

_OCI = "oci://"
_OTHERS = {
    "role": "keep one of them",
    "playbook": "keep one of them",
    "vars": "a chart has no use for them; give values with overrideValues",
    "finalizer": "remove it; a release is uninstalled by a finalizer of its own",
}


def read_chart(section: Section, search: SearchPath, environment: Mapping[str, str]) -> Chart | None:
    """The chart of an entry; None where it names none. What is wrong with it goes to the faults."""
    name = section.text("chart")
    if not name:
        return None
    for other, cure in _OTHERS.items():
        if section.has(other):
            section.fault(other, "stands beside chart", cure)
    if shutil.which("helm", path=environment.get("PATH", "")) is None:
        section.fault("chart", "there is no program helm on the PATH", "install Helm 3 where the operator runs")
    repository, version = section.text("chartRepository"), section.text("chartVersion")
    return Chart(
        reference=_reference(section, name, repository, search),
        repository=repository,
        version=version,
        override_values=_override_values(section),
    )


def _override_values(section: Section) -> dict[str, Any]:
    """As they are written, for versions and digests are texts: helm-operator takes all of them for texts."""
    flat = section.map_as_written("overrideValues")
    for key in flat:
        if not is_path(key):
            cure = r"write name.name; set a list as a whole; put \ before one of . , = [ ] { } that belongs to a name"
            section.fault("overrideValues", f"{key!r} is no path of names", cure)
    return nested(flat)


def _reference(section: Section, name: str, repository: str, search: SearchPath) -> str:
    """As Helm takes it: what is not fetched from somewhere is an absolute path."""
    if repository or name.startswith(_OCI):
        section.text("chartVersion", required=True)
        return name
    path = search.chart(name)
    if path is None:
        place = search.directory / name
        cure = "give a directory with a Chart.yaml, a .tgz, or an oci:// reference, or add chartRepository"
        section.fault("chart", f"no chart in {place}", cure)
        return str(place)
    return str(path)
