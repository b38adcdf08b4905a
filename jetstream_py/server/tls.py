"""TLS settings of a listener: from a `tls` block to contexts.

A `Contexts` belongs to a listener and outlives reloads: handshakes that start after one see the new
certificates, connections that are there go on with theirs. Sessions are not resumed; a ticket would
be a second key to keep, and a handshake costs less than a millisecond.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence

from jetstream_py.config.account_options import Tls
from jetstream_py.log import Log
from jetstream_py.server.tls_suites import CURVES, VERSIONS, openssl_ciphers
from jetstream_py.timers import Timers

REPORT = 1.0  # seconds for which refused handshakes are counted before the log tells


class TlsError(Exception):
    """Certificates or settings that cannot be used."""


def server_context(tls: Tls) -> ssl.SSLContext:
    """The context for a listener. With several certificates the name that the client asks for
    chooses; the first one serves all other names. Raises `TlsError`."""
    pairs = [(tls.cert_file, tls.key_file)] if tls.cert_file else []
    pairs += tls.certs
    contexts = [_context(tls, cert, key) for cert, key in pairs]
    if not contexts:
        raise TlsError("missing 'cert_file' in TLS configuration")
    if tls.verify or tls.verify_and_map or tls.pinned_certs or len(contexts) > 1:
        _require_cryptography()
    if len(contexts) > 1:
        _choose_by_name(contexts, [cert for cert, _ in pairs])
    return contexts[0]


def _require_cryptography() -> None:
    from importlib.util import find_spec

    if find_spec("cryptography") is None:
        text = "certificates of clients, or several of one's own, need cryptography"
        raise TlsError(f"{text}: pip install 'jetstream-py[tls]'")


def _context(tls: Tls, cert: str, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[tls.min_version]
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_NO_TICKET
    # TLS 1.3 suites cannot be put in order, so the client's order is the better one.
    context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    context.num_tickets = 0
    try:
        context.set_ciphers(openssl_ciphers(tls.cipher_suites))
        _prefer_curve(context, tls.curve_preferences)
        context.load_cert_chain(cert, key or None, password=_no_password)
        if tls.verify or tls.verify_and_map:
            _verify_clients(context, tls.ca_file)
    except (OSError, ValueError) as error:  # SSLError is an OSError
        raise TlsError(f"error parsing X509 certificate/key pair {cert}: {error}") from error
    return context


def _no_password() -> str:
    """Or OpenSSL would ask at the terminal."""
    return ""


def _prefer_curve(context: ssl.SSLContext, names: Sequence[str]) -> None:
    """Python sets one curve or none. Where several are allowed OpenSSL's own list stands, which
    holds all of them."""
    if len(names) == 1 and names[0] in CURVES:
        context.set_ecdh_curve(CURVES[names[0]])


def _verify_clients(context: ssl.SSLContext, ca_file: str) -> None:
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN  # any of the file's is enough
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    else:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)


def _choose_by_name(contexts: list[ssl.SSLContext], files: list[str]) -> None:
    from jetstream_py.server.certificates import host_names

    names = [host_names(file) for file in files]

    def choose(connection: ssl.SSLObject, asked: str | None, _: ssl.SSLContext) -> None:
        for context, known in zip(contexts, names, strict=True):
            if asked is not None and covers(known, asked):
                connection.context = context
                return

    contexts[0].sni_callback = choose


def covers(known: Sequence[str], asked: str) -> bool:
    """Whether a certificate with these names is one for `asked`. `*` stands for one label."""
    asked = asked.lower().rstrip(".")
    _, dot, domain = asked.partition(".")
    return asked in known or (bool(dot) and f"*.{domain}" in known)


class Contexts:
    """The current context of a listener, and the count of its handshakes."""

    def __init__(self, tls: Tls, timers: Timers, log: Log) -> None:
        self.tls = tls
        self.context = server_context(tls)
        self._timers = timers
        self._log = log
        self._rejected = 0  # handshakes refused, and not in the log yet
        self._window_end = 0.0
        self._started = 0

    def apply(self, tls: Tls) -> None:
        """Take reloaded settings and read the files again. Raises `TlsError` and stays as it is."""
        self.context = server_context(tls)
        self.tls = tls

    def may_shake(self) -> bool:
        """Whether `connection_rate_limit` lets another handshake start now."""
        limit = self.tls.connection_rate_limit
        if not limit:
            return True
        now = self._timers.clock.monotonic()
        if now > self._window_end:
            self._window_end = now + 1.0
            self._started = 0
        self._started += 1
        if self._started <= limit:
            return True
        if not self._rejected:
            self._timers.call_later(REPORT, self._report)
        self._rejected += 1
        return False

    def _report(self) -> None:
        self._log.warn(f"Rejected {self._rejected} connections due to TLS rate limiting")
        self._rejected = 0
