"""Publishing with a window: many messages on their way, every one of them acked in the end.

Acks of one connection come back on one subject and are counted. A message without an ack makes `flush`
fail, so when it returns everything is stored. Who runs the same messages again with the same ids stores
nothing twice, as long as the stream remembers ids (`duplicate_window`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark_jetstream.connection import Connection
from pyspark_jetstream.errors import JetStreamError
from pyspark_jetstream.limits import CHUNK, WINDOW
from pyspark_jetstream.wire import status


class Publisher:
    """One task's."""

    def __init__(self, link: Connection, stream: str) -> None:
        self._link = link
        self._reply = link.reply()
        self._start = b'{"stream":"%b"' % stream.encode()
        self._stream = stream
        self._waiting = 0
        self.duplicates = 0
        self.sent = 0

    def publish(
        self, subjects: Sequence[bytes], blocks: Sequence[bytes], datas: Sequence[bytes]
    ) -> None:
        """Header blocks are whole ones or b""."""
        for at in range(0, len(datas), CHUNK):
            rows = slice(at, at + CHUNK)
            self._send(subjects[rows], blocks[rows], datas[rows])

    def flush(self) -> None:
        """Wait until everything is stored."""
        self._wait(0)

    def _send(
        self, subjects: Sequence[bytes], blocks: Sequence[bytes], datas: Sequence[bytes]
    ) -> None:
        reply, most = self._reply, self._link.info.get("max_payload", 1 << 20)
        lines: list[bytes] = []
        for subject, block, data in zip(subjects, blocks, datas, strict=True):
            size = len(block) + len(data)
            if size > most:
                raise JetStreamError(f"a message of {size} bytes; the server takes {most}")
            if block:
                lines.append(b"HPUB %b %b %d %d" % (subject, reply, len(block), size))
                lines.append(block + data)
            else:
                lines.append(b"PUB %b %b %d" % (subject, reply, size))
                lines.append(data)
        lines.append(b"")
        self._wait(WINDOW - len(datas))
        self._link.send(b"\r\n".join(lines))
        self._waiting += len(datas)
        self.sent += len(datas)

    def _wait(self, most: int) -> None:
        """Until no more than so many acks are due."""
        frames, start = self._link.frames, self._start
        while self._waiting > most:
            self._link.receive()
            for block, data in zip(frames.headers, frames.datas, strict=True):
                if block or not data.startswith(start) or b'"error"' in data:
                    self._refused(block, data)
                if b'"duplicate"' in data:
                    self.duplicates += 1
            self._waiting -= len(frames)
            frames.clear()

    def _refused(self, block: bytes, data: bytes) -> None:
        """Raise unless it is an ack after all."""
        if status(block)[0] == 503:
            raise JetStreamError("no stream listens to a subject that is written to")
        try:
            ack = json.loads(data)
        except ValueError:
            raise JetStreamError(f"not an ack: {data[:100]!r}") from None
        if error := ack.get("error"):
            raise JetStreamError(
                f"stream {self._stream} refuses a message: "
                f"{error.get('description')} ({error.get('err_code')})"
            )
        if ack.get("stream") != self._stream:
            raise JetStreamError(
                f"stream {ack.get('stream')} has stored what was meant for {self._stream}: "
                "the subject is not one of that stream"
            )
