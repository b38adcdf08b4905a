"""A copy of each stored message for whoever listens now, with headers that say what it is a copy of.

The copy takes the way of every answer, through the outbox: nobody hears of a message that a power cut
could take back, and it leaves just before the publisher's ack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jetstream_py import headers as hdr
from jetstream_py.api.times import time_text
from jetstream_py.transforms.make import Chance, compile_transform

if TYPE_CHECKING:
    from jetstream_py.api.types import RePublish
    from jetstream_py.engine.outbox import Outbox, Publisher


class Republisher:
    """What `republish` in a stream's configuration asks for."""

    __slots__ = ("_headers_only", "_map", "_name")

    def __init__(self, stream: str, config: RePublish, chance: Chance) -> None:
        self._name = stream.encode()
        self._map = compile_transform(config.src, config.dest or ">", chance)
        self._headers_only = config.headers_only

    def wants(self, subject: bytes) -> bytes:
        """Where a message on that subject goes, or nothing."""
        return (self._map(subject) if self._map is not None else None) or b""

    def send(
        self,
        outbox: Outbox,
        publisher: Publisher,
        to: bytes,
        stored: tuple[bytes, bytes, bytes, int, int],
        last: int,
    ) -> None:
        """`stored` is subject, headers, data, sequence, time; `last` the subject's one before."""
        subject, headers, data, seq, ts = stored
        pairs = [
            (b"Nats-Stream", self._name),
            (b"Nats-Subject", subject),
            (b"Nats-Sequence", b"%d" % seq),
            (b"Nats-Time-Stamp", time_text(ts).encode()),
            (b"Nats-Last-Sequence", b"%d" % last),
        ]
        if self._headers_only:
            pairs.append((b"Nats-Msg-Size", b"%d" % len(data)))
            data = b""
        outbox.send(publisher, to, data, headers=hdr.extend(headers, *pairs))
