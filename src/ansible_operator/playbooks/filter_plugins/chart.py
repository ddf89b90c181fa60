"""Filters of the playbook of charts: what Helm says, in the form that the playbook needs. They run inside Ansible."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import tarfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from ansible_operator.config.yaml_1_1 import construct_all

_MAX_NOTES = 4096
_MAX_REFUSED = 1024
_GZIP = b"\x1f\x8b\x08"
_PATIENCE = timedelta(hours=1)
"""Nobody waits longer for Helm; what is pending since then was left so."""

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

    Status, revision, values, notes, manifest, the name of the chart, who owns the record, and since when it is there.
    Of a record that is no record only ``fault`` is told.
    """
    if not records:
        return {}
    try:
        return _revision(max(records, key=_version))
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, OSError) as error:
        names = ", ".join(record["metadata"]["name"] for record in records)
        problem = f"one of the records {names} is damaged ({type(error).__name__}): delete that Secret"
        return {"fault": problem}


def _version(record: Mapping[str, Any]) -> int:
    return int(record["metadata"]["labels"]["version"])


def _revision(record: Mapping[str, Any]) -> dict[str, Any]:
    packed = base64.b64decode(base64.b64decode(record["data"]["release"]))
    content = json.loads(gzip.decompress(packed) if packed.startswith(_GZIP) else packed)
    info = content.get("info") or {}
    return {
        "status": info.get("status", ""),
        "revision": content.get("version", 0),
        "values": content.get("config") or {},
        "notes": (info.get("notes") or "").strip()[:_MAX_NOTES],
        "manifest": content.get("manifest") or "",
        "chart": ((content.get("chart") or {}).get("metadata") or {}).get("name", ""),
        "owners": record["metadata"].get("ownerReferences") or [],
        "since": record["metadata"].get("creationTimestamp", ""),
    }


def helm_objects(manifest: str) -> dict[str, Any]:
    """The ``objects`` of a manifest, read as Helm reads it; where it cannot be read none, and the ``fault``.

    Of the text nothing is told but where the fault is: it may hold Secrets.
    """
    found: list[dict[str, Any]] = []
    try:
        for document in construct_all(manifest):
            if isinstance(document, dict) and str(document.get("kind")).endswith("List") and "items" in document:
                found += document["items"] or []
            elif document:
                found.append(document)
    except (yaml.YAMLError, ValueError, LookupError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else type(error).__name__
        return {"objects": [], "fault": f"it cannot be read as YAML ({where} of helm get manifest)"}
    return {"objects": found, "fault": ""}


def apply_refused(answer: Mapping[str, Any], objects: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Which ``objects`` were refused, by what the module k8s says that was told to go on; and the ``fault`` to tell.

    Why an object was refused is left out, but for missing rights: the server's words may quote a Secret.
    """
    if answer.get("failed") or answer.get("msg"):
        return {"objects": "", "fault": answer.get("msg") or "the module k8s says nothing"}
    results = [answer] if len(objects) == 1 else (answer.get("result") or {}).get("results", [])
    errors = [(obj, done["error"]) for obj, done in zip(objects, results, strict=False) if done.get("error")]
    forbidden = next((error["msg"] for _, error in errors if error.get("reason") == "Forbidden"), "")
    texts = [f"{obj['kind']} {obj['metadata']['name']} ({error.get('reason', 'no answer')})" for obj, error in errors]
    return {"objects": ", ".join(texts)[:_MAX_REFUSED], "fault": forbidden}


def same_values(released: Any, wanted: Any) -> bool:
    """Whether Helm, which keeps numbers as 64-bit floats, would write down both values as the same."""
    return json.dumps(_as_go_keeps(released), sort_keys=True) == json.dumps(_as_go_keeps(wanted), sort_keys=True)


def _as_go_keeps(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _as_go_keeps(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_go_keeps(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return value
    return value


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
    """What speaks against working on a release that is there. Empty for nothing.

    The owners of its last record decide. Where it has none it was made by hand, or by a runtime that writes none: then
    it is ours if the object's status says so, and it may be taken over, but not taken away, if it is of our chart.
    """
    if not release:
        return ""
    noted = chart["applied"].get("name") == chart["release"]
    owners = release["owners"]
    if any(_is_us(reference, chart["owner"], by_name=noted) for reference in owners):
        return ""
    if owners:
        return f"belongs to {owners[0].get('kind')} {owners[0].get('name')}"
    same_chart = release["chart"] == _name(chart)
    if noted and (same_chart or release["revision"] == chart["applied"].get("revision")):
        return ""
    if not same_chart:
        return f"is of another chart, {release['chart']}"
    return "was made by hand" if chart["state"] == "absent" else ""


def _is_us(reference: Mapping[str, Any], owner: Mapping[str, Any], *, by_name: bool) -> bool:
    """``by_name``: also one that was there before with our kind and name, of which the object is a copy."""
    if reference.get("uid") == owner["uid"]:
        return True
    kind = (str(reference.get("apiVersion", "")).rpartition("/")[0], reference.get("kind"))
    ours = (owner["api_version"].rpartition("/")[0], owner["kind"])
    return by_name and kind == ours and reference.get("name") == owner["name"]


def release_busy(release: Mapping[str, Any], chart: Mapping[str, Any]) -> str:
    """Who else works on the release just now. Empty for nobody.

    Of ours there is only one run at a time: what it finds pending with its owner was left so by one that was killed.
    """
    if not release.get("status", "").startswith("pending-"):
        return ""
    if any(_is_us(reference, chart["owner"], by_name=True) for reference in release["owners"]):
        return ""
    if datetime.now(UTC) - datetime.fromisoformat(release["since"]) > _PATIENCE:
        return ""
    return f"somebody else works on it ({release['status']} since {release['since']})"


def _name(chart: Mapping[str, Any]) -> str:
    """The name that the chart has in its Chart.yaml; of one that is fetched, that by which it is fetched."""
    path = Path(chart["reference"])
    if not path.is_absolute():
        return path.name
    try:
        text = _packed(path) if path.is_file() else (path / "Chart.yaml").read_bytes()
        return str((yaml.safe_load(text) or {}).get("name", ""))
    except (OSError, tarfile.TarError, yaml.YAMLError, LookupError, AttributeError, EOFError):
        return path.name


def _packed(package: Path) -> bytes:
    with tarfile.open(package) as archive:
        files = [name for name in archive.getnames() if name.count("/") == 1 and name.endswith("/Chart.yaml")]
        file = archive.extractfile(files[0])
        return file.read() if file else b""


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
            "apply_refused": apply_refused,
            "chart_digest": chart_digest,
            "helm_objects": helm_objects,
            "helm_release": helm_release,
            "helm_words": helm_words,
            "release_busy": release_busy,
            "release_foreign": release_foreign,
            "same_values": same_values,
        }
