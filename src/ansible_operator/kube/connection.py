"""Where the API server is and how to authenticate: kubeconfig or ServiceAccount, with credentials that are renewed."""

from __future__ import annotations

import ipaddress
import os
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import aiohttp
from kubernetes.aio import config as kube_config
from kubernetes.aio.client import Configuration
from yarl import URL

from ansible_operator.kube.dial import Streams, dial
from ansible_operator.model.errors import StartError

_RENEW_AFTER = 60.0
"""Seconds after which credentials are read again; the kubelet rewrites a token long before it expires."""

_MAX_HEADER = 2**16
"""Bytes of one header of an answer; warnings of admission webhooks may be long."""

_IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


class Connection:
    """One aiohttp session to the API server, and the headers that authenticate a request."""

    def __init__(
        self, loaded: Configuration, config_file: str | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._configuration = loaded
        self._config_file = config_file
        self._clock = clock
        self._renewed = clock()
        self.base = URL(loaded.host)
        self.ssl = _ssl_context(loaded) if self.base.scheme == "https" else None
        self._session: aiohttp.ClientSession | None = None

    @property
    def host(self) -> str:
        """The API server's URL."""
        return str(self.base)

    @property
    def session(self) -> aiohttp.ClientSession:
        """The session, made at first use, since aiohttp wants a running loop."""
        if self._session is None or self._session.closed:
            connector = aiohttp.TCPConnector(limit=0, ssl=self.ssl if self.ssl is not None else True)
            self._session = aiohttp.ClientSession(
                connector=connector,
                trust_env=self._trust_env,
                cookie_jar=aiohttp.DummyCookieJar(),  # one run's cookies are not another's
                auto_decompress=False,
                read_bufsize=2**18,
                max_line_size=_MAX_HEADER,
                max_field_size=_MAX_HEADER,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            )
        return self._session

    async def open(self) -> Streams:
        """A raw connection of its own, for a tunnel; the caller closes it. Raises OSError, TimeoutError."""
        return await dial(self.base, self.ssl, trust_env=self._trust_env)

    @property
    def _trust_env(self) -> bool:
        return not _is_loopback(self.base.host or "")

    async def headers(self) -> dict[str, str]:
        """The headers that authenticate a request, with credentials at most a minute old."""
        if self._config_file is not None and self._clock() - self._renewed > _RENEW_AFTER:
            await self.renew()
        credentials = await self._configuration.get_api_key_with_prefix("BearerToken")
        return {"Authorization": credentials} if credentials else {}

    async def renew(self) -> None:
        """Read the credentials of the kubeconfig again; the old ones stay where that fails."""
        self._renewed = self._clock()
        try:
            fresh = await _load_file(self._config_file) if self._config_file is not None else self._configuration
        except StartError:
            return
        self._configuration.api_key = fresh.api_key

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()


def _is_loopback(host: str) -> bool:
    """Then a proxy in the environment is not for it, as in Go programs."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def connect(environment: Mapping[str, str]) -> Connection:
    """A connection by ``KUBECONFIG``, the pod's ServiceAccount, or ``~/.kube/config``, in this order.

    Raises StartError where none of them can be used.
    """
    file = _config_file(environment)
    if file is None:
        configuration = Configuration()
        kube_config.load_incluster_config(client_configuration=configuration)
        return Connection(configuration, None)
    configuration = await _load_file(file)
    try:
        return Connection(configuration, file)
    except (OSError, ValueError) as error:  # files that it names, certificates in them
        raise _unusable(file, error) from error


def _config_file(environment: Mapping[str, str]) -> str | None:
    """The kubeconfig to use; None for the pod's ServiceAccount."""
    file = environment.get("KUBECONFIG")
    if not file and _IN_CLUSTER.exists():
        return None
    file = file or str(Path("~/.kube/config").expanduser())
    if not any(Path(part).is_file() for part in file.split(os.pathsep)):
        raise StartError(f"no cluster: {file} does not exist; set KUBECONFIG, or run inside a cluster")
    return file


async def _load_file(file: str | None) -> Configuration:
    configuration = Configuration()
    try:
        await kube_config.load_kube_config(config_file=file, client_configuration=configuration)
    except Exception as error:  # the loader raises whatever its YAML, files and plugins raise
        raise _unusable(file, error) from error
    if not configuration.host or "://" not in configuration.host:
        raise StartError(f"kubeconfig {file} names no server in its current context")
    return configuration


def _unusable(file: str | None, error: Exception) -> StartError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return StartError(f"kubeconfig {file} cannot be used: {reason}")


def _ssl_context(configuration: Configuration) -> ssl.SSLContext:
    """As the Python client makes it, but with HTTP/1.1 alone, which upgrades need."""
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
