"""TLS without sockets: in any cut, within bounds."""

from __future__ import annotations

import random
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetstream_py import limits
from jetstream_py.config.account_options import Tls
from jetstream_py.server.tls import TlsError, covers, server_context
from jetstream_py.server.tls_engine import FIRST_RECORD, TlsEngine, TlsFailure
from tests.support.certs import Authority, Pair
from tests.wire.secure import MemoryClient

CONNECT = b"CONNECT {}\r\nPING\r\n"


@pytest.fixture(scope="module")
def context(pair: Pair) -> ssl.SSLContext:
    return server_context(Tls(cert_file=str(pair.cert), key_file=str(pair.key)))


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    chance = random.Random(size)
    while data:
        cut = chance.randint(1, size)
        yield data[:cut]
        data = data[cut:]


def shaken(
    context: ssl.SSLContext, authority: Authority, size: int = 1 << 20
) -> tuple[TlsEngine, MemoryClient]:
    engine, client = TlsEngine(context), MemoryClient(authority.client_context())
    flight = client.shake()
    done = False
    while flight:
        for piece in pieces(flight, size):
            done = engine.shake(piece)
        flight = client.shake(engine.output())
    assert done
    return engine, client


@pytest.mark.parametrize("size", [1, 7, 100, 5000, 1 << 20])
def test_any_cut_gives_the_same_plain_bytes(
    context: ssl.SSLContext, authority: Authority, size: int
) -> None:
    engine, client = shaken(context, authority, size)
    sent = bytes(range(256)) * 300
    wire = client.encrypt(sent[:50_000]) + client.encrypt(sent[50_000:])
    assert b"".join(engine.decrypt(piece) for piece in pieces(wire, size)) == sent
    answer = engine.encrypt(sent * 3)
    assert client.decrypt(answer) == sent * 3


def test_data_behind_the_handshake_is_not_lost(
    context: ssl.SSLContext, authority: Authority
) -> None:
    engine, client = TlsEngine(context), MemoryClient(authority.client_context())
    engine.shake(client.shake())
    last = client.shake(engine.output())
    large = b"x" * 200_000
    assert engine.shake(last + client.encrypt(CONNECT) + client.encrypt(large))
    assert engine.decrypt() == CONNECT + large


def test_goodbye_of_either_side(context: ssl.SSLContext, authority: Authority) -> None:
    engine, client = shaken(context, authority)
    assert engine.decrypt(client.encrypt(b"last") + client.goodbye()) == b"last"
    assert engine.ended
    assert client.decrypt(engine.encrypt(b"bye") + engine.goodbye()) == b"bye"


@pytest.mark.parametrize("data", [b"CONNECT {}\r\n", b"GET / HTTP/1.1\r\n", b"\0" * 9])
def test_other_protocols_are_recognised_and_get_no_alert(
    context: ssl.SSLContext, data: bytes
) -> None:
    engine = TlsEngine(context)
    with pytest.raises(TlsFailure, match=FIRST_RECORD):
        engine.shake(data)
    assert engine.output() == b""
    assert engine.first_bytes == data[:5]


def test_a_record_that_was_changed_ends_the_connection(
    context: ssl.SSLContext, authority: Authority
) -> None:
    engine, client = shaken(context, authority)
    wire = bytearray(client.encrypt(b"PING\r\n"))
    wire[-1] ^= 1
    with pytest.raises(TlsFailure):
        engine.decrypt(bytes(wire))


def test_a_handshake_without_end_is_bounded(context: ssl.SSLContext) -> None:
    """A ClientHello that claims to be as long as its field allows, in records that never end."""
    engine = TlsEngine(context)
    record = b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + b"\x03\x03" + b"a" * (16384 - 6)
    flood = record * (2 * limits.TLS_HANDSHAKE_BYTES // len(record))
    with pytest.raises(TlsFailure):
        engine.shake(flood)


def test_a_certificate_for_each_name(authority: Authority, pair: Pair, tmp_path: Path) -> None:
    other = authority.server("other", ["*.example.org", "b.example.com"])
    both = Tls(certs=tuple((str(each.cert), str(each.key)) for each in (pair, other)))
    context = server_context(both)
    for name, expected in [
        ("localhost", pair), ("x.example.org", other), ("b.example.com", other),
        ("a.b.example.org", pair), ("unknown", pair),
    ]:  # fmt: skip
        client = MemoryClient(authority.client_context())
        client.object = _asking(name).wrap_bio(
            client.incoming, client.outgoing, server_hostname=name
        )
        engine = TlsEngine(context)
        engine.shake(client.shake())
        engine.shake(client.shake(engine.output()))
        shown = client.object.getpeercert(binary_form=True)
        assert shown is not None
        assert ssl.DER_cert_to_PEM_cert(shown) == expected.cert.read_text(), name


def _asking(name: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def test_wildcards_stand_for_one_label() -> None:
    assert covers(["*.a.b"], "X.a.b")
    assert not covers(["*.a.b"], "x.y.a.b")
    assert not covers(["*.a.b"], "a.b")


@pytest.mark.parametrize("broken", ["cert", "key", "mismatch", "missing", "nothing"])
def test_files_that_cannot_be_used_are_refused(
    authority: Authority, pair: Pair, tmp_path: Path, broken: str
) -> None:
    text = tmp_path / "text.pem"
    text.write_text("no certificate")
    other = authority.issue("other-key", [])
    files = {
        "cert": (text, pair.key),
        "key": (pair.cert, text),
        "mismatch": (pair.cert, other.key),
        "missing": (tmp_path / "none", pair.key),
        "nothing": ("", ""),
    }[broken]
    with pytest.raises(TlsError):
        server_context(Tls(cert_file=str(files[0]), key_file=str(files[1])))


def test_looking_at_certificates_needs_a_library(
    authority: Authority, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    files = {"cert_file": str(pair.cert), "key_file": str(pair.key)}
    server_context(Tls(**files))  # type: ignore[arg-type]
    with pytest.raises(TlsError, match=r"jetstream-py\[tls\]"):
        server_context(Tls(**files, verify=True, ca_file=str(authority.cert)))  # type: ignore[arg-type]


def test_versions_and_suites_can_be_chosen(authority: Authority, pair: Pair) -> None:
    files = {"cert_file": str(pair.cert), "key_file": str(pair.key)}
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    context = server_context(Tls(**files, cipher_suites=(suite,), curve_preferences=("CurveP384",)))  # type: ignore[arg-type]
    client_context = authority.client_context()
    client_context.maximum_version = ssl.TLSVersion.TLSv1_2
    client = MemoryClient(client_context)
    engine = TlsEngine(context)
    done = engine.shake(client.shake())
    while not done:
        done = engine.shake(client.shake(engine.output()))
    assert engine.version == "TLSv1.2"
    assert engine.cipher == "ECDHE-ECDSA-AES256-GCM-SHA384"
    newest = server_context(Tls(**files, min_version="1.3"))  # type: ignore[arg-type]
    with pytest.raises(TlsFailure, match="unsupported versions"):
        TlsEngine(newest).shake(MemoryClient(client_context).shake())
