"""Taking snapshots and putting them back, for tests."""

from __future__ import annotations

from dataclasses import dataclass

from jetstream_py.backup import archive, s2
from jetstream_py.backup.archive import Entry
from tests.jetstream.support import API, JetStream, Json, Message, encode_body

CHUNK = 100_000


@dataclass(frozen=True)
class Backup:
    """What a client has after a snapshot."""

    answer: Json
    chunks: list[Message]

    @property
    def data(self) -> bytes:
        return b"".join(message.data for message in self.chunks)

    @property
    def end(self) -> Message:
        return self.chunks[-1]

    def entries(self) -> list[Entry]:
        return unpack(self.data)

    def messages(self) -> list[Entry]:
        return [entry for entry in self.entries() if entry.seq]

    @property
    def request(self) -> Json:
        return {"config": self.answer["config"], "state": self.answer["state"]}


def unpack(data: bytes) -> list[Entry]:
    unframer, unpacker = s2.Unframer(), archive.Unpacker()
    found = [entry for block in unframer.feed(data) for entry in unpacker.feed(block)]
    assert unframer.between
    assert unpacker.ended
    return found


def pack(entries: list[Entry], end: bytes = archive.END) -> bytes:
    return s2.START + s2.frame(archive.MAGIC + b"".join(map(archive.encode, entries)) + end)


def backup(js: JetStream, stream: str, subject: str = "snap.d", **options: object) -> Backup:
    """Take a snapshot; chunks are acked and off the record: servers compress differently."""
    js.sids += 1
    sid = js.sids
    js.client.send(b"SUB %b %d\r\n" % (subject.encode(), sid))
    answer = js.ok(f"STREAM.SNAPSHOT.{stream}", {"deliver_subject": subject, **options})
    chunks: list[Message] = []
    waiting, js.kept = js.kept, []
    while not chunks or chunks[-1].data:
        message = waiting.pop(0) if waiting else js._read()
        if message.sid != sid:
            js.kept.append(message)
            continue
        chunks.append(message)
        if message.reply:
            js.client.send(b"PUB %b 0\r\n\r\n" % message.reply.encode())
    js.kept += waiting
    js.client.send(b"UNSUB %d\r\n" % sid)
    return Backup(answer, chunks)


def send(js: JetStream, subject: str, data: bytes) -> None:
    """The chunks of an archive, off the record."""
    for at in range(0, len(data), CHUNK):
        answer = js._receive(js._send(subject, data[at : at + CHUNK]))
        assert (answer.data, answer.headers) == (b"", b"")


def restore(js: JetStream, stream: str, request: Json, data: bytes) -> Json:
    """The last answer."""
    js.note(f"restore {stream}")
    answer = js._receive(js._send(f"{API}STREAM.RESTORE.{stream}", encode_body(request))).json
    assert "error" not in answer, answer
    subject = answer["deliver_subject"]
    send(js, subject, data)
    return js.request(subject).json
