"""A key that the parts of a server show each other, so that they talk to nobody else."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kepler_train.local.files import write_private

_LIFETIME = timedelta(days=3650)  # of one start of the server
_CLOCK_STEP = timedelta(days=1)


class MutualTls:
    """A private key and a certificate of it that signs itself, both server's and client's, for 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        self.key, self.certificate = folder / "key.pem", folder / "certificate.pem"

    def make(self) -> None:
        """Write a new key and its certificate."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kepler-train")])
        here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - _CLOCK_STEP)
            .not_valid_after(now + _LIFETIME)
            .add_extension(here, critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_private(self.key, private.decode())
        write_private(self.certificate, certificate.public_bytes(Encoding.PEM).decode())
