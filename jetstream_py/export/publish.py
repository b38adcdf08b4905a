"""Messages of an export on their way into a stream, in order, a window ahead of the acks.

Every publish says which sequence it expects before it. So one that is refused takes all behind it along:
whenever an import ends, the stream has the export up to some message and nothing else of it. That message
names its sequence in the export, which is where the next run goes on. Its id is for the case that two runs
overlap.
"""

from __future__ import annotations

import base64
import json
from collections import deque
from typing import Final

from jetstream_py import headers, limits
from jetstream_py.api.times import time_text
from jetstream_py.export.errors import ExportError
from jetstream_py.export.layout import Origin
from jetstream_py.export.link import Inbox, Link
from jetstream_py.migrate.connection import Json
from jetstream_py.migrate.copy import carried
from jetstream_py.store.types import Message

STREAM: Final = b"Export-Stream"
CREATED: Final = b"Export-Created"
SEQUENCE: Final = b"Export-Sequence"
TIME: Final = b"Export-Time"
MSG_ID: Final = b"Export-Msg-Id"  # the id that the message had
HEADERS: Final = b"Export-Headers"  # what it had instead of a header block, in base64

_CHUNK: Final = 64 * 1024  # bytes written at once


class Publisher:
    """Publishes to one stream."""

    def __init__(self, link: Link, config: Json, origin: Origin, last_seq: int) -> None:
        self._link, self._origin = link, origin
        self._stream: str = config["name"]
        self._drop = [
            name
            for name, allowed in (
                (headers.ROLLUP, config.get("allow_rollup_hdrs")),
                (headers.TTL, config.get("allow_msg_ttl")),
            )
            if not allowed
        ]
        self._reply = link.new_inbox().encode()
        self._inbox = Inbox()
        self._sid = b""
        self._last = self.stored = (
            last_seq  # what was sent, what was acked: sequences of the stream
        )
        self._sizes: deque[int] = deque()  # of publishes without an ack
        self._weight = 0
        self._buffer: list[bytes] = []
        self._buffered = 0

    async def open(self) -> None:
        self._sid = await self._link.take(f"{self._reply.decode()}.*", self._inbox)

    async def close(self) -> None:
        await self._link.leave(self._sid)

    async def put(self, message: Message) -> None:
        """Raises `ExportError`."""
        block = self._block(message)
        size = len(block) + len(message.data)
        if size > self._link.max_payload:
            limit = self._link.max_payload
            raise ExportError(
                f"message {message.seq} has {size} bytes with its headers, {self._link.where} takes {limit}"
            )
        while len(self._sizes) >= limits.IMPORT_WINDOW or self._weight > limits.IMPORT_BYTES:
            await self._flush()
            await self._acks()
        self._last += 1
        line = b"HPUB %b %b.%d %d %d\r\n" % (
            message.subject,
            self._reply,
            self._last,
            len(block),
            size,
        )
        self._buffer += (line, block, message.data, b"\r\n")
        self._buffered += size
        self._sizes.append(size)
        self._weight += size
        if self._buffered >= _CHUNK:
            await self._flush()

    async def drain(self) -> None:
        """Wait until all is stored."""
        await self._flush()
        while self._sizes:
            await self._acks()

    async def _flush(self) -> None:
        if self._buffer:
            data, self._buffer, self._buffered = b"".join(self._buffer), [], 0
            await self._link.send(data)

    def _block(self, message: Message) -> bytes:
        """The message's headers, and ours."""
        block, more = message.headers, []
        if block and not (block.startswith(headers.START) and block.endswith(b"\r\n\r\n")):
            more.append((HEADERS, base64.b64encode(block)))
            block = b""
        block = carried(block)
        for name in self._drop:
            block = headers.without(block, name)
        if (known := headers.get(block, headers.MSG_ID)) is not None:
            more.append((MSG_ID, known))
            block = headers.without(block, headers.MSG_ID)
        origin = self._origin
        seq, stream = b"%d" % message.seq, origin.stream.encode()
        return headers.extend(
            block,
            *more,
            (STREAM, stream),
            (CREATED, b"%d" % origin.created_ns),
            (SEQUENCE, seq),
            (TIME, time_text(message.ts).encode()),
            (headers.MSG_ID, b"%b.%d.%b" % (stream, origin.created_ns, seq)),
            (headers.EXPECTED_STREAM, self._stream.encode()),
            (headers.EXPECTED_LAST_SEQ, b"%d" % self._last),
        )

    async def _acks(self) -> None:
        frames = await self._link.until(self._inbox.next(), "publishes")
        for data in frames.datas:
            self.stored += 1
            self._weight -= self._sizes.popleft()
            if b'"seq":%d,' % self.stored in data or b'"seq":%d}' % self.stored in data:
                continue
            self._refused(data)

    def _refused(self, data: bytes) -> None:
        answer = json.loads(data) if data else {}
        error = answer.get("error", {}).get("description", "no stream listens to its subject")
        if answer.get("duplicate"):
            error = "it is there already"
        raise ExportError(
            f"{self._link.where}: {self._stream} ends at {self.stored - 1}, "
            f"the next message was refused: {error}"
        )
