"""The proxy's certificates: an authority of its own, which lives as long as the process, and one server key."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))
"""Always, whatever the clock is set to; the key dies with the process. The end is RFC 5280's for no end at all."""


@dataclass(frozen=True)
class Certificates:
    """The server's TLS context and the authority that clients verify it with, PEM."""

    context: ssl.SSLContext
    authority: bytes


def make_certificates(directory: Path) -> Certificates:
    """Make both. The server key touches ``directory`` (mode 0600) only while it is being loaded."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key)
    server = _server(server_key, authority, authority_key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])  # upgrades (exec, port-forward) need it
    _load(context, server, server_key, directory)
    return Certificates(context, authority.public_bytes(serialization.Encoding.PEM))


def _builder(common_name: str) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)]))
        .serial_number(x509.random_serial_number())
        .not_valid_before(_VALID[0])
        .not_valid_after(_VALID[1])
    )


def _usage(*, sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign,
        key_cert_sign=sign,
        crl_sign=sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    """With all that Python 3.13's strict verification asks for: key usage and a subject key identifier."""
    builder = _builder("ansible-operator proxy authority")
    builder = builder.issuer_name(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ansible-operator proxy authority")])
    )
    return (
        builder.public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    loopback = [ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")]
    names = [x509.DNSName("localhost"), *(x509.IPAddress(address) for address in loopback)]
    return (
        _builder("localhost")
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )


def _load(
    context: ssl.SSLContext, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, directory: Path
) -> None:
    """OpenSSL's Python binding loads keys from files alone."""
    with tempfile.NamedTemporaryFile(dir=directory, prefix="proxy-server-") as file:  # mode 0600
        file.write(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        file.flush()
        context.load_cert_chain(Path(file.name))
