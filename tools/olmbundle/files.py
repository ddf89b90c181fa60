"""The files of a bundle: their names, their text, and writing them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from olmbundle.errors import BundleError
from olmbundle.kinds import Manifest, check
from olmbundle.release import DEFAULT_CHANNEL, PACKAGE, Release
from olmbundle.service_version import KIND, split

Files = dict[str, str]
"""Paths below the directory they are written to, and texts."""

DOCKERFILE = "bundle.Dockerfile"
_HEAD = "# Made by `make bundle` from config/manifests. Do not edit.\n"
_MAXIMUM_BYTES = 900_000
"""OLM unpacks a bundle into one ConfigMap, which etcd limits to 1 MiB."""


class _Dumper(yaml.SafeDumper):
    """Texts of several lines are written as such."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def dump(value: Any) -> str:
    """YAML in the order of the value, without anchors."""
    text: str = yaml.dump(_plain(value), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return text


def _plain(value: Any) -> Any:
    """The same without objects that occur twice, which would become anchors."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def bundle(root: Path, kubectl: Path, release: Release) -> Files:
    """The bundle of a source tree: `bundle/…` and `bundle.Dockerfile`."""
    manifests = rendered(kubectl, root / "config" / "manifests")
    check(manifests)
    icon = (root / "config" / "manifests" / "icon.svg").read_bytes()
    service_version, beside = split(manifests, samples(root), icon, release)
    files = {f"bundle/manifests/{_file_name(one)}": _HEAD + dump(_in_no_namespace(one)) for one in beside}
    files[f"bundle/manifests/{PACKAGE}.clusterserviceversion.yaml"] = _HEAD + dump(service_version)
    if (size := sum(map(len, files.values()))) > _MAXIMUM_BYTES:
        raise BundleError(f"the manifests have {size} bytes, and OLM unpacks at most {_MAXIMUM_BYTES}; shorten them")
    labels = _annotations(release)
    files["bundle/metadata/annotations.yaml"] = _HEAD + dump({"annotations": labels})
    files["bundle/tests/scorecard/config.yaml"] = _HEAD + (root / "config" / "scorecard" / "config.yaml").read_text()
    files[DOCKERFILE] = _dockerfile(labels)
    return dict(sorted(files.items()))


def rendered(kubectl: Path, directory: Path) -> list[Manifest]:
    """What kustomize makes of a directory."""
    done = subprocess.run([kubectl, "kustomize", directory], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BundleError(f"kubectl kustomize {directory}: {done.stderr.strip()}")
    return [found for found in yaml.load_all(done.stdout, yaml.CSafeLoader) if found]


def samples(root: Path) -> list[Manifest]:
    """The custom resources of config/samples, by file name."""
    paths = sorted((root / "config" / "samples").glob("aiops_*.yaml"))
    return [found for path in paths for found in yaml.load_all(path.read_text(), yaml.CSafeLoader) if found]


def parsed(files: Files) -> list[dict[str, Any]]:
    """The manifests of a bundle, its ClusterServiceVersion first."""
    texts = [text for path, text in files.items() if path.startswith("bundle/manifests/")]
    return sorted((yaml.load(text, yaml.CSafeLoader) for text in texts), key=lambda found: found["kind"] != KIND)


def write(files: Files, directory: Path) -> None:
    """Write them below the directory; what else is in their own directories (`bundle`, `catalog/PACKAGE`) goes."""
    for own in _own(files):
        shutil.rmtree(directory / own, ignore_errors=True)
    for path, text in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def differences(files: Files, directory: Path) -> list[str]:
    """Paths that are missing there, too many, or have another text."""
    found = (path for own in _own(files) for path in (directory / own).rglob("*") if path.is_file())
    there = {str(path.relative_to(directory)) for path in found}
    changed = (path for path, text in files.items() if not _has(directory / path, text))
    return sorted({*changed, *(there - set(files))})


def _own(files: Files) -> list[str]:
    """The outermost directories that hold nothing but what is written; `catalog` may hold other packages."""
    parents = (Path(path).parts[:-1] for path in files)
    return sorted({str(Path(*parts[: 2 if parts[0] == "catalog" else 1])) for parts in parents if parts})


def _has(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text


def _file_name(manifest: Manifest) -> str:
    if manifest["kind"] == "CustomResourceDefinition":
        spec = manifest["spec"]
        return f"{spec['group']}_{spec['names']['plural']}.yaml"
    return f"{manifest['metadata']['name']}.{manifest['kind'].lower()}.yaml"


def _in_no_namespace(manifest: Manifest) -> Manifest:
    """OLM puts it into the namespace of the Subscription."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "namespace"}
    return {**manifest, "metadata": metadata}


def _annotations(release: Release) -> dict[str, str]:
    bundle, test = "operators.operatorframework.io.bundle", "operators.operatorframework.io.test"
    return {
        f"{bundle}.mediatype.v1": "registry+v1",
        f"{bundle}.manifests.v1": "manifests/",
        f"{bundle}.metadata.v1": "metadata/",
        f"{bundle}.package.v1": PACKAGE,
        f"{bundle}.channels.v1": ",".join(release.channels),
        f"{bundle}.channel.default.v1": DEFAULT_CHANNEL,
        f"{test}.mediatype.v1": "scorecard+v1",
        f"{test}.config.v1": "tests/scorecard/",
    }


def _dockerfile(labels: Mapping[str, str]) -> str:
    lines = ["FROM scratch", *(f"LABEL {name}={value}" for name, value in labels.items())]
    copies = [f"COPY bundle/{part} /{part}/" for part in ("manifests", "metadata", "tests/scorecard")]
    return _HEAD + "\n".join([*lines, *copies]) + "\n"
