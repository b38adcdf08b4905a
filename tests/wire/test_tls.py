"""TLS on both servers: the same bytes, the same outcome."""

from __future__ import annotations

import signal
import ssl
import time
from collections.abc import Sequence
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from tests.support.certs import Authority
from tests.support.raw import RawClient, Silence
from tests.support.server import OURS, STOP_TIMEOUT, Server, Start
from tests.support.wire import PONG, connect
from tests.wire.secure import TlsClient, refused

PING = b"PING\r\n"
CLOSED = "TLS Handshake Failure"


def entered(server: Server, context: ssl.SSLContext) -> TlsClient:
    """A client that has read INFO and is through the handshake."""
    client = TlsClient(server.port, context)
    client.read_info()
    client.secure()
    return client


def reasons(server: Server, count: int) -> list[str]:
    """Why so many connections were closed, once they are."""
    deadline = time.monotonic() + STOP_TIMEOUT
    while len(found := server.monitor("/connz?state=closed")["connections"]) < count:
        assert time.monotonic() < deadline, found
    return sorted(each["reason"] for each in found)


def flags(info: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in info.items() if name.startswith("tls_")}


@pytest.mark.behaviour("TLS-001")
def test_info_then_handshake(start: Start, authority: Authority, tls_block: str) -> None:
    server = start(f"tls {{ {tls_block} }}")
    assert server.ports["nats"][0].startswith("tls://")
    with entered(server, authority.client_context()) as client:
        assert flags(client.info) == {"tls_required": True}
        assert client.exchange(connect(protocol=1)) == b""
        second = client.read_info()
        assert flags(second) == {"tls_required": True}
        large = b"x" * 300_000
        client.send(b"SUB a 1\r\nPUB a 300000\r\n" + large + b"\r\n")
        assert client.read_until(b"x\r\n").endswith(large + b"\r\n")
        client.send(b"NONSENSE\r\n")
        assert client.read_all() == b"-ERR 'Unknown Protocol Operation'\r\n"
    log = server.log()
    assert "TLS required for client connections" in log


@pytest.mark.behaviour("TLS-002")
def test_both_kinds_of_clients(start: Start, authority: Authority, tls_block: str) -> None:
    server = start(f"allow_non_tls: true, tls {{ {tls_block} timeout: 0.3 }}")
    with server.client() as plain:
        assert flags(plain.info) == {"tls_available": True}
        plain.send(b"P")
        plain.send(b"ING\r\n")
        assert plain.read_frame() == PONG
    with entered(server, authority.client_context()) as secured:
        assert secured.exchange(connect()) == b""
    with server.client() as unfinished:
        unfinished.send(b"\x16")
        assert unfinished.read_all() == b""
    server.wait_for_log("TLS available for client connections")


