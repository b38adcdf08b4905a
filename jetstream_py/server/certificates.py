"""What certificates say: names for authentication and for monitoring, in Go's spelling.

`cryptography` is imported when the first certificate is read: only servers that map certificates to
users, or that are asked about them, need it.

Two spellings of a subject matter. Go's (`go_subject`) sorts known attributes into an order of its own
and is what `/connz` shows; the distinguished name (`attributes`) keeps the order of the certificate and
is what users are compared with, first in that order, then in any.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from jetstream_py import limits

if TYPE_CHECKING:
    from cryptography import x509

_DOMAIN: Final = "0.9.2342.19200300.100.1.25"
# By OID, in the order in which Go writes the subject of a certificate.
_GO_NAMES: Final = {
    "2.5.4.5": "SERIALNUMBER",
    "2.5.4.3": "CN",
    "2.5.4.17": "POSTALCODE",
    "2.5.4.9": "STREET",
    "2.5.4.8": "ST",
    "2.5.4.7": "L",
    "2.5.4.11": "OU",
    "2.5.4.10": "O",
    "2.5.4.6": "C",
}
_DN_NAMES: Final = {**_GO_NAMES, _DOMAIN: "DC"}
_ONE_VALUE: Final = ("2.5.4.5", "2.5.4.3")  # of several the last counts
_ESCAPED: Final = ',+"\\<>;'

_HEX_PAIR: Final = re.compile("[0-9a-fA-F]{2}")
_PRINTABLE: Final = re.compile("[A-Za-z0-9 '()+,./:=?-]*")

# A relative name: its attributes, type in upper case and value.
Relative = frozenset[tuple[str, str]]


class PeerCert(msgspec.Struct, frozen=True):
    """A certificate as `/connz?auth=1` shows it."""

    subject: str
    spki_sha256: str
    cert_sha256: str


class Peer:
    """The client as its certificate names it."""

    def __init__(self, der: bytes) -> None:
        from cryptography import x509

        self._cert = x509.load_der_x509_certificate(der)

    def alternatives(self) -> list[str]:
        """Mail addresses, then host names, then URIs."""
        from cryptography import x509

        try:
            found = self._cert.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
            return []
        kinds = (x509.RFC822Name, x509.DNSName, x509.UniformResourceIdentifier)
        return [name for kind in kinds for name in found.value.get_values_for_type(kind)]

    def subjects(self) -> list[str]:
        """The subject as a user may be called literally: with its domain components, if it has any,
        and without."""
        known = go_subject(self._cert.subject, all_attributes=False)
        domains = [
            f"DC={attribute.value!s}"
            for attribute in self._cert.subject
            if attribute.oid.dotted_string == _DOMAIN
        ]
        return [",".join([known, *reversed(domains)]), known] if domains else [known]

    def user(self, known: Collection[str]) -> str:
        """Which of these users it is, or "". The order is nats-server's: alternative names, the
        distinguished name, the same in any order, the subject as written by Go."""
        for name in self.alternatives():
            if name in known:
                return name
        if own := attributes(self._cert.subject):
            parsed = {user: parse_dn(user) for user in known if "=" in user}
            for user, theirs in parsed.items():
                if theirs == own:
                    return user
            for user, theirs in parsed.items():
                if _same_in_any_order(theirs, own):
                    return user
        return next((name for name in self.subjects() if name in known), "")


def describe(chain: Iterable[bytes]) -> list[PeerCert]:
    """Certificates for monitoring."""
    from cryptography import x509

    found = []
    for der in chain:
        cert = x509.load_der_x509_certificate(der)
        digest = hashlib.sha256(der).hexdigest()
        found.append(PeerCert(go_subject(cert.subject), key_digest(der), digest))
    return found


def key_digest(der: bytes) -> str:
    """SHA-256 of a certificate's public key, as `pinned_certs` has it."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = x509.load_der_x509_certificate(der).public_key()
    return hashlib.sha256(
        key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    ).hexdigest()


def not_after(file: str) -> int:
    """Until when the certificate in a file is valid, in seconds since 1970."""
    return _not_after(file, os.stat(file).st_mtime_ns)


@lru_cache(16)
def _not_after(file: str, changed_ns: int) -> int:
    from cryptography import x509

    with open(file, "rb") as source:
        cert = x509.load_pem_x509_certificate(source.read(limits.CERTIFICATE_FILE))
    return round(cert.not_valid_after_utc.timestamp())


