"""A server is killed while a stream comes back or is backed up: there is a whole stream, or none."""

from __future__ import annotations

import random
from pathlib import Path

from tests.backup.old import old_backups, packed
from tests.jetstream.backups import CHUNK, backup, restore
from tests.jetstream.support import API, JetStream, encode_body
from tests.jetstream.test_backup_exchange import fill
from tests.support.server import OURS, Servers


def run(count: int, seed: int, directory: Path) -> None:
    """`count` times each."""
    chance = random.Random(seed)
    store = directory / "store"
    flags = ["-js", "-sd", str(store)]
    with Servers(directory) as servers:
        server = servers.start(OURS, None, flags)
        js = JetStream(server, store)
        fill(js, "file", 20_000)
        made = backup(js, "S")
        js.delete("S")
        old = old_backups("2.14.6")["many_removed"]
        archives = [(made.request, made.data), (old.request, packed(old.tar))]
        for turn in range(count):
            request, data = archives[turn % 2]
            _send_some(js, request, data, chance)
            server.process.kill()
            server.process.wait()
            server = servers.start(OURS, None, flags)
            js = JetStream(server, store)
            assert js.ask("STREAM.NAMES")["streams"] is None
        request, data = archives[0]
        assert "error" not in restore(js, "S", request, data)
        for _ in range(count):
            _take_some(js, chance)
            server.process.kill()
            server.process.wait()
            server = servers.start(OURS, None, flags)
            js = JetStream(server, store)
            assert backup(js, "S").messages() == made.messages()


def _send_some(js: JetStream, request: object, data: bytes, chance: random.Random) -> None:
    """The last of it may still be on its way when the server ends."""
    answer = js._receive(js._send(f"{API}STREAM.RESTORE.S", encode_body(request))).json
    for at in range(0, chance.randrange(len(data)), CHUNK // 4):
        inbox = js._send(answer["deliver_subject"], data[at : at + CHUNK // 4])
        if chance.random() < 0.8:
            js._receive(inbox)


def _take_some(js: JetStream, chance: random.Random) -> None:
    js.client.send(b"SUB snap 77\r\n")
    js.ok("STREAM.SNAPSHOT.S", {"deliver_subject": "snap", "chunk_size": 4096})
    for _ in range(chance.randrange(30)):
        message = js.kept.pop(0) if js.kept else js._read()
        if message.reply:
            js.client.send(b"PUB %b 0\r\n\r\n" % message.reply.encode())
