"""One API client per run and identity: what a process per module makes anew for each task.

``kubernetes.core`` keeps its clients in a table of its own, by a digest of the configuration. Each table serves one
identity here: the module's authentication parameters, the whole environment, and the kubeconfig files as they are.
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import re
import ssl
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ansible_operator.runner.worker.isolation import variables

_PACKAGE = "ansible_collections.kubernetes.core.plugins"
_CLIENT = f"{_PACKAGE}.module_utils.k8s.client"
_FILES = ("kubeconfig", "ca_cert", "ssl_ca_cert", "client_cert", "cert_file", "client_key", "key_file")
_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/token"
_NAMED = re.compile(
    r"""["']?\b(?:certificate-authority|client-certificate|client-key|tokenFile)["']?\s*:\s*["']?([^"'\s,}]+)"""
)
_KUBECONFIG_SIZE = 1 << 20
_Print = tuple[int, int, int]
IDENTITY = frozenset(
    (
        *_FILES,
        *("context", "host", "api_key", "username", "password", "validate_certs", "verify_ssl", "proxy", "no_proxy"),
        *("proxy_headers", "persist_config", "impersonate_user", "impersonate_groups"),
    )
)
_tables: dict[str, dict[str, Any]] = {}
_LOADED = "the run's own kubeconfig"
own_kubeconfig = [""]
"""The file that the operator has written for the run. It holds a token that lasts as long as the run."""


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


_proxies: list[tuple[dict[bytes, bytes], dict[str, str]]] = []


def _getproxies() -> dict[str, str]:
    """In place of the library's, which goes through the whole environment ten times for each client."""
    environment = variables()
    if not _proxies or _proxies[0][0] != environment:
        _proxies[:] = [(environment.copy(), urllib.request.getproxies())]
    return dict(_proxies[0][1])


def prepare() -> None:
    """Before the fork."""
    _begin_tls()
    try:
        kube_config: Any = importlib.import_module("kubernetes.config.kube_config")
        configuration: Any = importlib.import_module("kubernetes.client.configuration")
    except ImportError:
        return
    kube_config.yaml = _Yaml()
    configuration.getproxies = _getproxies


def _begin_tls() -> None:
    """OpenSSL looks for its algorithms when they are first needed. Random numbers it begins anew after a fork."""
    connection = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        connection.do_handshake()


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
    load = client._load_config
    client._load_config = lambda auth: _load_once(load, auth, table, library)  # type: ignore[attr-defined]
    try:
        yield table
    finally:
        client._pool, client._load_config = {}, load  # type: ignore[attr-defined]
        if library is not None:
            library.Configuration._default = None


def _load_once(load: Any, auth: dict[str, Any], table: dict[str, Any], library: Any) -> None:
    """The run's own kubeconfig is read once for each identity. Others may make new credentials at each reading."""
    named = auth.get("kubeconfig") or os.environ.get("KUBECONFIG")
    if named != own_kubeconfig[0] or auth.get("context"):
        load(auth)
        return
    known = table.get(_LOADED)
    if known is None:
        load(auth)
        table[_LOADED] = copy.deepcopy(library.Configuration._default)
    else:
        library.Configuration._default = copy.deepcopy(known)


@contextmanager
def own_default() -> Iterator[None]:
    """What lookups of a task make the library's default configuration goes with the task."""
    library = sys.modules.get("kubernetes.client")
    if library is None:
        yield
        return
    default = library.Configuration._default
    try:
        yield
    finally:
        library.Configuration._default = default


def _identity(parameters: bytes) -> str:
    arguments = json.loads(parameters)["ANSIBLE_MODULE_ARGS"]
    named = {name: value for name, value in arguments.items() if name in IDENTITY}
    files = [named.get(name) for name in _FILES] + [
        os.environ.get(name) for name in os.environ if name.startswith("K8S_AUTH_")
    ]
    files += [*os.environ.get("KUBECONFIG", "~/.kube/config").split(os.pathsep), _SERVICE_ACCOUNT]
    prints = [_prints(file) for file in files if isinstance(file, str)]
    return json.dumps([named, sorted(variables().items()), prints], sort_keys=True, default=str)


def _prints(file: str) -> list[Any]:
    """A file as it is, and the files that it names, where it is a kubeconfig."""
    try:
        path = Path(file).expanduser()
        own = _print(path)
        if own is None:
            return []
        return [own, *(_print(path.parent / name) for name in _named_in(str(path), own))]
    except (OSError, ValueError, RuntimeError):
        return []


def _print(path: Path) -> _Print | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


@cache
def _named_in(file: str, own: _Print) -> list[str]:
    del own  # a file that has changed is read again
    if not Path(file).is_file():
        return []
    with Path(file).open(errors="replace") as text:
        return _NAMED.findall(text.read(_KUBECONFIG_SIZE))
