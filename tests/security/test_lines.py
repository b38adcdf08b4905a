"""A line end in what a client sends never becomes a line end of what the server sends or logs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.raw import RawClient
from tests.support.server import OURS, StartError, StartServer
from tests.support.wire import connect, frame_end, hpub, pub
from tests.wire import websocket as ws

EVIL = "x\r\nEVIL\n[1] [INF] EVIL\r\n\r\n"
LOG_LINE = re.compile(
    r"\[\d+\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} \[(INF|DBG|TRC|WRN|ERR|FTL)\] "
)
API = b"$JS.API."


class Peer:
    """A client that keeps every byte it gets."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self.got = b""

    def ask(self, subject: bytes, body: object) -> bytes:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.client.send(pub(subject, text, b"_INBOX.q") + pub(API + b"INFO", b"", b"_INBOX.end"))
        frames = [self.client.read_frame()]
        while not frames[-1].startswith(b"MSG _INBOX.end "):
            frames.append(self.client.read_frame())
        self.got += b"".join(frames)
        return b"".join(frames)


def sane(stream: bytes) -> None:
    """It can be cut into frames, and no line of any is the client's."""
    at = 0
    while at < len(stream):
        end = frame_end(stream, at)
        assert end > 0, stream[at:]
        assert stream[at:end].startswith((b"MSG ", b"HMSG ", b"PONG", b"-ERR ", b"+OK", b"INFO "))
        at = end
    assert b"\nEVIL" not in stream


def fields() -> list[tuple[str, object]]:
    """Requests with the evil text in each field that could reach a control line, a header or a log."""
    streams: list[dict[str, object]] = [
        {"name": EVIL}, {"name": "T", "subjects": [EVIL]}, {"name": "U", "description": EVIL},
        {"name": "V", "subjects": ["v"], "republish": {"src": "v", "dest": EVIL}},
        {"name": "W", "subjects": ["w"], "subject_transform": {"src": "w", "dest": EVIL}},
        {"name": "X", "subjects": ["x"], "metadata": {EVIL: EVIL}}, {"name": "Y", "template_owner": EVIL},
        {"name": "Z", "placement": {"cluster": EVIL, "tags": [EVIL]}},
    ]  # fmt: skip
    consumers: list[dict[str, object]] = [
        {"deliver_subject": EVIL}, {"deliver_subject": "d", "deliver_group": EVIL},
        {"name": EVIL}, {"durable_name": EVIL}, {"filter_subject": EVIL}, {"filter_subjects": [EVIL, "s"]},
        {"description": EVIL}, {"metadata": {"a": EVIL}}, {"priority_policy": "overflow",
         "priority_groups": [EVIL]}, {"sample_freq": EVIL}, {"opt_start_time": EVIL},
    ]  # fmt: skip
    return [
        *(("STREAM.CREATE." + str(each["name"])[:1], each) for each in streams),
        *(("CONSUMER.CREATE.S", dict[str, object](stream_name="S", config=each)) for each in consumers),
        ("CONSUMER.CREATE.S", {"stream_name": EVIL, "config": {}}),
        ("STREAM.MSG.GET.S", {"last_by_subj": EVIL}), ("DIRECT.GET.S", {"last_by_subj": EVIL}),
        ("DIRECT.GET.S", {"multi_last": [EVIL]}), ("DIRECT.GET.S", {"next_by_subj": EVIL}),
        ("STREAM.PURGE.S", {"filter": EVIL}), ("STREAM.INFO.S", {"subjects_filter": EVIL}),
        ("STREAM.NAMES", {"subject": EVIL}), ("STREAM.NAMES", {EVIL: 1}),
        ("CONSUMER.MSG.NEXT.S.C", {"batch": 1, "no_wait": True, "group": EVIL, "id": EVIL}),
        ("CONSUMER.UNPIN.S.C", {"group": EVIL}), ("STREAM.SNAPSHOT.S", {"deliver_subject": EVIL}),
        ("STREAM.RESTORE.S", {"config": {"name": EVIL}}),
    ]  # fmt: skip


