"""Filters of the playbook of charts: what Helm says, in the form that the playbook needs. They run inside Ansible."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

_MAX_NOTES = 4096
_GZIP = b"\x1f\x8b\x08"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """As Helm reads its manifests: what looks like a time is a text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as PyYAML declares it
        first: [resolver for resolver in resolvers if not resolver[0].endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_CURES = (
    (
        "secrets is forbidden",
        "Helm keeps releases in Secrets: give the operator get, list, create, update, patch and delete on secrets in"
        " {namespace}",
    ),
    ("is forbidden: ", "give the operator the rights that the chart's objects need"),
    ("missing in charts/ directory", "run helm dependency build, and ship the chart with its charts/"),
    ("values don't meet the specifications of the schema", "correct the spec of the object"),
    ("another operation (install/upgrade/rollback) is in progress", "it is tried again"),
)


def helm_release(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The last revision of a release, by the Secrets in which Helm keeps them; empty where there is none.

    Status, revision, values, notes, the objects of the manifest, the name of the chart, and who owns the record.
    """
    if not records:
        return {}
    last = max(records, key=lambda record: int(record["metadata"]["labels"]["version"]))
    packed = base64.b64decode(base64.b64decode(last["data"]["release"]))
    content = json.loads(gzip.decompress(packed) if packed.startswith(_GZIP) else packed)
    info = content.get("info") or {}
    return {
        "status": info.get("status", ""),
        "revision": content.get("version", 0),
        "values": content.get("config") or {},
        "notes": (info.get("notes") or "").strip()[:_MAX_NOTES],
        "objects": list(_objects(content.get("manifest") or "")),
        "chart": ((content.get("chart") or {}).get("metadata") or {}).get("name", ""),
        "owners": last["metadata"].get("ownerReferences") or [],
    }


def _objects(manifest: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for document in yaml.load_all(manifest, Loader=_Loader):
        if isinstance(document, dict) and document.get("kind") == "List":
            found += document.get("items") or []
        elif document:
            found.append(document)
    return found


def chart_digest(chart: Mapping[str, Any]) -> str:
    """A digest of the chart's files; of its name and version where they are fetched."""
    digest = hashlib.sha256()
    path = Path(chart["reference"])
    if chart["version"] and not path.is_absolute():
        digest.update("\n".join((chart["repository"], chart["reference"], chart["version"])).encode())
        return digest.hexdigest()[:16]
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(path)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def release_foreign(release: Mapping[str, Any], chart: Mapping[str, Any]) -> str:
    """What speaks against working on a release that is there: another owner, or another chart. Empty for nothing."""
    if not release or chart["applied"]:
        return ""
    owners = release["owners"]
    if any(owner.get("uid") == chart["owner"]["uid"] for owner in owners):
        return ""
    if owners:
        return f"belongs to {owners[0].get('kind')} {owners[0].get('name')}"
    return "" if release["chart"] == _name(chart) else f"is of another chart, {release['chart']}"


def _name(chart: Mapping[str, Any]) -> str:
    file = Path(chart["reference"], "Chart.yaml")
    if file.is_file():
        return str((yaml.safe_load(file.read_text()) or {}).get("name", ""))
    name = Path(chart["reference"]).name
    return name.removesuffix(".tgz").rpartition("-")[0] if name.endswith(".tgz") else name


def helm_words(said: str, action: str, chart: Mapping[str, Any]) -> str:
    """Helm's last words as a person needs them: what failed, why, and the cure where there is a known one."""
    lines = [line for line in said.strip().splitlines() if line.strip() and not line.startswith(("WARNING:", "level="))]
    text = " ".join(line.strip().removeprefix("Error: ") for line in lines) or "Helm says nothing"
    cure = next((cure for words, cure in _CURES if words in text), "")
    message = f"release {chart['release']}: {action} failed: {text}"
    return f"{message}; {cure.format(namespace=chart['namespace'])}" if cure else message


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Any]:
        """The filters by name."""
        return {
            "chart_digest": chart_digest,
            "helm_release": helm_release,
            "helm_words": helm_words,
            "release_foreign": release_foreign,
        }
