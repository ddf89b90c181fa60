"""What an API request is about, read from its method and path (apiserver's RequestInfo). Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RequestInfo:
    """A request for a resource: ``name`` is empty for a collection, ``namespace`` for cluster scope."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def request_info(path: str) -> RequestInfo | None:
    """The parts of a resource's path, or None for anything else: discovery, ``/version``, ``/healthz`` …

    ``/api/v1/namespaces/x/pods/y/log``, ``/apis/apps/v1/deployments``, ``/api/v1/namespaces/x`` (a Namespace).
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if rest[0] == "watch":  # the deprecated form of a watch
        rest = rest[1:]
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    return RequestInfo(group, version, plural, namespace, name, subresource)
