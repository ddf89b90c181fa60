"""Where the API server is and how to authenticate: kubeconfig or ServiceAccount, with credentials that are renewed."""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

import aiohttp
from kubernetes.aio import config as kube_config
from kubernetes.aio.client import Configuration
from kubernetes.aio.config.config_exception import ConfigException
from kubernetes.aio.config.incluster_config import InClusterConfigLoader
from yarl import URL

from ansible_operator.kube.dial import Streams, dial
from ansible_operator.model.errors import StartError
from ansible_operator.telemetry.logs import get_logger

log = get_logger("connection")

_RENEW_AFTER = 60.0
"""Seconds after which credentials are read again; the kubelet rewrites a token long before it expires."""

_MAX_HEADER = 2**16
"""Bytes of one header of an answer; warnings of admission webhooks may be long."""

_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
"""Seconds of silence before the peer is asked, between questions, how many, and milliseconds that data may wait."""

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

Load = Callable[[], Awaitable[Configuration]]
"""Reads the credentials from where they stand. Raises StartError."""


class Connection:
    """One aiohttp session to the API server, and the headers that authenticate a request.

    ``load`` reads the credentials again, None where they stay as they are; ``clock`` counts seconds, and is not the
    one on the wall: that may be set back while a token expires.
    """

    def __init__(self, loaded: Configuration, load: Load | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._token = _token(loaded)
        self._load = load
        self._clock = clock
        self._renewed = clock()
        self.base = URL(loaded.host)
        self.ssl = _ssl_context(loaded) if self.base.scheme == "https" else None
        self.server_name: str | None = loaded.tls_server_name or None
        self._session: aiohttp.ClientSession | None = None

    @property
    def host(self) -> str:
        """The API server's URL."""
        return str(self.base)

    @property
    def session(self) -> aiohttp.ClientSession:
        """The session, made at first use, since aiohttp wants a running loop."""
        if self._session is None or self._session.closed:
            connector = aiohttp.TCPConnector(
                limit=0, ssl=self.ssl if self.ssl is not None else True, socket_factory=_watchful_socket
            )
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
        return await dial(self.base, self.ssl, trust_env=self._trust_env, server_name=self.server_name)

    @property
    def _trust_env(self) -> bool:
        return not _is_loopback(self.base.host or "")

    async def headers(self) -> dict[str, str]:
        """The headers that authenticate a request, with credentials at most a minute old."""
        if self._clock() - self._renewed > _RENEW_AFTER:
            await self.renew()
        return {"Authorization": self._token} if self._token else {}

    async def renew(self) -> None:
        """Read the credentials again; the old ones stay where that fails."""
        self._renewed = self._clock()
        if self._load is None:
            return
        try:
            self._token = _token(await self._load())
        except StartError as error:
            log.warning("credentials cannot be read again", error=str(error))

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()


def _watchful_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """One that notices within a minute that its peer is gone without a word; client-go asks its peers by HTTP/2."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if (option := getattr(socket, name, None)) is not None:  # not every system has all
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


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
        load = partial(_load_service_account, environment)
        return Connection(await load(), load)
    configuration = await _load_file(file)
    try:
        return Connection(configuration, partial(_load_file, file))
    except (OSError, ValueError) as error:  # files that it names, certificates in them
        raise _unusable(file, error) from error


def _config_file(environment: Mapping[str, str]) -> str | None:
    """The kubeconfig to use; None for the pod's ServiceAccount."""
    file = environment.get("KUBECONFIG")
    if not file and (_SERVICE_ACCOUNT / "token").exists():
        return None
    file = file or str(Path("~/.kube/config").expanduser())
    if not any(Path(part).is_file() for part in file.split(os.pathsep)):
        raise StartError(f"no cluster: {file} does not exist; set KUBECONFIG, or run inside a cluster")
    return file


async def _load_service_account(environment: Mapping[str, str]) -> Configuration:
    """As the kubelet has mounted it. The loader's own renewal goes by the clock on the wall, and raises anything."""
    configuration = Configuration()
    files = (str(_SERVICE_ACCOUNT / "token"), str(_SERVICE_ACCOUNT / "ca.crt"))
    try:
        loader = InClusterConfigLoader(*files, try_refresh_token=False, environ=environment)
        loader.load_and_set(configuration)
    except (ConfigException, OSError, ValueError) as error:
        raise StartError(f"the pod's ServiceAccount cannot be used: {error}") from error
    return configuration


async def _load_file(file: str) -> Configuration:
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


def _token(configuration: Configuration) -> str:
    """What the header says; a file may end with a line break, which no header may."""
    return (configuration.api_key.get("BearerToken") or "").strip()


def _ssl_context(configuration: Configuration) -> ssl.SSLContext:
    """As the Python client makes it, but with HTTP/1.1 alone, which upgrades need."""
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
