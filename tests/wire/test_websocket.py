"""WebSocket on both servers: the same bytes, the same answers."""

from __future__ import annotations

import hashlib
import re
import signal
from collections.abc import Iterator, Sequence

import pytest
from cryptography.x509.oid import NameOID

from tests.jwt.world import Chain
from tests.support.certs import Authority
from tests.support.raw import RawClient
from tests.support.server import KINDS, Kind, Server, Servers, Start, run
from tests.support.wire import connect
from tests.wire import websocket as ws
from tests.wire.secure import TlsClient

LISTEN = 'listen: "127.0.0.1:-1"'
PLAIN = f"websocket {{ {LISTEN}, no_tls: true, handshake_timeout: 1s }}"
NEWEST_CLOSED = "/connz?state=closed&sort=stop&limit=1"
QUIET = connect()
DATE = re.compile(rb"Date: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r\n")


@pytest.fixture(scope="module", params=KINDS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One plain websocket server of each kind for all tests that need no other."""
    with Servers(tmp_path_factory.mktemp("websocket")) as servers:
        yield servers.start(request.param, PLAIN, ["-m", "-1", "-D"])


def open_to(server: Server, headers: dict[str, str | None] | None = None) -> RawClient:
    """A connection after its upgrade and INFO."""
    client = RawClient(ws.port(server))
    head = ws.upgraded(client, ws.request(headers))
    assert head.startswith(b"HTTP/1.1 101 "), head
    return client


def answer_to(server: Server, asking: bytes) -> bytes:
    """The head of an answer, and its body if that is announced."""
    with RawClient(ws.port(server)) as client:
        client.send(asking)
        head = client.read_until(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        body = client.read(int(length[1])) if length else b""
        return DATE.sub(b"", head) + body


def conversation(server: Server, frames: Sequence[bytes], **headers: str) -> bytes:
    """All that the server says after INFO, up to its end of the connection."""
    with open_to(
        server, {key.replace("_", "-"): value for key, value in headers.items()}
    ) as client:
        for each in frames:
            client.send(each)
        return client.read_all()


def refusal(status: str) -> bytes:
    text = status[4:]
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Sec-Websocket-Version: 13\r\nX-Content-Type-Options: nosniff\r\n"
        f"Content-Length: {len(text) + 1}\r\n\r\n{text}\n"
    ).encode()


SWITCHED = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: " + ws.ACCEPT + b"\r\n"
)


# -- the upgrade -----------------------------------------------------------------------------------


@pytest.mark.behaviour("WS-001", "WS-002")
def test_upgrade_and_info(server: Server) -> None:
    with RawClient(ws.port(server)) as client:
        client.send(ws.request({"Sec-WebSocket-Protocol": "nats"}, path="/any/path?x=y"))
        assert client.read_until(b"\r\n\r\n") == SWITCHED + b"\r\n"
        first = ws.read_frame(client)
        assert first[0] == 0x82
        assert ws.content(first).startswith(b'INFO {"server_id":"N')
        assert f'"port":{ws.port(server)},'.encode() in first


@pytest.mark.behaviour("WS-003", "WS-004", "WS-005")
@pytest.mark.parametrize(
    ("asking", "status"),
    [
        (ws.request({"Sec-WebSocket-Version": "12"}), "400 Bad Request"),
        (ws.request({"Sec-WebSocket-Version": None}), "400 Bad Request"),
        (ws.request({"Upgrade": None}), "400 Bad Request"),
        (ws.request({"Upgrade": "h2c"}), "400 Bad Request"),
        (ws.request({"Connection": None}), "400 Bad Request"),
        (ws.request({"Sec-WebSocket-Key": None}), "400 Bad Request"),
        (ws.request({"Sec-WebSocket-Key": "c2hvcnQ="}), "400 Bad Request"),
        (ws.request(method="POST"), "405 Method Not Allowed"),
        (ws.request(method="HEAD", path="/x/mqtt"), "404 Not Found"),
        (ws.request(path="/mqtt"), "404 Not Found"),
    ],
)
def test_refused_upgrades(server: Server, asking: bytes, status: str) -> None:
    if asking.startswith(b"HEAD"):
        assert answer_to_head(server, asking).startswith(f"HTTP/1.1 {status}\r\n".encode())
        return
    assert answer_to(server, asking) == refusal(status)


def answer_to_head(server: Server, asking: bytes) -> bytes:
    with RawClient(ws.port(server)) as client:
        client.send(asking)
        return client.read_until(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("asking", "answer"),
    [
        (b"NONSENSE\r\n\r\n", b"400 Bad Request"),
        (b"CONNECT {}\r\nPING\r\n\r\n", b"400 Bad Request"),
        (b"\r\n" + ws.request(), b"400 Bad Request"),
        (ws.request(path="nowhere"), b"400 Bad Request"),
        (ws.request(path="/%zz"), b"400 Bad Request"),
        (ws.request({"Host": None}), b"400 Bad Request: missing required Host header"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nx\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nx y: z\r\n\r\n", b"400 Bad Request: invalid header name"),
        (ws.request().replace(b"HTTP/1.1", b"HTTP/2.0"),
         b"505 HTTP Version Not Supported: unsupported protocol version"),
        (ws.request({"X": "y" * 2_000_000}), b"431 Request Header Fields Too Large"),
    ],
)  # fmt: skip
def test_what_is_no_request(server: Server, asking: bytes, answer: bytes) -> None:
    with RawClient(ws.port(server)) as client:
        client.send(asking)
        assert client.read_all() == (
            b"HTTP/1.1 " + answer + b"\r\nContent-Type: text/plain; charset=utf-8\r\n"
            b"Connection: close\r\n\r\n" + answer
        )


@pytest.mark.parametrize(
    "asking",
    [
        ws.request({"Connection": "keep-alive, upgrade", "Upgrade": "x, WebSocket"}),
        ws.request().replace(b"\r\n", b"\n"),
        ws.request().replace(b"HTTP/1.1", b"HTTP/1.0"),
        ws.request({"Sec-WebSocket-Extensions": "permessage-deflate"}),
        ws.request({"X": "y" * 15_000}),
    ],
)
def test_unusual_upgrades(server: Server, asking: bytes) -> None:
    with RawClient(ws.port(server)) as client:
        assert ws.upgraded(client, asking) == SWITCHED + b"\r\n"


def test_bytes_behind_the_request_and_silence_end_the_connection(server: Server) -> None:
    for said in (ws.request() + ws.frame(b"PING\r\n"), b"", b"GET / HTTP/1.1\r\nHost: x\r\n"):
        with RawClient(ws.port(server)) as client:
            client.send(said)
            assert client.read_all() == b""


def test_leafnodes_are_let_in_and_out_again(server: Server) -> None:
    with RawClient(ws.port(server)) as client:
        client.send(ws.request(path="/leafnode"))
        assert client.read_all() == SWITCHED + b"\r\n"
    server.wait_for_log("Not configured to accept leaf node connections")


def test_headers_of_the_answer(start: Start) -> None:
    server = start(f'websocket {{ {LISTEN}, no_tls: true, headers {{ X-Own: "a b" }} }}')
    with RawClient(ws.port(server)) as client:
        head = ws.upgraded(client, ws.request({"Nats-No-Masking": "true"}))
        assert head == SWITCHED + b"Nats-No-Masking: true\r\nX-Own: a b\r\n\r\n"
        client.send(ws.frame(b"PING\r\n", masked=False))
        assert ws.content(ws.read_frame(client)) == b"PONG\r\n"


@pytest.mark.behaviour("WS-012")
@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://127.0.0.1", True), ("http://127.0.0.1:80", True), ("HTTP://127.0.0.1", True),
        ("https://127.0.0.1", False), ("http://127.0.0.1:81", False), ("http://example.com", False),
        ("nowhere", False), ("null", False), ("http://[::1", False), (None, True),
    ],
)  # fmt: skip
def test_same_origin(same_origin: Server, origin: str | None, allowed: bool) -> None:
    answer = answer_to(same_origin, ws.request({"Origin": origin}))
    assert answer == (SWITCHED + b"\r\n" if allowed else refusal("403 Forbidden"))


@pytest.fixture(scope="module", params=KINDS)
def same_origin(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    block = f"websocket {{ {LISTEN}, no_tls: true, same_origin: true }}"
    with Servers(tmp_path_factory.mktemp("origin")) as servers:
        yield servers.start(request.param, block)


@pytest.mark.behaviour("WS-012")
def test_allowed_origins(start: Start) -> None:
    origins = '["http://a.com", "https://b.com:8443"]'
    server = start(f"websocket {{ {LISTEN}, no_tls: true, allowed_origins: {origins} }}")
    for origin, allowed in [
        ("http://a.com", True), ("http://A.com", True), ("http://a.com:80", True),
        ("https://a.com", False), ("https://b.com", False), ("https://b.com:8443", True),
    ]:  # fmt: skip
        answer = answer_to(server, ws.request({"Origin": origin}))
        assert (b" 101 " in answer) is allowed, origin
        answer = answer_to(server, ws.request({"Sec-WebSocket-Origin": origin}))
        assert (b" 101 " in answer) is allowed, origin


# -- frames ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("WS-006")
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (ws.frame(b"PING\r\n", masked=False), "mask bit missing"),
        (ws.frame(b"PING\r\n", flags=0x20), "RSV2 and RSV3 must be clear"),
        (ws.frame(b"PING\r\n", 3), "unknown opcode 3"),
        (ws.frame(b"PING\r\n", 0), "invalid continuation frame"),
        (ws.frame(b"x" * 126, ws.PING),
         "control frame length bigger than maximum allowed of 125 bytes"),
        (ws.deflated(b"PING\r\n"),
         "compressed frame received without negotiated permessage-deflate"),
        (ws.close(999), "invalid close status code 999"),
    ],
)  # fmt: skip
def test_wrong_frames(server: Server, wrong: bytes, text: str) -> None:
    """nats-server's close frame does not always make it before the end of the connection."""
    said = conversation(server, [wrong])
    assert ws.content(said) == b""
    assert ws.close_code(said) in ((1002, text), (0, ""))
    server.wait_for_log(f"read error: {text}")
    while not (closed := server.monitor(NEWEST_CLOSED)["connections"]):
        pass  # nats-server writes its log first
    assert closed[0]["reason"] == "Read Error"


@pytest.mark.behaviour("WS-007")
def test_pings(server: Server) -> None:
    said = conversation(
        server, [ws.frame(b"hello", ws.PING), ws.frame(b"", ws.PONG), ws.close(1000)]
    )
    assert said == ws.frame(b"hello", ws.PONG, masked=False) + ws.frame(
        b"\x03\xe8", ws.CLOSE, masked=False
    )


@pytest.mark.behaviour("WS-008")
def test_close_frames(server: Server) -> None:
    for sent, answered in [
        (b"", b""),
        (b"\x03\xe8bye", b"\x03\xe8bye"),
        (b"\x0b\xb8" + b"x" * 123, b"\x0b\xb8" + b"x" * 123),
        (b"\x03\xe8\xff", b"\x03\xefinvalid utf8 body in close frame"),
    ]:
        said = conversation(server, [ws.frame(sent, ws.CLOSE)])
        assert said == ws.frame(answered, ws.CLOSE, masked=False)
    before = conversation(server, [ws.frame(b"PING\r\n") + ws.close(1001)])
    assert ws.content(before) == b"PONG\r\n"
    assert ws.close_code(before) == (1001, "")


@pytest.mark.behaviour("WS-009")
def test_fragments(server: Server) -> None:
    pieces = [
        ws.frame(QUIET + b"SUB a 1\r\nPUB a 1", final=False),
        ws.frame(b"between", ws.PING),
        ws.frame(b"1\r\nhel", 0, final=False),
        ws.frame(b"", 0, final=False),
        ws.frame(b"lo world\r\nPING\r\n", 0),
    ]
    stream = b"".join(pieces)
    for cut in (pieces, [stream], [bytes([byte]) for byte in stream]):
        with open_to(server) as client:
            for piece in cut:
                client.send(piece)
            assert ws.read_content(client, b"PONG") == b"MSG a 1 11\r\nhello world\r\nPONG\r\n"


@pytest.mark.behaviour("WS-010")
def test_many_lines_in_a_frame_and_many_frames(server: Server) -> None:
    with open_to(server) as client:
        client.send(
            ws.frame(QUIET + b"SUB a 1\r\n" + b"PUB a 1\r\nx\r\n" * 100 + b"PING\r\n", ws.TEXT)
        )
        assert ws.read_content(client, b"PONG") == b"MSG a 1 1\r\nx\r\n" * 100 + b"PONG\r\n"
        client.send(b"".join(ws.frame(bytes([byte])) for byte in b"PUB a 1\r\ny\r\nPING\r\n"))
        assert ws.read_content(client, b"PONG") == b"MSG a 1 1\r\ny\r\nPONG\r\n"
        large = bytes(range(256)) * 4000
        client.send(ws.frame(b"PUB a %d\r\n" % len(large) + large + b"\r\nPING\r\n"))
        assert ws.read_content(client, b"PONG\r\n").removeprefix(b"MSG a 1 1024000\r\n") == (
            large + b"\r\nPONG\r\n"
        )


# -- compression -----------------------------------------------------------------------------------

COMPRESSED = f"websocket {{ {LISTEN}, no_tls: true, compression: true }}"


@pytest.mark.behaviour("WS-011")
def test_compression(start: Start) -> None:
    server = start(COMPRESSED, ["-m", "-1"])
    with RawClient(ws.port(server)) as client:
        head = ws.upgraded(client, ws.request(dict(ws.DEFLATE)))
        agreed = b"permessage-deflate; server_no_context_takeover; client_no_context_takeover"
        assert head == SWITCHED + b"Sec-WebSocket-Extensions: " + agreed + b"\r\n\r\n"
        lines = QUIET + b"SUB a 1\r\n" + b"PUB a 80\r\n" + b"x" * 80 + b"\r\nPING\r\n"
        packed = ws.deflate(lines)
        client.send(ws.frame(packed[:9], final=False, flags=0x40) + ws.frame(packed[9:], 0))
        said = ws.read_frame(client)
        assert said[0] == 0xC2
        assert ws.content(said) == b"MSG a 1 80\r\n" + b"x" * 80 + b"\r\nPONG\r\n"
        client.send(ws.frame(b"PING\r\n") + ws.deflated(b"PUB b 1\r\nx\r\n"))
        assert ws.read_frame(client) == ws.frame(b"PONG\r\n", masked=False)
    with open_to(server) as plain:
        plain.send(ws.frame(QUIET + b"PING\r\n" * 20))
        assert ws.read_content(plain, b"PONG\r\n" * 20) == b"PONG\r\n" * 20


@pytest.mark.behaviour("WS-011")
def test_a_message_inflates_to_the_largest_payload_at_most(start: Start) -> None:
    server = start(COMPRESSED + ", max_payload: 100000", ["-m", "-1"])
    most = QUIET + b"PUB a 90000\r\n" + b"x" * 90_000 + b"\r\n"
    with open_to(server, dict(ws.DEFLATE)) as client:
        for _ in range(3):
            client.send(ws.deflated(most + b"PING\r\n"))
            assert ws.read_content(client, b"PONG") == b"PONG\r\n"
        client.send(ws.deflated((b"PUB a 40000\r\n" + b"x" * 40_000 + b"\r\n") * 50))
        client.read_all()
    server.wait_for_log("read error: maximum payload exceeded")


@pytest.mark.behaviour("WS-011")
@pytest.mark.parametrize(
    ("agent", "firsts"),
    [
        ("Mozilla/5.0 (X11) Chrome/99 Safari/5", [0x42, 0x00, 0x80]),
        ("Mozilla/5.0 (Mac) Version/15 Safari/5", [0xC2]),
        ("curl/8", [0xC2]),
    ],
)
def test_frames_for_browsers(start: Start, agent: str, firsts: list[int]) -> None:
    server = start(COMPRESSED)
    noise = b"".join(hash_of(i) for i in range(320))
    with open_to(server, {**ws.DEFLATE, "User-Agent": agent}) as client:
        client.send(ws.frame(QUIET + b"SUB a 1\r\nPUB a 10240\r\n" + noise + b"\r\n"))
        frames: list[bytes] = []
        while not frames or not frames[-1][0] & 0x80:
            frames.append(ws.read_frame(client))
    assert [each[0] for each in frames] == firsts
    assert ws.content(b"".join(frames)) == b"MSG a 1 10240\r\n" + noise + b"\r\n"


def hash_of(number: int) -> bytes:
    return hashlib.sha256(b"%d" % number).digest()


# -- who -------------------------------------------------------------------------------------------

USERS = "authorization { users: [{user: a, password: pa}, {user: b, password: pb}], timeout: 0.5 }"


def said_after(server: Server, options: bytes, **headers: str) -> bytes:
    """What a CONNECT and a PING bring."""
    with open_to(server, dict(headers)) as client:
        client.send(ws.frame(b"CONNECT " + options + b"\r\nPING\r\n" + b"PING\r\n"))
        if b"-ERR" in (said := ws.read_content(client, b"\r\n")):
            said += ws.read_frame(client)
            return said
        return said


REFUSED = b"-ERR 'Authorization Violation'\r\n" + ws.frame(
    b"\x03\xf0Authentication Failure", ws.CLOSE, masked=False
)


@pytest.mark.behaviour("WS-015")
def test_refused_credentials(start: Start) -> None:
    server = start(f"{PLAIN}, {USERS}")
    assert said_after(server, b'{"user":"a","pass":"no"}') == REFUSED
    with open_to(server) as client:
        client.send(ws.frame(b"PING\r\n"))
        said = client.read_all()
        assert ws.content(said) == b"-ERR 'Authorization Violation'\r\n"
        assert ws.close_code(said) == (1008, "Authentication Failure")
    with open_to(server) as client:
        said = client.read_all()
        assert ws.content(said) == b"-ERR 'Authentication Timeout'\r\n"
        assert ws.close_code(said) == (1008, "Authentication Timeout")


@pytest.mark.behaviour("WS-014")
def test_cookies(start: Start) -> None:
    block = f"websocket {{ {LISTEN}, no_tls: true, user_cookie: u, pass_cookie: p }}"
    server = start(f"{block}, {USERS}")
    quiet = b'{"verbose":false}'
    for cookie, options, admitted in [
        ("u=a; p=pa", quiet, True),
        ('u="a"; p="pa"', quiet, True),
        ("p=no; u=a; p=pa", quiet, True),
        ("u=a", quiet, False),
        ("u=a", b'{"verbose":false,"pass":"pa"}', True),
        ("u=b; p=pb", b'{"verbose":false,"user":"a","pass":"pa"}', True),
        ("u=a; p=pa", b'{"verbose":false,"user":"x","pass":"y"}', False),
    ]:
        said = said_after(server, options, Cookie=cookie)
        assert said.startswith(b"PONG") if admitted else said == REFUSED, cookie
    server = start(
        f"websocket {{ {LISTEN}, no_tls: true, token_cookie: t }}, authorization {{ token: tok }}"
    )
    assert said_after(server, quiet, Cookie="t=tok").startswith(b"PONG")
    assert said_after(server, quiet, Cookie="t=no") == REFUSED


@pytest.mark.behaviour("WS-013")
def test_a_jwt_as_cookie(start: Start) -> None:
    chain = Chain()
    block = f"websocket {{ {LISTEN}, no_tls: true, jwt_cookie: token }}"
    server = start(chain.config(more=block))
    quiet = b'{"verbose":false}'
    bearer = chain.user.jwt(nats={"bearer_token": True})
    assert said_after(server, quiet, Cookie=f"token={bearer}").startswith(b"PONG")
    assert said_after(server, quiet, Cookie=f"token={chain.user.jwt()}") == REFUSED  # not signed
    assert said_after(server, quiet, Cookie=f"other={bearer}") == REFUSED
    wrong = b'{"verbose":false,"jwt":"wrong"}'
    assert said_after(server, wrong, Cookie=f"token={bearer}") == REFUSED
    only_plain = chain.user.jwt(
        nats={"bearer_token": True, "allowed_connection_types": ["STANDARD"]}
    )
    assert said_after(server, quiet, Cookie=f"token={only_plain}") == REFUSED


@pytest.mark.behaviour("WS-018")
def test_its_own_no_auth_user(start: Start) -> None:
    block = f"websocket {{ {LISTEN}, no_tls: true, no_auth_user: b }}"
    server = start(f"{block}, no_auth_user: a, {USERS}", ["-m", "-1"])
    with open_to(server) as client, server.client(QUIET + b"PING\r\n") as other:
        client.send(ws.frame(QUIET + b"PING\r\n"))
        assert ws.read_content(client, b"PONG") == b"PONG\r\n"
        other.read_until(b"PONG\r\n")
        found = server.monitor("/connz?auth=1")["connections"]
    assert {each["type"]: each["authorized_user"] for each in found} == {
        "websocket": "b",
        "nats": "a",
    }


def test_users_of_the_block_are_for_websocket_clients(start: Start) -> None:
    block = "authorization { user: w, password: pw }"
    server = start(f"websocket {{ {LISTEN}, no_tls: true, {block} }}")
    ok = b'{"verbose":false,"user":"w","pass":"pw"}'
    assert said_after(server, ok).startswith(b"PONG")
    assert said_after(server, b'{"verbose":false}') == REFUSED
    assert server.talk(QUIET + b"PING\r\n") == b"PONG\r\n"


@pytest.mark.behaviour("WS-016")
def test_forwarded_clients(server: Server) -> None:
    """The address is the log's; monitoring shows the proxy's, as nats-server does."""
    with open_to(server, {"X-Forwarded-For": "1.2.3.4"}) as client:
        local, number = client.socket.getsockname()
        found = server.monitor("/connz")["connections"]
        (shown,) = (each for each in found if each["port"] == number)
        assert (shown["kind"], shown["type"], shown["ip"]) == ("Client", "websocket", local)
    server.wait_for_log(f"1.2.3.4/127.0.0.1:{number} - wid:{shown['cid']} - Client connection")
    with open_to(server, {"X-Forwarded-For": "1.2.3.4, 5.6.7.8"}) as client:
        number = client.socket.getsockname()[1]
    server.wait_for_log(f" 127.0.0.1:{number} - wid:")


@pytest.mark.behaviour("WS-017")
def test_tls_or_no_tls(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("no-tls")
    file = directory / "server.conf"
    file.write_text(f"websocket {{ {LISTEN} }}")
    done = run(kind, "-c", str(file), "-p", "-1", directory=directory)
    assert done.returncode == 1
    assert "websocket requires TLS configuration" in done.stderr


def test_secured(start: Start, authority: Authority, tls_block: str) -> None:
    block = f"websocket {{ {LISTEN}, tls {{ {tls_block} verify: true }}, handshake_timeout: 1s }}"
    server = start(block, ["-m", "-1"])
    assert server.ports["websocket"][0].startswith("wss://")
    bob = authority.issue("wss-bob", [(NameOID.COMMON_NAME, "bob")])
    with TlsClient(ws.port(server), authority.client_context(bob), first=True) as client:
        client.send(ws.request())
        assert client.read_until(b"\r\n\r\n") == SWITCHED + b"\r\n"
        told = ws.read_content(client, b"INFO ")
        assert b'"tls_required":true,"tls_available":true' in told
        client.send(ws.frame(b"PING\r\n"))
        assert ws.read_content(client, b"PONG") == b"PONG\r\n"
        (shown,) = server.monitor("/connz?auth=1")["connections"]
        assert shown["tls_version"] == "1.3"
        assert shown["tls_peer_certs"][0]["subject"] == "CN=bob"
    for said, answer in [
        (ws.request(), b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"),
        (b"\0\1\2\3\4\5\6", b""),
        (b"", b""),
    ]:  # fmt: skip
        with RawClient(ws.port(server)) as plain:
            plain.send(said)
            assert plain.read_all() == answer
    server.wait_for_log("websocket: TLS handshake error from 127.0.0.1:")


@pytest.mark.behaviour("TLS-008")
def test_certificates_are_read_again(start: Start, authority: Authority) -> None:
    changing = authority.server("wss-changing")
    files = f'cert_file: "{changing.cert}", key_file: "{changing.key}"'
    server = start(f"websocket {{ {LISTEN}, tls {{ {files} }} }}")
    context = authority.client_context()
    with TlsClient(ws.port(server), context, first=True) as old:
        ws.upgraded(old)
        before = old.secured.getpeercert(binary_form=True)
        authority.server("wss-changing")
        server.signal(signal.SIGHUP)
        server.wait_for_log("Reloaded server configuration")
        with TlsClient(ws.port(server), context, first=True) as new:
            assert new.secured.getpeercert(binary_form=True) != before
        old.send(ws.frame(b"PING\r\n"))
        assert ws.read_content(old, b"PONG") == b"PONG\r\n"


def test_start_and_stop(start: Start) -> None:
    server = start(f"{PLAIN}, max_connections: 1")
    number = ws.port(server)
    assert f"Listening for websocket clients on ws://127.0.0.1:{number}" in server.log()
    assert "Websocket not configured with TLS. DO NOT USE IN PRODUCTION!" in server.log()
    with open_to(server) as client:
        with RawClient(number) as second:
            second.send(ws.request())
            second.read_until(b"\r\n\r\n")
            said = second.read_all()
            assert ws.content(said).endswith(b"-ERR 'maximum connections exceeded'\r\n")
            assert ws.close_code(said) == (1008, "Maximum Connections Exceeded")
        server.process.terminate()
        assert ws.close_code(client.read_all(timeout=60.0)) == (1001, "Server Shutdown")
