"""The ClusterServiceVersion: what is written by hand, and what follows from the manifests."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Sequence
from typing import Any

from olmbundle.errors import BundleError
from olmbundle.kinds import Manifest
from olmbundle.release import IMAGE, Release, service_version_name
from olmbundle.rights import strategy_permissions

KIND = "ClusterServiceVersion"


def split(
    manifests: Sequence[Manifest], samples: Sequence[Manifest], icon: bytes, release: Release
) -> tuple[dict[str, Any], list[Manifest]]:
    """The ClusterServiceVersion, and the manifests that stay beside it in the bundle."""
    bases = [found for found in manifests if found["kind"] == KIND]
    if len(bases) != 1:
        raise BundleError(f"config/manifests must hold one {KIND}, the base written by hand; it holds {len(bases)}")
    permissions, left = strategy_permissions([found for found in manifests if found["kind"] != KIND])
    deployments = [found for found in left if found["kind"] == "Deployment"]
    beside = [found for found in left if found["kind"] != "Deployment"]
    made = copy.deepcopy(dict(bases[0]))
    _check_owned(made, beside)
    _name(made, release)
    made["metadata"]["annotations"]["alm-examples"] = json.dumps([_example(made, one) for one in samples], indent=2)
    made["spec"]["icon"] = [{"base64data": base64.b64encode(icon).decode(), "mediatype": "image/svg+xml"}]
    made["spec"]["install"]["spec"] = {
        **permissions,
        "deployments": [_deployment(found, release) for found in deployments],
    }
    return made, beside


def _name(made: dict[str, Any], release: Release) -> None:
    made["metadata"]["name"] = release.name
    made["metadata"]["annotations"]["containerImage"] = release.operator_image
    made["spec"]["version"] = release.version
    made["spec"]["relatedImages"] = [{"name": "manager", "image": release.operator_image}]
    if release.replaces:
        made["spec"]["replaces"] = service_version_name(release.replaces)


def _deployment(manifest: Manifest, release: Release) -> dict[str, Any]:
    spec = copy.deepcopy(manifest["spec"])
    for container in spec["template"]["spec"]["containers"]:
        if container["image"].rpartition(":")[0] == IMAGE:
            container["image"] = release.operator_image
    return {"name": manifest["metadata"]["name"], "label": manifest["metadata"].get("labels", {}), "spec": spec}


def _example(made: Manifest, sample: Manifest) -> dict[str, Any]:
    owned = {one["kind"] for one in made["spec"]["customresourcedefinitions"]["owned"]}
    if sample["kind"] not in owned:
        raise BundleError(f"config/samples: {sample['kind']} {sample['metadata']['name']} is of no kind that is owned")
    metadata = {key: value for key, value in sample["metadata"].items() if key != "namespace"}
    return {**sample, "metadata": metadata}


def _check_owned(made: Manifest, beside: Sequence[Manifest]) -> None:
    """Every definition is described, with paths that exist, and nothing else is."""
    definitions = {one["metadata"]["name"]: one for one in beside if one["kind"] == "CustomResourceDefinition"}
    owned = {one["name"]: one for one in made["spec"]["customresourcedefinitions"]["owned"]}
    if different := sorted(set(definitions) ^ set(owned)):
        raise BundleError(
            f"customresourcedefinitions.owned and config/crd differ in {', '.join(different)}; mend the base"
        )
    for name, described in owned.items():
        versions = {one["name"]: one for one in definitions[name]["spec"]["versions"]}
        schema = versions[described["version"]]["schema"]["openAPIV3Schema"]
        for field in ("spec", "status"):
            for descriptor in described.get(f"{field}Descriptors", []):
                _check_path(name, schema["properties"][field], field, descriptor["path"])


def _check_path(name: str, schema: Any, field: str, path: str) -> None:
    for part in path.split("."):
        schema = schema.get("properties", {}).get(part)
        if schema is None:
            raise BundleError(
                f"{name}: a descriptor names {field}.{path}, which the schema does not have; mend the base"
            )
