"""A small chart for tests, and Helm's records of releases as they stand in the cluster."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from tests.support.api import Api
from tests.support.kinds import SECRET

FILES = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\nappVersion: '1'\n",
    "values.yaml": "text: hello\nreplicas: 1\nhook: false\n",
    "templates/NOTES.txt": "{{ .Release.Name }} says {{ .Values.text }}\n",
    "templates/config.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-config}\n"
        "data: {text: {{ .Values.text | quote }}}\n"
    ),
    "templates/secret.yaml": (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Release.Name }}-secret}\n"
        "stringData: {password: hunter2-of-{{ .Release.Name }}}\n"
    ),
    "templates/role.yaml": (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
        "metadata: {name: {{ .Release.Namespace }}-{{ .Release.Name }}}\nrules: []\n"
    ),
    "templates/deployment.yaml": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}-web}\nspec:\n"
        "  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: {{ .Release.Name }}}}\n"
        "  template:\n    metadata: {labels: {app: {{ .Release.Name }}}}\n"
        "    spec: {containers: [{name: web, image: example.com/web:1}]}\n"
    ),
    "templates/hook.yaml": (
        "{{ if .Values.hook }}\napiVersion: v1\nkind: ConfigMap\n"
        "metadata: {name: {{ .Release.Name }}-bye, annotations: {helm.sh/hook: pre-delete}}\n{{ end }}\n"
    ),
}


def write_chart(directory: Path, **changed: str) -> Path:
    """Write the chart into a directory; ``changed``: the text of templates by name, without .yaml."""
    files = {**FILES, **{f"templates/{name}.yaml": text for name, text in changed.items()}}
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


def records(api: Api, namespace: str, release: str) -> list[dict[str, Any]]:
    """Helm's records of a release, the oldest first."""
    found = [obj for obj in api.list(SECRET, namespace) if obj["metadata"].get("labels", {}).get("name") == release]
    return sorted(found, key=lambda obj: int(obj["metadata"]["labels"]["version"]))


def leave_half_done(api: Api, namespace: str, release: str, status: str, *, anew: bool, by_hand: bool = False) -> str:
    """What a Helm leaves that is killed: the last record says that it works; ``anew``: on a further revision.

    ``by_hand``: it was not started by the operator. Returns the name of the record.
    """
    last = records(api, namespace, release)[-1]
    content = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(last["data"]["release"]))))
    version = content["version"] + 1 if anew else content["version"]
    content["version"], content["info"]["status"] = version, status
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(content).encode()))).decode()
    labels = {**last["metadata"]["labels"], "status": status, "version": str(version)}
    name = f"sh.helm.release.v1.{release}.v{version}"
    if not anew:
        api.patch(SECRET, name, namespace, {"metadata": {"labels": labels}, "data": {"release": packed}})
        return name
    owners = [] if by_hand else last["metadata"].get("ownerReferences", [])
    metadata = {"labels": labels, "ownerReferences": owners}
    api.create(SECRET, SECRET.object(name, namespace, metadata=metadata, type=last["type"], data={"release": packed}))
    return name
