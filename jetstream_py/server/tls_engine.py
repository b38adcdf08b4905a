"""TLS without sockets: bytes from the wire in, plain bytes and bytes for the wire out.

OpenSSL works on two memory buffers. What it may keep is bounded: before the handshake is done a client
can send `TLS_HANDSHAKE_BYTES`, fed in slices so that data behind its last handshake message does not
count; afterwards each call takes out everything that is complete, so at most one record (16 KiB) stays.
"""

from __future__ import annotations

import ssl
from typing import Final

from jetstream_py import limits

HANDSHAKE: Final = 0x16  # first byte of a ClientHello
_HEADS: Final = 9  # five bytes of a record, four of a message
_SLICE: Final = 4096
_READ: Final = 64 * 1024  # more than a record holds

FIRST_RECORD: Final = "tls: first record does not look like a TLS handshake"

_TOO_LONG: Final = "tls: handshake is longer than any can be"

# What Go would say, for logs that are searched.
_TEXTS: Final = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "tls: client didn't provide a certificate",
    "UNSUPPORTED_PROTOCOL": "tls: client offered only unsupported versions",
    "NO_SHARED_CIPHER": "tls: no cipher suite supported by both client and server",
    "TLSV1_ALERT_UNKNOWN_CA": "remote error: tls: unknown certificate authority",
    "SSLV3_ALERT_BAD_CERTIFICATE": "remote error: tls: bad certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "remote error: tls: unknown certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "remote error: tls: expired certificate",
    "DECRYPTION_FAILED_OR_BAD_RECORD_MAC": "local error: tls: bad record MAC",
}
_EXPIRED: Final = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID, ..._HAS_EXPIRED


class TlsFailure(Exception):
    """The connection cannot go on."""


class TlsEngine:
    """One connection's TLS."""

    __slots__ = (
        "_incoming",
        "_object",
        "_opening",
        "_outgoing",
        "_received",
        "ended",
        "first_bytes",
    )

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._received = 0
        self._opening = b""  # the heads of the first record and of the message in it
        self.ended = False  # the peer has said goodbye
        self.first_bytes = b""  # of a client that speaks something else

    def shake(self, data: bytes) -> bool:
        """Go on with the handshake. True when it is done; data that came with its end waits for
        `decrypt`. Raises `TlsFailure`; there may be an alert in `output` then."""
        if not self._received and data[0] != HANDSHAKE:
            self.first_bytes = data[:5]
            raise TlsFailure(FIRST_RECORD)
        if len(self._opening) < _HEADS:
            self._opening += data[: _HEADS - len(self._opening)]
            if int.from_bytes(self._opening[6:_HEADS], "big") > limits.TLS_HELLO:
                raise TlsFailure(_TOO_LONG)
        for start in range(0, len(data), _SLICE):
            piece = data[start : start + _SLICE]
            self._received += len(piece)
            if self._received > limits.TLS_HANDSHAKE_BYTES:
                raise TlsFailure(_TOO_LONG)
            self._incoming.write(piece)
            try:
                self._object.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                raise TlsFailure(describe(error)) from None
            if rest := data[start + _SLICE :]:
                self._incoming.write(rest)
            return True
        return False

    def decrypt(self, data: bytes = b"") -> bytes:
        """What the peer sent, as far as it is complete. Raises `TlsFailure`."""
        incoming, connection = self._incoming, self._object
        if data:
            incoming.write(data)
        parts = []
        try:
            # The conditions spare an exception for each read that ends with a record.
            while incoming.pending or connection.pending():
                part = connection.read(_READ)
                if not part:
                    self.ended = True
                    break
                parts.append(part)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise TlsFailure(describe(error)) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def encrypt(self, data: bytes) -> bytes:
        """Bytes for the wire. OpenSSL takes a record's worth at a time."""
        write = self._object.write
        sent = write(data)
        if sent < len(data):
            with memoryview(data) as rest:
                while sent < len(data):
                    sent += write(rest[sent:])
        return self._outgoing.read()

    def output(self) -> bytes:
        """What OpenSSL itself has to say: handshake messages, alerts, key updates."""
        return self._outgoing.read()

    def goodbye(self) -> bytes:
        """The alert that ends our side."""
        try:
            self._object.unwrap()
        except (ssl.SSLError, ValueError):
            pass  # the peer's goodbye is not waited for; or there was no handshake yet
        return self._outgoing.read()

    # -- who and how ------------------------------------------------------------------------------

    @property
    def version(self) -> str | None:
        """OpenSSL's name of it."""
        return self._object.version()

    @property
    def cipher(self) -> str:
        found = self._object.cipher()
        return found[0] if found else ""

    @property
    def started(self) -> bool:
        """Whether the client has sent anything."""
        return self._received > 0

    def peer_chain(self) -> list[bytes]:
        """The certificates that the client sent, its own first, as DER."""
        own = self._object.getpeercert(binary_form=True)
        if own is None:
            return []
        chain = getattr(self._object, "get_unverified_chain", None)  # Python 3.13
        if chain is not None:
            return list(chain())
        hidden = getattr(self._object, "_sslobj", None)  # 3.10 to 3.12 have it, under the table
        found = hidden.get_unverified_chain() if hidden is not None else None
        encoding = 2  # DER
        return [each.public_bytes(encoding) for each in found] if found else [own]


def describe(error: ssl.SSLError) -> str:
    """An error of OpenSSL in Go's words, or else in its own."""
    if isinstance(error, ssl.SSLCertVerificationError):
        code = error.verify_code
        what = "certificate signed by unknown authority"
        if code in _EXPIRED:
            what = "certificate has expired or is not yet valid"
        return f"tls: failed to verify certificate: x509: {what} ({error.verify_message})"
    reason = error.reason or "UNKNOWN"
    return _TEXTS.get(reason, f"tls: {reason.lower().replace('_', ' ')}")
