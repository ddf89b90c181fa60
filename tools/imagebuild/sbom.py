"""The bill of materials of an image, in CycloneDX 1.5: Debian packages, Python distributions and Ansible collections.

Run inside the image, by its Python and nothing else: `python sbom.py > sbom.cdx.json`. The same packages give the same
bytes.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

DPKG = Path("/var/lib/dpkg/status")
COLLECTIONS = Path("/opt/ansible/.ansible/collections/ansible_collections")

Component = dict[str, Any]


def debian_packages(status: Path) -> Iterator[Component]:
    """The installed packages of a dpkg status file; none where there is no such file."""
    if not status.exists():
        return
    for paragraph in status.read_text().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] != " ")
        if fields.get("Status", "").endswith(" installed"):
            name, version = fields["Package"], fields["Version"]
            purl = f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}"
            yield component(name, version, purl)


def distributions(path: list[str] | None = None) -> Iterator[Component]:
    """The Python distributions on a search path, by default the interpreter's own."""
    found = metadata.distributions() if path is None else metadata.distributions(path=path)
    for one in found:
        name = one.metadata["Name"].lower().replace("_", "-")
        licences = one.metadata.get_all("License-Expression") or [None]
        yield component(name, one.version, f"pkg:pypi/{name}@{one.version}", licences[0])


def collections(tree: Path) -> Iterator[Component]:
    """The collections below an `ansible_collections` directory."""
    for manifest in sorted(tree.glob("*/*/MANIFEST.json")):
        info = json.loads(manifest.read_text())["collection_info"]
        name, version = f"{info['namespace']}.{info['name']}", info["version"]
        yield component(name, version, f"pkg:generic/ansible-collection/{name}@{version}")


def component(name: str, version: str, purl: str, licence: str | None = None) -> Component:
    """One library, as CycloneDX writes it."""
    licences: Component = {"licenses": [{"expression": licence}]} if licence else {}
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, **licences}


def bill(components: list[Component]) -> dict[str, Any]:
    """The document; its serial number follows from what it lists."""
    ordered = sorted({one["purl"]: one for one in components}.values(), key=lambda one: str(one["purl"]))
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(ordered, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": "ansible-operator"}},
        "components": ordered,
    }


def main() -> int:
    found = [*debian_packages(DPKG), *distributions(), *collections(COLLECTIONS)]
    json.dump(bill(found), sys.stdout, indent=1, sort_keys=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
