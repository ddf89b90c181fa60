"""One API client per run and identity: what a process per module makes anew for each task.

``kubernetes.core`` keeps its clients in a table of its own, by a digest of the configuration. Each table serves one
identity here: the module's authentication parameters, the whole environment, and the kubeconfig files as they are.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

_PACKAGE = "ansible_collections.kubernetes.core.plugins"
_CLIENT = f"{_PACKAGE}.module_utils.k8s.client"
_FILES = ("kubeconfig", "ca_cert", "ssl_ca_cert", "client_cert", "cert_file", "client_key", "key_file")
_IDENTITY = frozenset(
    (
        *_FILES,
        *("context", "host", "api_key", "username", "password", "validate_certs", "verify_ssl", "proxy", "no_proxy"),
        *("proxy_headers", "persist_config", "impersonate_user", "impersonate_groups"),
    )
)
_tables: dict[str, dict[str, Any]] = {}


class _Yaml:
    """The YAML library, fast where a kubeconfig is read; what the fast loader refuses the usual one explains."""

    def __getattr__(self, name: str) -> Any:
        return getattr(yaml, name)

    def safe_load(self, source: Any) -> Any:
        text = source.read() if hasattr(source, "read") else source
        try:
            return yaml.load(text, Loader=yaml.CSafeLoader)
        except (yaml.YAMLError, AttributeError):
            return yaml.safe_load(text)


def prepare() -> None:
    """Before the fork."""
    try:
        kube_config: Any = importlib.import_module("kubernetes.config.kube_config")
    except ImportError:
        return
    kube_config.yaml = _Yaml()


@contextmanager
def kept(module: str, parameters: bytes) -> Iterator[dict[str, Any]]:
    """While a module runs, the clients of its identity are at hand. Whoever empties the table gives them up."""
    library = sys.modules.get("kubernetes.client")
    if library is not None:
        library.Configuration._default = None
    if not module.startswith(_PACKAGE) or _CLIENT not in sys.modules:
        yield {}
        return
    client = sys.modules[_CLIENT]
    key = _identity(parameters)
    client._pool = table = _tables.setdefault(key, {})  # type: ignore[attr-defined]
    try:
        yield table
    finally:
        client._pool = {}  # type: ignore[attr-defined]
        if library is not None:
            library.Configuration._default = None


def _identity(parameters: bytes) -> str:
    arguments = json.loads(parameters)["ANSIBLE_MODULE_ARGS"]
    named = {name: value for name, value in arguments.items() if name in _IDENTITY}
    files = [named.get(name) for name in _FILES] + [
        os.environ.get(name) for name in os.environ if name.startswith("K8S_AUTH_")
    ]
    files += os.environ.get("KUBECONFIG", "~/.kube/config").split(os.pathsep)
    prints = [_print(file) for file in files if isinstance(file, str)]
    return json.dumps([named, sorted(os.environ.items()), prints], sort_keys=True, default=str)


def _print(file: str) -> tuple[int, int, int] | None:
    try:
        status = Path(file).expanduser().stat()
    except (OSError, ValueError, RuntimeError):
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
