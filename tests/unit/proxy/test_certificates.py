"""The proxy's certificates satisfy the strictest client, and leave no key behind."""

from __future__ import annotations

import contextlib
import os
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from ansible_operator.proxy.certificates import Certificates, make_certificates


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


def test_a_clock_that_is_a_little_behind_does_no_harm(tmp_path: Path) -> None:
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    authority = x509.load_pem_x509_certificate(make_certificates(tmp_path, now).authority)
    assert authority.not_valid_before_utc <= now - timedelta(minutes=30)
    assert authority.not_valid_after_utc >= now + timedelta(days=365)


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
