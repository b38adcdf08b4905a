"""Certificates made on the fly: an authority, a server and clients of any name."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_START = datetime.datetime(2020, 1, 1)
_END = datetime.datetime(2120, 1, 1)
_SERVER = ("localhost", "127.0.0.1")


class Pair(NamedTuple):
    """A certificate and its key, as files."""

    cert: Path
    key: Path

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the whole certificate."""
        return hashlib.sha256(self._load().public_bytes(serialization.Encoding.DER)).hexdigest()

    @property
    def pin(self) -> str:
        """SHA-256 of the public key, as `pinned_certs` has it."""
        key = self._load().public_key()
        der = key.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return hashlib.sha256(der).hexdigest()

    def _load(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.cert.read_bytes())


class Authority:
    """Signs what tests need. Everything lies in one directory."""

    def __init__(self, directory: Path, name: str = "Test CA") -> None:
        self.directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._serial = 1
        cert = self._sign(self._name, self._key.public_key(), (), authority=True)
        self.cert = directory / f"{name.replace(' ', '-').lower()}.pem"
        self.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))

    def server(self, file: str = "server", names: Sequence[str] = _SERVER) -> Pair:
        return self.issue(file, [(NameOID.COMMON_NAME, "localhost")], [_host(n) for n in names])

    def issue(
        self,
        file: str,
        subject: Sequence[tuple[x509.ObjectIdentifier, str]],
        names: Sequence[x509.GeneralName] = (),
    ) -> Pair:
        """A certificate with this subject, in the order given, and these alternative names."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(oid, value) for oid, value in subject])
        cert = self._sign(name, key.public_key(), names)
        pair = Pair(self.directory / f"{file}.pem", self.directory / f"{file}.key")
        pair.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair

    def client_context(self, pair: Pair | None = None) -> ssl.SSLContext:
        """What a client needs that trusts this authority, and is `pair`."""
        context = ssl.create_default_context(cafile=str(self.cert))
        if pair is not None:
            context.load_cert_chain(pair.cert, pair.key)
        return context

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        names: Sequence[x509.GeneralName],
        authority: bool = False,
    ) -> x509.Certificate:
        self._serial += 1
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(self._serial)
            .not_valid_before(_START)
            .not_valid_after(_END)
            .add_extension(x509.BasicConstraints(authority, None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
