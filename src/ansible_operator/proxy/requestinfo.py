"""What an API request is about, read from its method and target (apiserver's RequestInfo). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote


@dataclass(frozen=True)
class Target:
    """What a request asks for: ``raw`` as it goes upstream, ``path`` and ``query`` as they read."""

    raw: str
    path: str
    query: Mapping[str, list[str]]


@dataclass(frozen=True)
class RequestInfo:
    """A request for a resource: ``name`` is empty for a collection, ``namespace`` for cluster scope.

    ``watch`` marks the deprecated form of a watch, which says so in its path.
    """

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False

    @property
    def of_secrets(self) -> bool:
        """Whether it is about Secrets themselves."""
        return (self.group, self.plural, self.subresource) == ("", "secrets", "")


def target_of(raw: str) -> Target | None:
    """The target of a request line; None for what is no path.

    What stands in front of the path of an absolute URL is left out: it must not choose the host that gets our
    credentials. Go's server takes ``#`` for a part of the path, other programs for the end of it; escaped it is the
    same to all.
    """
    if not raw.startswith("/"):
        _, scheme, rest = raw.partition("://")
        raw = f"/{rest.partition('/')[2]}" if scheme else ""
    if not raw:
        return None
    raw = raw.replace("#", "%23")
    path, _, query = raw.partition("?")
    return Target(raw, unquote(path), parse_qs(query, keep_blank_values=True) if query else {})


def request_info(path: str) -> RequestInfo | None:
    """The parts of a resource's path, or None for anything else: discovery, ``/version``, ``/healthz`` …

    ``/api/v1/namespaces/x/pods/y/log``, ``/apis/apps/v1/deployments``, ``/api/v1/namespaces/x`` (a Namespace).
    A path with parts that no resource can have (``..``, an empty one, an escape within an escape) is none: whoever
    reads it may see another resource in it than we do.
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watch = rest[0] == "watch"
    rest = rest[1:] if watch else rest
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
        if not _is_segment(namespace):
            return None
    said = (version, *rest[:3], *([group] if parts[0] == "apis" else []))
    if not rest or not all(map(_is_segment, said)):
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    return RequestInfo(group, version, plural, namespace, name, subresource, watch)


def _is_segment(part: str) -> bool:
    """What apimachinery lets be a segment of a path."""
    return part not in ("", ".", "..") and "%" not in part and part.isprintable()


def is_watch(info: RequestInfo, query: Mapping[str, list[str]]) -> bool:
    """Whether the answer to a GET is a stream of events; the query's boolean is read as the API server reads it."""
    said = query.get("watch")
    return info.watch or (said is not None and said[0].lower() not in ("false", "0"))
