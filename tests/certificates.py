"""Certificates of servers on loopback, each signed by itself."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make_certificate(place: Path, names: Sequence[x509.GeneralName]) -> bytes:
    """Write a key and its certificate to one file.

    Args:
        place: the file.
        names: whom the certificate is for.

    Returns:
        The certificate alone, as PEM.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate = made.public_bytes(serialization.Encoding.PEM)
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    place.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain) + certificate)
    return certificate