def log_is_sane(log: str) -> None:
    lines = log.split("\n")[:-1]
    assert len(lines) > 20
    assert not [line for line in lines if not LOG_LINE.match(line)]
    assert "\r" not in log


def test_requests(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(OURS, f'jetstream {{ store_dir: "{tmp_path}" }}', ["-DV"])
    peer = Peer(server.client(connect(headers=True, no_responders=True)))
    peer.client.exchange(b"SUB _INBOX.> 1\r\nSUB $JS.EVENT.> 2\r\nSUB d.> 3\r\n")
    peer.ask(API + b"STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"], "allow_direct": True})
    peer.ask(API + b"CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"name": "C"}})
    peer.ask(b"s.1", b"x")
    for verb, body in fields():
        assert peer.ask(API + verb.encode(), body)
    sane(peer.got)
    assert peer.got.count(b"MSG _INBOX.q") > 30
    log_is_sane(server.log())


def test_control_lines(start_server: StartServer) -> None:
    """CR in subjects and names, and headers that end too early."""
    server = start_server(OURS, None, ["-DV"])
    listener = server.client(connect(headers=True))
    listener.exchange(b"SUB > 1\r\n")
    opening = connect(
        headers=True, no_responders=True, name=EVIL, lang=EVIL, version=EVIL, user=EVIL
    )
    for data in (
        b"PUB a\rEVIL 1\r\nx\r\n", b"PUB a \rEVIL 1\r\nx\r\n", b"SUB a\rEVIL 1\r\n", b"UNSUB \r1\r\n",
        b"PUB \rEVIL \r 1\r\nx\r\n", b"SUB a b\rc d\r\n", b"EVIL\r\r\r\n", b"-ERR \rEVIL\r\n",
        hpub(b"a", b"NATS/1.0\r\nNats-Trace-Dest: b\rEVIL\r\n\r\n", b"x"),
        hpub(b"a", b"NATS/1.0\r\nA: b\r\n\r\n", b"x", b"r\rEVIL"),
        b"PUB nobody\rEVIL _INBOX.q 1\r\nx\r\n",
    ):  # fmt: skip
        client = server.client(opening + b"SUB _INBOX.> 9\r\n")
        sane(client.exchange(data))
        client.close()
    sane(listener.exchange())
    server.wait_for_log("Client connection closed", count=11)
    log_is_sane(server.log())


CONFIG = """
authorization { users: [{user: a, password: a}] }
websocket { listen: "127.0.0.1:-1", no_tls: true, headers { X-Own: "fine" } }
"""


def test_logins_and_upgrades(start_server: StartServer) -> None:
    server = start_server(OURS, CONFIG, ["-DV", "-m", "-1"])
    for fields_ in (
        {"user": EVIL, "pass": "x"},
        {"user": "a", "pass": "a", "name": EVIL},
        {"nkey": EVIL},
    ):
        client = server.client(connect(**fields_))
        sane(client.exchange())
        client.close()
    for name in (
        "Host",
        "Origin",
        "User-Agent",
        "X-Forwarded-For",
        "Sec-WebSocket-Protocol",
        "Cookie",
    ):
        client = RawClient(ws.port(server))
        client.send(ws.request({name: "1.2.3.4\rEVIL: 1\x0bEVIL"}))
        client.half_close()
        answer = client.read_all()
        assert b"\nEVIL" not in answer
        assert b"\rEVIL" not in answer
        client.close()
    log_is_sane(server.log())


@pytest.mark.parametrize("value", [r'X: "a\r\nEvil: 1"', r'X: "a\nb"'])
def test_headers_in_the_file(start_server: StartServer, value: str) -> None:
    with pytest.raises(StartError, match="no line breaks in headers"):
        start_server(OURS, CONFIG.replace('X-Own: "fine"', value))
