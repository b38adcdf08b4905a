"""Messages by batches of direct gets, for streams of which no consumer may be made.

An answer carries the message's own headers first, then those that the server added in place of the block's
last two bytes. So a block without headers cannot be told from none at all, and something that is no header
block has lost these bytes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Final

from jetstream_py import headers, limits
from jetstream_py.export.errors import ExportError
from jetstream_py.export.link import Inbox, Link
from jetstream_py.migrate.messages import nanoseconds
from jetstream_py.store.columns import Columns

BATCH: Final = 1000  # messages of a request: as many as servers give
_ADDED: Final = b"Nats-Stream: "  # where the headers begin that a server adds


async def direct_gets(
    link: Link, stream: str, seq: int, last: int
) -> AsyncGenerator[Columns, None]:
    """Messages from `seq` to `last`."""
    reply, inbox = link.new_inbox(), Inbox()
    sid = await link.take(reply, inbox)
    subject = f"{link.prefix}DIRECT.GET.{stream} {reply}".encode()
    try:
        while seq <= last:
            body = {"seq": seq, "batch": BATCH, "max_bytes": limits.EXPORT_PULL_BYTES}
            data = json.dumps(body).encode()
            await link.send(b"PUB %b %d\r\n%b\r\n" % (subject, len(data), data))
            rows, ended = await _batch(link, inbox)
            if len(rows):
                seq = rows.seqs[-1] + 1
                yield rows.part(0, rows.position(last + 1))
            if ended or not len(rows):
                return
    finally:
        await link.leave(sid)


async def _batch(link: Link, inbox: Inbox) -> tuple[Columns, bool]:
    """The messages, and whether there are no more."""
    rows = Columns()
    while True:
        frames = await link.until(inbox.next(), "a direct get")
        for block, data in zip(frames.headers, frames.datas, strict=True):
            if (cut := block.rfind(_ADDED)) >= 0:
                _add(rows, block, cut, data)
                continue
            status = block.partition(b"\r\n")[0].removeprefix(b"NATS/1.0").strip()
            if status.startswith(b"204"):
                return rows, headers.get(block, b"Nats-Num-Pending") == b"0"
            if status.startswith(b"404"):
                return rows, True
            raise ExportError(f"{link.where}: direct get: {status.decode(errors='replace')}")


def _add(rows: Columns, block: bytes, cut: int, data: bytes) -> None:
    added = [line.partition(b": ")[2] for line in block[cut:].split(b"\r\n")[1:4]]
    subject, seq, time = added
    own = block[:cut] + b"\r\n"
    if own == headers.EMPTY:
        own = b""
    rows.append(int(seq), nanoseconds(time.decode()), subject, own, data)
