"""Keys and certificates of one cluster: a certificate authority, the serving certificate, the ServiceAccount key.

Elliptic curve keys throughout: they are made in a millisecond where RSA takes a tenth of a second. The certificates
pass the strict checks that Python 3.13 turns on by default (key usage and key identifiers present, serial positive).
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from localcluster.layout import write_private

_LIFETIME = datetime.timedelta(days=365)
_DNS_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


@dataclass(frozen=True)
class PkiFiles:
    """The files in the cluster's `pki` directory. Private keys are readable by their owner only."""

    directory: Path

    @property
    def ca(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def serving_certificate(self) -> Path:
        return self.directory / "serving.crt"

    @property
    def serving_key(self) -> Path:
        return self.directory / "serving.key"

    @property
    def kubelet_client_certificate(self) -> Path:
        """What the API server shows a kubelet, for logs and exec."""
        return self.directory / "kubelet-client.crt"

    @property
    def kubelet_client_key(self) -> Path:
        return self.directory / "kubelet-client.key"

    @property
    def service_account_key(self) -> Path:
        return self.directory / "sa.key"

    @property
    def service_account_public_key(self) -> Path:
        return self.directory / "sa.pub"


def create_pki(directory: Path, *addresses: str) -> PkiFiles:
    """Make everything anew, for an API server that answers on loopback and on these addresses. The authority's key is
    not kept: nothing is signed after this."""
    files = PkiFiles(directory)
    ca_key, serving_key, client_key, account_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(4))
    ca = _authority(ca_key)
    write_private(files.ca, _pem(ca))
    write_private(files.serving_certificate, _pem(_serving_certificate(serving_key, ca, ca_key, addresses)))
    write_private(files.serving_key, _private_pem(serving_key))
    write_private(files.kubelet_client_certificate, _pem(_kubelet_client_certificate(client_key, ca, ca_key)))
    write_private(files.kubelet_client_key, _private_pem(client_key))
    write_private(files.service_account_key, _private_pem(account_key))
    public = account_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_private(files.service_account_public_key, public.decode())
    return files


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = _name("localcluster-ca")
    builder = _builder(name, name, key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(sign_certificates=True), critical=True)
    return builder.sign(key, hashes.SHA256())


def _serving_certificate(
    key: ec.EllipticCurvePrivateKey,
    ca: x509.Certificate,
    ca_key: ec.EllipticCurvePrivateKey,
    addresses: Sequence[str],
) -> x509.Certificate:
    ips = [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1", *addresses)]
    names = [x509.DNSName(name) for name in _DNS_NAMES]
    builder = _leaf(_name("kube-apiserver"), key, ca, ca_key, ExtendedKeyUsageOID.SERVER_AUTH)
    builder = builder.add_extension(x509.SubjectAlternativeName([*names, *ips]), critical=False)
    return builder.sign(ca_key, hashes.SHA256())


def _kubelet_client_certificate(
    key: ec.EllipticCurvePrivateKey, ca: x509.Certificate, ca_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    group = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters")
    name = x509.Name([group, *_name("kube-apiserver-kubelet-client")])
    return _leaf(name, key, ca, ca_key, ExtendedKeyUsageOID.CLIENT_AUTH).sign(ca_key, hashes.SHA256())


def _leaf(
    name: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    ca: x509.Certificate,
    ca_key: ec.EllipticCurvePrivateKey,
    usage: x509.ObjectIdentifier,
) -> x509.CertificateBuilder:
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    builder = _builder(name, ca.subject, key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(sign_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return builder.add_extension(authority, critical=False)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))  # clocks of virtual machines jump
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _private_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
