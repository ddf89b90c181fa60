"""What the proxy changes in the head of a message: credentials and the connection's own headers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from ansible_operator.proxy.requestinfo import Target

_CREDENTIALS = frozenset({"authorization", "host"})
_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"}
    | {"transfer-encoding", "upgrade"}
)
_STAY = _CREDENTIALS | _HOP_BY_HOP | {"content-length", "expect"}
"""The length is set anew with the body; ``100 Continue`` is between the client and us."""

_STAY_AT_UPGRADES = _CREDENTIALS | (_HOP_BY_HOP - {"connection", "upgrade"})


def forwardable(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """The headers that belong to the message and not to one connection, and no credentials."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _STAY)


def upstream_url(base: URL, target: Target) -> URL:
    """The same path and query at the API server, byte for byte."""
    return URL(f"{base.origin()}{base.raw_path.rstrip('/')}{target.raw}", encoded=True)


def upgrade_head(request: web.BaseRequest, target: Target, base: URL, credentials: Mapping[str, str]) -> bytes:
    """The head of a request, as it came but for credentials and host, with its ``Connection`` and ``Upgrade``."""
    first = f"{request.method} {base.raw_path.rstrip('/')}{target.raw} HTTP/1.1"
    ours = {"Host": base.host_port_subcomponent or "", **credentials}
    lines = [first.encode(), *(f"{name}: {value}".encode() for name, value in ours.items())]
    for name, value in request.raw_headers:
        if name.decode("latin-1").lower() not in _STAY_AT_UPGRADES:
            lines.append(name + b": " + value)
    return b"\r\n".join(lines) + b"\r\n\r\n"
