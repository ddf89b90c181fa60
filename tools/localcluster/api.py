"""The few requests this tool sends itself: probes, and a token for a ServiceAccount. Not a client for tests.

Proxies from the environment are never used: everything is on loopback.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from localcluster.errors import ApiError, ClusterError


class Api:
    """One user of one API server."""

    def __init__(self, server: str, ca_file: Path, token: str) -> None:
        self._server = server
        self._token = token
        self._opener = opener(ca_file)

    def request(self, method: str, path: str, body: dict[str, Any] | None = None, *, timeout: float = 10.0) -> Any:
        """The decoded answer. Raises ApiError for a refusal, ClusterError when nobody answers."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._server + path, data=data, headers=headers, method=method)  # noqa: S310  (https)
        try:
            with self._opener.open(request, timeout=timeout) as response:
                return _decode(response.read())
        except urllib.error.HTTPError as error:
            with error:
                raise ApiError(f"{method} {path}: {_reason(error.read(), error)}", error.code) from None
        except (OSError, urllib.error.URLError) as error:
            raise ClusterError(f"the API server at {self._server} does not answer: {error}") from error

    def succeeds(self, path: str) -> bool:
        try:
            self.request("GET", path, timeout=2)
        except ClusterError:
            return False
        return True


def opener(ca_file: Path | None) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if ca_file is not None:
        handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(ca_file))))
    return urllib.request.build_opener(*handlers)


def answers(probe: urllib.request.OpenerDirector, url: str) -> bool:
    """Whether a health endpoint says 200 right now."""
    try:
        with probe.open(url, timeout=2) as response:
            return bool(response.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _decode(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")  # /readyz and its kind answer plain text


def _reason(body: bytes, error: urllib.error.HTTPError) -> str:
    """A Kubernetes Status names the reason in words; anything else only has its HTTP status."""
    decoded = _decode(body)
    message = decoded.get("message") if isinstance(decoded, dict) else None
    return f"{error.code} {message or error.reason}"