def host_names(file: str) -> list[str]:
    """The names that a server's certificate is for."""
    from cryptography import x509

    with open(file, "rb") as pem:
        cert = x509.load_pem_x509_certificate(pem.read())
    try:
        found = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return [name.lower() for name in found.value.get_values_for_type(x509.DNSName)]


# -- subjects --------------------------------------------------------------------------------------


def go_subject(name: x509.Name, all_attributes: bool = True) -> str:
    """A subject as Go writes it: known attributes by kind, equal kinds as one relative name, the
    others last, by number and as DER."""
    known: dict[str, list[str]] = {}
    others = []
    for attribute in name:
        oid, value = attribute.oid.dotted_string, str(attribute.value)
        if oid in _ONE_VALUE:
            known[oid] = [value]
        elif oid in _GO_NAMES:
            known.setdefault(oid, []).append(value)
        else:
            others.append(f"{oid}=#{_der_text(value)}")
    parts = [
        "+".join(f"{short}={_escape(value)}" for value in known[oid])
        for oid, short in _GO_NAMES.items()
        if oid in known
    ]
    if all_attributes:
        parts += reversed(others)
    return ",".join(parts)


def _escape(value: str) -> str:
    text = "".join(f"\\{char}" if char in _ESCAPED else char for char in value)
    if text.startswith(("#", " ")):
        text = "\\" + text
    if text.endswith(" ") and len(text) > 1:
        text = text[:-1] + "\\ "
    return text


def _der_text(value: str) -> str:
    text = value.encode()
    length = bytes([len(text) & 0x7F])
    if len(text) >= 0x80:
        octets = len(text).to_bytes(3, "big").lstrip(b"\0")
        length = bytes([0x80 | len(octets)]) + octets
    tag = b"\x13" if _PRINTABLE.fullmatch(value) else b"\x0c"
    return (tag + length + text).hex()


def attributes(name: x509.Name) -> list[Relative]:
    """A subject as relative names, the last one first; nothing if an attribute has no short name."""
    found: list[Relative] = []
    for relative in reversed(list(name.rdns)):
        pairs = []
        for attribute in relative:
            short = _DN_NAMES.get(attribute.oid.dotted_string)
            if short is None:
                return []
            pairs.append((short, str(attribute.value)))
        found.append(frozenset(pairs))
    return found


def parse_dn(text: str) -> list[Relative]:
    """A distinguished name in the text form of RFC 4514; nothing if it is none."""
    found: list[Relative] = []
    pairs: list[tuple[str, str]] = []
    for attribute, separator in _attributes(text):
        kind, equals, value = attribute
        if not equals or not kind or value.startswith("#"):
            return []
        pairs.append((kind.upper(), value))
        if separator != "+":
            found.append(frozenset(pairs))
            pairs = []
    return found


def _attributes(text: str) -> Iterable[tuple[tuple[str, str, str], str]]:
    """(type, "=", value) and what follows it, with escapes undone and blanks around them gone."""
    kind, equals, value = "", "", bytearray()
    kept = 0  # of the value, up to here blanks are wanted
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\":
            raw, at = _unescape(text, at)
            value += raw
            kept = len(value)
        elif char == "=" and not equals:
            kind, equals, value, kept = value.decode(errors="replace").strip(), "=", bytearray(), 0
        elif char in ",+":
            yield (kind, equals, _stripped(value, kept)), char
            kind, equals, value, kept = "", "", bytearray(), 0
        elif char != " " or value:
            value += char.encode()
    if value or equals:
        yield (kind, equals, _stripped(value, kept)), ""


def _unescape(text: str, at: int) -> tuple[bytes, int]:
    if pair := _HEX_PAIR.match(text, at):
        return bytes.fromhex(pair[0]), at + 2
    return text[at : at + 1].encode(), at + 1


def _stripped(value: bytearray, kept: int) -> str:
    end = max(kept, len(value.rstrip(b" ")))
    return value[:end].decode(errors="replace")


def _same_in_any_order(these: Sequence[Relative], those: Sequence[Relative]) -> bool:
    rest = list(those)
    for relative in these:
        if relative not in rest:
            return False
        rest.remove(relative)
    return not rest
