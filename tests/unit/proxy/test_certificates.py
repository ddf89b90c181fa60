"""The proxy's certificates satisfy the strictest client, and leave no key behind."""

from __future__ import annotations

import contextlib
import os
import ssl
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from cryptography import x509

from ansible_operator.kube.client import Client
from ansible_operator.kube.discovery import Discovery
from ansible_operator.model.errors import StartError
from ansible_operator.proxy.certificates import Certificates, make_certificates
from ansible_operator.proxy.server import Proxy
from tests.support.upstream import Received, front


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("work"))


def client(authority: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


def handshake(certificates: Certificates, context: ssl.SSLContext, host: str) -> ssl.SSLObject:
    """What the client's side looks like after a handshake in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = context.wrap_bio(to_client, to_server, server_hostname=host)
    far = certificates.context.wrap_bio(to_server, to_client, server_side=True)
    for side in (near, far, near, far):  # hello, hello and certificate, finished, done
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return near


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_strict_client_trusts_it_as(certificates: Certificates, host: str) -> None:
    near = handshake(certificates, client(certificates.authority), host)
    assert near.version() == "TLSv1.3"


@pytest.mark.parametrize("host", ["example.com", "127.0.0.2", "kubernetes.default.svc"])
def test_and_by_no_other_name(certificates: Certificates, host: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(certificates, client(certificates.authority), host)


def test_only_http_1_1_is_offered_since_upgrades_need_it(certificates: Certificates) -> None:
    near = handshake(certificates, client(certificates.authority), "localhost")
    assert near.selected_alpn_protocol() == "http/1.1"


def test_an_older_client_is_served_as_well(certificates: Certificates) -> None:
    context = client(certificates.authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = context.wrap_bio(to_client, to_server, server_hostname="localhost")
    far = certificates.context.wrap_bio(to_server, to_client, server_side=True)
    for side in (near, far) * 3:
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    assert near.version() == "TLSv1.2"


def test_every_process_has_an_authority_of_its_own(certificates: Certificates, tmp_path: Path) -> None:
    other = make_certificates(tmp_path)
    assert other.authority != certificates.authority
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(certificates, client(other.authority), "localhost")


def test_the_authority_signs_for_servers_only_and_no_further_authority(certificates: Certificates) -> None:
    authority = x509.load_pem_x509_certificate(certificates.authority)
    basic = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert basic.critical
    assert (basic.value.ca, basic.value.path_length) == (True, 0)
    assert authority.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_a_clock_that_is_set_while_they_serve_does_no_harm(certificates: Certificates) -> None:
    """A machine may begin with a clock of long ago, and one in use may be set to any time."""
    near = handshake(certificates, client(certificates.authority), "localhost")
    server = x509.load_der_x509_certificate(near.getpeercert(binary_form=True) or b"")
    for certificate in (server, x509.load_pem_x509_certificate(certificates.authority)):
        assert certificate.not_valid_before_utc <= datetime(1970, 1, 1, tzinfo=UTC)
        assert certificate.not_valid_after_utc >= datetime(2200, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=oct)
def test_the_key_is_only_ours_to_read_while_it_is_loaded_and_gone_afterwards(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    load = ssl.SSLContext.load_cert_chain

    def spy(self: ssl.SSLContext, file: Path) -> None:
        modes.append(stat.S_IMODE(file.stat().st_mode))
        load(self, file)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spy)
    before = os.umask(umask)
    try:
        make_certificates(tmp_path)
    finally:
        os.umask(before)
    assert modes == [0o600]
    assert list(tmp_path.iterdir()) == []


async def test_the_authoritys_file_goes_with_the_proxy_but_not_with_one_that_finds_its_port_taken(
    tmp_path: Path,
) -> None:
    async with front(nothing, tmp_path) as first:
        late = Proxy(cast(Client, None), cast(Discovery, None), int(first.proxy.url.rpartition(":")[2]), tmp_path)
        with pytest.raises(StartError, match="--proxy-port"):
            await late.start()
        await late.stop()
        assert files(tmp_path) == [first.proxy.authority_file]
    assert files(tmp_path) == []


async def nothing(_request: Received) -> bytes:
    return b""


def files(directory: Path) -> list[Path]:
    return list(directory.iterdir())