@pytest.mark.behaviour("TLS-003", "TLS-009")
def test_plain_and_silent_clients_are_closed(start: Start, tls_block: str) -> None:
    server = start(f"tls {{ {tls_block} timeout: 0.3 }}", ["-m", "-1", "-D"])
    for said in (connect() + PING, b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"):
        with server.client() as client:
            assert client.info["tls_required"] is True
            client.send(said)
            assert client.read_all() == b""
    assert reasons(server, 4) == [CLOSED] * 4
    server.wait_for_log("TLS handshake error: tls: first record does not look like a TLS handshake")
    if server.kind == OURS:  # nats-server notices some of these by the end of the connection
        server.wait_for_log("TLS handshake timeout")


@pytest.mark.behaviour("TLS-004")
def test_handshake_first(start: Start, authority: Authority, tls_block: str) -> None:
    config = f"tls {{ {tls_block} handshake_first: true, timeout: 0.3 }}"
    server = start(config, ["-m", "-1"])
    context = authority.client_context()
    with TlsClient(server.port, context, first=True) as client:
        assert flags(client.read_info()) == {"tls_required": True}
        assert client.exchange(connect()) == b""
        (shown,) = server.monitor("/connz")["connections"]
        assert shown["tls_first"] is True
    for said in (b"", connect()):
        with RawClient(server.port) as plain:
            plain.send(said)
            assert plain.read_all() == b""
    text = 'Clients that are not using "TLS Handshake First" option will fail to connect'
    assert text in server.log()


@pytest.mark.behaviour("TLS-005")
@pytest.mark.parametrize("mixed", [False, True])
def test_handshake_first_with_a_delay(
    start: Start, authority: Authority, tls_block: str, mixed: bool
) -> None:
    block = f'tls {{ {tls_block} handshake_first: "300ms", timeout: 2 }}'
    server = start(f"{block}, allow_non_tls: {str(mixed).lower()}")
    context = authority.client_context()
    available = {"tls_available": True} if mixed else {}
    with TlsClient(server.port, context, first=True) as eager:
        assert flags(eager.read_info()) == {"tls_required": True, **available}
    with entered(server, context) as patient:
        assert flags(patient.info) == (available or {"tls_required": True})
        assert patient.exchange(connect()) == b""
    with RawClient(server.port) as plain:
        plain.send(PING)
        assert plain.read_all() == b""


@pytest.mark.behaviour("TLS-006")
def test_clients_need_a_certificate(
    start: Start, authority: Authority, tls_block: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = start(f"tls {{ {tls_block} verify: true }}", ["-m", "-1"])
    good = authority.issue("good", [(NameOID.COMMON_NAME, "good")])
    stranger = Authority(tmp_path_factory.mktemp("strangers"), "Other CA").issue("stranger", [])
    with entered(server, authority.client_context(good)) as client:
        assert flags(client.info) == {"tls_required": True, "tls_verify": True}
        assert client.exchange(connect()) == b""
    assert refused(server.port, authority.client_context())
    assert refused(server.port, authority.client_context(stranger))
    server.wait_for_log("TLS handshake error: tls: client didn't provide a certificate")
    text = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    server.wait_for_log(text)
    assert reasons(server, 3) == ["Client Closed", CLOSED, CLOSED]


NAMES = (
    x509.RFC822Name("bob@x.com"),
    x509.DNSName("h.x.com"),
    x509.UniformResourceIdentifier("spiffe://x/y"),
)
PERSON = (
    (NameOID.COUNTRY_NAME, "US"),
    (NameOID.ORGANIZATION_NAME, "Acme, Inc"),
    (NameOID.ORGANIZATION_NAME, "Sales"),
    (NameOID.COMMON_NAME, "bob"),
)


@pytest.mark.behaviour("TLS-007")
@pytest.mark.parametrize(
    ("users", "chosen"),
    [
        (["bob@x.com", "h.x.com", "spiffe://x/y"], "bob@x.com"),
        (["spiffe://x/y", "h.x.com"], "h.x.com"),
        (["spiffe://x/y", r"CN=bob,O=Sales,O=Acme\\, Inc,C=US"], "spiffe://x/y"),
        ([r"CN=bob,O=Sales,O=Acme\\, Inc,C=US", "CN=bob"], r"CN=bob,O=Sales,O=Acme\, Inc,C=US"),
        ([r"C=US, O=Sales, O=Acme\\, Inc, CN=bob"], r"C=US, O=Sales, O=Acme\, Inc, CN=bob"),
        ([r"CN=bob,O=Acme\\, Inc+O=Sales,C=US"], r"CN=bob,O=Acme\, Inc+O=Sales,C=US"),
        (["bob", "CN=bob", "x.com"], ""),
    ],
)
def test_certificates_name_users(
    start: Start, authority: Authority, tls_block: str, users: Sequence[str], chosen: str
) -> None:
    listed = ", ".join(f'{{user: "{user}"}}' for user in users)
    config = f"tls {{ {tls_block} verify_and_map: true }}, authorization {{ users: [{listed}] }}"
    server = start(config, ["-m", "-1"])
    bob = authority.issue("bob", PERSON, NAMES)
    with entered(server, authority.client_context(bob)) as client:
        client.send(connect() + PING)
        if not chosen:
            assert client.read_all() == b"-ERR 'Authorization Violation'\r\n"
            return
        assert client.read_frame() == PONG
        (shown,) = server.monitor("/connz?auth=1")["connections"]
        assert shown["authorized_user"] == chosen


@pytest.mark.behaviour("TLS-008")
def test_certificates_are_read_again(start: Start, authority: Authority, tls_block: str) -> None:
    changing = authority.server("changing")
    block = f'tls {{ cert_file: "{changing.cert}", key_file: "{changing.key}" }}'
    server = start(block)
    with entered(server, authority.client_context()) as old:
        before = old.secured.getpeercert(binary_form=True)
        authority.server("changing")
        server.signal(signal.SIGHUP)
        server.wait_for_log("Reloaded server configuration")
        with entered(server, authority.client_context()) as new:
            assert new.secured.getpeercert(binary_form=True) != before
            assert new.exchange(connect()) == b""
        assert old.exchange(connect()) == b""


@pytest.mark.behaviour("TLS-010")
def test_monitoring_shows_how_clients_are_protected(
    start: Start, authority: Authority, tls_block: str
) -> None:
    server = start(f"tls {{ {tls_block} verify: true }}", ["-m", "-1"])
    bob = authority.issue("shown", PERSON, NAMES)
    context = authority.client_context(bob)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    with entered(server, context) as client:
        client.exchange(connect())
        (shown,) = server.monitor("/connz?auth=1")["connections"]
        certificate = shown["tls_peer_certs"][0]
        assert certificate == {
            "subject": r"CN=bob,O=Acme\, Inc+O=Sales,C=US",
            "spki_sha256": bob.pin,
            "cert_sha256": bob.fingerprint,
        }
        protection = {
            "tls_version": "1.2",
            "tls_cipher_suite": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        }
        assert {name: shown[name] for name in protection} == protection
        assert "tls_peer_certs" not in server.monitor("/connz")["connections"][0]
    with entered(server, authority.client_context(bob)) as client:
        client.exchange(connect())
        shown = server.monitor("/connz")["connections"][-1]
        assert shown["tls_version"] == "1.3"
        assert shown["tls_cipher_suite"].startswith("TLS_")


def test_too_many_handshakes(start: Start, authority: Authority, tls_block: str) -> None:
    server = start(f"tls {{ {tls_block} connection_rate_limit: 2 }}")
    clients = [RawClient(server.port) for _ in range(5)]
    throttled = 0
    for client in clients:
        client.read_info()
        try:
            throttled += b"throttling" in client.read_until(b"\r\n", timeout=0.2)
        except Silence:
            pass
        client.close()
    assert throttled == 3
    server.wait_for_log("Rejected 3 connections due to TLS rate limiting")


def test_pinned_certificates(start: Start, authority: Authority, tls_block: str) -> None:
    good, other = authority.issue("pin-good", []), authority.issue("pin-other", [])
    config = f'tls {{ {tls_block} verify: true, pinned_certs: ["%s"] }}'
    server = start(config % good.pin)
    assert refused(server.port, authority.client_context(other))
    server.wait_for_log("TLS handshake error: certificate not pinned")
    with entered(server, authority.client_context(good)) as client:
        assert client.exchange(connect()) == b""
        server.reload(config % other.pin)
        assert client.read_all() == b""
    server.wait_for_log("Disconnect 1 clients due to pinned certs reload")
