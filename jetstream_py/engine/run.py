"""A run of messages on its way to clients: the stored columns, and what clients see beside them.

Everything is made for the whole run by comprehensions, because most of what a delivery costs is here. The
reply of a message is its ack subject: `$JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<consumer's
sequence>.<time>.<pending>`.
"""

from __future__ import annotations

from itertools import count, repeat
from operator import add
from typing import TYPE_CHECKING

from jetstream_py import headers as hdr

if TYPE_CHECKING:
    from jetstream_py.engine.consumer import Consumer
    from jetstream_py.store import Columns


class Run:
    """Messages that leave together: new ones, or one that is delivered again."""

    __slots__ = ("datas", "headers", "replies", "seqs", "subjects")

    def __init__(
        self, consumer: Consumer, messages: Columns, deliveries: int, pending: int
    ) -> None:
        """`pending` is what the first one shows."""
        form = b"%b%d.%%d.%%d.%%d.%%d" % (consumer.ack_form, deliveries)
        ahead = count(pending, -1) if deliveries == 1 else repeat(pending)
        self.seqs = messages.seqs
        self.subjects = messages.subjects
        self.replies = [
            form % row
            for row in zip(
                self.seqs, count(consumer.next_dseq), messages.times, ahead, strict=False
            )
        ]
        self.headers = messages.headers
        self.datas = messages.datas
        if consumer.config.headers_only:
            self.headers = [
                hdr.extend(headers, (hdr.MSG_SIZE, b"%d" % len(data)))
                for headers, data in zip(self.headers, self.datas, strict=True)
            ]
            self.datas = [b""] * len(self.seqs)

    def __len__(self) -> int:
        return len(self.seqs)

    def pin(self, pin_id: str) -> None:
        """Let the messages carry the id of the pinned client."""
        pair = (hdr.PIN_ID, pin_id.encode())
        self.headers = [hdr.extend(headers, pair) for headers in self.headers]

    def sizes(self) -> list[int]:
        """Bytes as budgets and windows count them."""
        sizes = map(add, map(len, self.subjects), map(len, self.replies))
        sizes = map(add, sizes, map(len, self.datas))
        if any(self.headers):
            sizes = map(add, sizes, map(len, self.headers))
        return list(sizes)

    def part(self, start: int, end: int) -> Part:
        """The columns of some of the messages, for `Bus.deliver`."""
        if start == 0 and end == len(self.seqs):
            return self.subjects, self.replies, self.headers, self.datas
        return (
            self.subjects[start:end],
            self.replies[start:end],
            self.headers[start:end],
            self.datas[start:end],
        )


Part = tuple[list[bytes], list[bytes], list[bytes], list[bytes]]
