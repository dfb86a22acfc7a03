"""Certificates with which one command's proxy answers for registries that need credentials.

The proxy cannot add a header to encrypted traffic between a program inside and a registry. So it
ends that encryption itself, and the sandbox of this one command trusts an authority made for it.
The authority can vouch only for the registries (RFC 5280, name constraints). Its key exists only
in this process's memory, and only as long as the command.
"""

import ssl
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from activities.adapters.sandbox.processes.descriptors import memory_file

_LASTS = timedelta(days=2)


class InnerAuthority:
    """Vouches, inside one sandbox, for the registries that it was made for."""

    def __init__(self, hosts: Iterable[str]) -> None:
        """Make the authority.

        Args:
            hosts: their normal names; it can vouch for no others.
        """
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("Blue Flame, one set-up command")
        permitted = x509.NameConstraints([x509.DNSName(each) for each in hosts], None)
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=False,
            encipher_only=False,
            decipher_only=False,
        )
        own = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._certificate = (
            _begun(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(permitted, critical=True)
            .add_extension(usage, critical=True)
            .add_extension(own, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def certificate(self) -> str:
        """The authority's own certificate, PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def context(self, host: str) -> ssl.SSLContext:
        """Return the TLS context that answers as a host."""
        if host not in self._contexts:
            self._contexts[host] = _server(self._identity(host))
        return self._contexts[host]

    def _identity(self, host: str) -> bytes:
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        certificate = (
            _begun(_named("registry"), self._name, key.public_key())
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage, critical=False)
            .add_extension(issuer, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return private + certificate.public_bytes(serialization.Encoding.PEM)


def _server(identity: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with open(memory_file(identity, "identity"), "rb") as file:
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
    context.set_alpn_protocols(["http/1.1"])
    return context


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LASTS)
        .not_valid_after(now + _LASTS)
    )
