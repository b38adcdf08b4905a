"""The largest payload that nats-server allows, through a stream and back, over a kill."""

from __future__ import annotations

import base64
import hashlib
import random
from pathlib import Path

from tests.jetstream.support import JetStream, Message
from tests.support.server import OURS, Server, StartServer

MOST = 64 << 20
CONFIG = "max_payload: 64MB\nmax_pending: 256MB\njetstream { store_dir: store }\n"


def start(start_server: StartServer, directory: Path) -> Server:
    return start_server(OURS, CONFIG.replace("store_dir: store", f'store_dir: "{directory}"'))


def ask(js: JetStream, subject: str, data: bytes = b"") -> Message:
    return js._receive(js._send(subject, data))  # off the record: it is a little long


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_64_megabytes(start_server: StartServer, tmp_path: Path) -> None:
    payload = random.Random(1).randbytes(MOST)
    server = start(start_server, tmp_path / "js")
    js = JetStream(server, tmp_path / "js")
    assert js.client.info["max_payload"] == MOST
    js.create("S", subjects=["s"], allow_direct=True)
    assert ask(js, "s", b"before").json["seq"] == 1
    assert ask(js, "s", payload).json == {"stream": "S", "seq": 2}
    assert ask(js, "s", b"behind").json["seq"] == 3
    assert js.state("S")["bytes"] == 3 * 31 + 12 + MOST
    assert digest(ask(js, "$JS.API.DIRECT.GET.S", b'{"seq":2}').data) == digest(payload)
    server.kill()
    js.close()
    server = start(start_server, tmp_path / "js")
    js = JetStream(server, tmp_path / "js")
    found = ask(js, "$JS.API.DIRECT.GET.S", b'{"seq":2}')
    assert found.header("Nats-Sequence") == "2"
    assert digest(found.data) == digest(payload)
    message = ask(js, "$JS.API.STREAM.MSG.GET.S", b'{"seq":2}').json["message"]
    assert digest(base64.b64decode(message["data"])) == digest(payload)
    js.ok("STREAM.MSG.DELETE.S", {"seq": 2})
    assert js.state("S")["messages"] == 2
    assert payload[:64] not in (tmp_path / "js" / "jetstream" / "data.mdb").read_bytes()
    js.close()


def test_one_byte_more_is_too_much(start_server: StartServer, tmp_path: Path) -> None:
    server = start(start_server, tmp_path / "js")
    with server.client(b'CONNECT {"verbose":false}\r\n') as client:
        client.send(b"PUB s %d\r\n" % (MOST + 1))
        assert client.read_all() == b"-ERR 'Maximum Payload Violation'\r\n"
