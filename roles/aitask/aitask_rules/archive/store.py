"""The Secret or ConfigMap that holds an archive."""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from ..owned import owner_reference
from ..values import items, mapping
from .content import FORMAT_VERSION, Archive, Unreadable, from_text
from .objects import INJECT_OWNER

BACKUP_UID = "aiops.example.com/backup-uid"
BACKUP_NAME = "aiops.example.com/backup-name"
SHA256 = "aiops.example.com/sha256"
FORMAT = "aiops.example.com/format-version"
LABEL, LABEL_VALUE = "aiops.example.com/store", "aitask-backup"
KEY = "archive"
_FIELD = {"Secret": "data", "ConfigMap": "binaryData"}


def store_name(backup: Mapping[str, Any]) -> str:
    """Another backup of the same name has another uid, and so another store."""
    meta = mapping(backup.get("metadata"))
    digest = sha256(str(meta.get("uid")).encode()).hexdigest()[:10]
    return f"aitask-backup-{str(meta.get('name'))[:200].rstrip('-.')}-{digest}"


def owners(backup: Mapping[str, Any], retention: str) -> list[dict[str, Any]]:
    """With retention Delete the store goes with its backup; with Retain nothing must be able to collect it."""
    if retention != "Delete":
        return []
    meta = mapping(backup.get("metadata"))
    return [owner_reference("AITaskBackup", str(meta.get("name")), str(meta.get("uid")))]


def manifest(backup: Mapping[str, Any], kind: str, retention: str, archive: Archive) -> dict[str, Any]:
    """The store, for a server-side apply. The owner is written here alone, whatever runs the role."""
    meta = mapping(backup.get("metadata"))
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {
            "name": store_name(backup),
            "namespace": str(meta.get("namespace")),
            "labels": {LABEL: LABEL_VALUE, "app.kubernetes.io/managed-by": "aitask-operator"},
            "annotations": {
                BACKUP_UID: str(meta.get("uid")),
                BACKUP_NAME: str(meta.get("name")),
                SHA256: archive.sha256,
                FORMAT: str(FORMAT_VERSION),
                INJECT_OWNER: "false",
            },
            "ownerReferences": owners(backup, retention),
        },
        _FIELD[kind]: {KEY: archive.text},
    }


def owner_patch(backup: Mapping[str, Any], store: Mapping[str, Any], retention: str) -> dict[str, Any]:
    """A merge patch of the owner, where the retention was changed; empty if it is right. Others' references stay."""
    meta, uid = mapping(store.get("metadata")), mapping(backup.get("metadata")).get("uid")
    present = [mapping(entry) for entry in items(meta.get("ownerReferences"))]
    wanted = owners(backup, retention)
    if [entry.get("uid") for entry in present if entry.get("uid") == uid] == [entry["uid"] for entry in wanted]:
        return {}
    kept = [dict(entry) for entry in present if entry.get("uid") != uid]
    place = {key: meta.get(key) for key in ("name", "namespace", "resourceVersion")}
    return {
        "apiVersion": "v1",
        "kind": store.get("kind"),
        "metadata": {**place, "ownerReferences": [*kept, *wanted]},
    }


def belongs_to(store: Mapping[str, Any], uid: Any) -> bool:
    return bool(uid) and _notes(store).get(BACKUP_UID) == uid


def is_store(store: Mapping[str, Any]) -> bool:
    labels = mapping(mapping(store.get("metadata")).get("labels"))
    return labels.get(LABEL) == LABEL_VALUE and bool(_notes(store).get(SHA256))


def stated_sum(store: Mapping[str, Any]) -> str:
    return str(_notes(store).get(SHA256, ""))


def content_of(store: Mapping[str, Any]) -> bytes:
    """The bytes in a store. Raises Unreadable. A ConfigMap that was made by hand may hold them as text."""
    field = mapping(store.get(_FIELD.get(str(store.get("kind")), "data")))
    if KEY not in field:
        raise Unreadable("CorruptArchive", f"the store has no key {KEY!r}")
    return from_text(field[KEY])


def as_store(text: str) -> dict[str, Any]:
    """An archive from a local file, in base64, as if it had been read from a store."""
    data = from_text(text)
    notes = {SHA256: sha256(data).hexdigest()}
    meta = {"name": "file", "labels": {LABEL: LABEL_VALUE}, "annotations": notes}
    return {"kind": "Secret", "metadata": meta, "data": {KEY: b64encode(data).decode()}}


def _notes(store: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(store.get("metadata")).get("annotations"))
