"""Are the certificates of a `tls` block usable? Found out when the file is read, in Go's words."""

from __future__ import annotations

import re

from jetstream_py.config.account_options import Tls
from jetstream_py.config.errors import ConfigError
from jetstream_py.config.files import read_file

_PEM = re.compile(rb"^-----BEGIN ([A-Z0-9 ]+)-----", re.MULTILINE)
_PAIR = "error parsing X509 certificate/key pair"


def certificate_fault(tls: Tls) -> str:
    """Why clients could not be served with these files; empty when they can."""
    pairs = [(_PAIR, tls.cert_file, tls.key_file)] if tls.cert_file else []
    for number, (cert, key) in enumerate(tls.certs, 1):
        pairs.append((f"{_PAIR} {number}/{len(tls.certs)}", cert, key))
    for label, cert, key in pairs:
        if fault := _pair_fault(cert, key):
            return f"{label}: {fault}"
    return _ca_fault(tls.ca_file) if tls.ca_file else ""


def content_digest(tls: Tls) -> str:
    """Changes with the files."""
    from hashlib import sha256

    files = [
        tls.cert_file,
        tls.key_file,
        *(file for pair in tls.certs for file in pair),
        tls.ca_file,
    ]
    state = sha256()
    for file in filter(None, files):
        content = read_file(file)
        state.update(b"%d:" % len(content) + content)
    return state.hexdigest()


def _pair_fault(cert: str, key: str) -> str:
    try:
        certificates, keys = _PEM.findall(read_file(cert)), _PEM.findall(read_file(key))
    except ConfigError as error:
        return str(error)
    if not certificates:
        return "tls: failed to find any PEM data in certificate input"
    if b"CERTIFICATE" not in certificates:
        if any(_is_key(kind) for kind in certificates):
            return (
                "tls: failed to find certificate PEM data in certificate input, but did find a "
                "private key; PEM inputs may have been switched"
            )
        return 'tls: failed to find "CERTIFICATE" PEM block in certificate input'
    if not keys:
        return "tls: failed to find any PEM data in key input"
    if not any(map(_is_key, keys)):
        if b"CERTIFICATE" in keys:
            return "tls: found a certificate rather than a key in the PEM for the private key"
        return 'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input'
    return _mismatch(cert, key)


def _is_key(kind: bytes) -> bool:
    return kind.endswith(b"PRIVATE KEY")


def _mismatch(cert: str, key: str) -> str:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, password=lambda: "")
    except ssl.SSLError as error:
        return _OPENSSL.get(error.reason or "") or _unreadable(cert)
    except OSError as error:
        return str(error)
    return ""


_OPENSSL = {
    "KEY_VALUES_MISMATCH": "tls: private key does not match public key",
    "KEY_TYPE_MISMATCH": "tls: private key type does not match public key type",
    "NO_CERTIFICATE_ASSIGNED": "tls: private key type does not match public key type",
}


def _unreadable(cert: str) -> str:
    """Which of the two files is it?"""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=cert)
    except ssl.SSLError:
        return "x509: malformed certificate"
    return "tls: failed to parse private key"


def _ca_fault(file: str) -> str:
    import ssl

    try:
        read_file(file)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
    except ConfigError as error:
        return str(error)
    except (ssl.SSLError, OSError):
        return "failed to parse root ca certificate"
    return ""
