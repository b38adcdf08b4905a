"""Messages of a range of sequences, in columns of up to 10,000 rows.

Two ways lead to them. **Direct get** asks for batches by sequence: nothing is left on the server, and a
work queue keeps what is read. It needs a stream that allows it. A **consumer** filters by many subjects
on the server and can leave payloads out; it is made for one range and deleted after it. `choose` picks
the way.

Both ask for the next batch when the last one is there, never for more than the range can hold, and bound
a batch in bytes, too: a server drops clients that let too much wait.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pyspark_jetstream import api, subjects
from pyspark_jetstream.connection import Connection
from pyspark_jetstream.errors import JetStreamError
from pyspark_jetstream.limits import BATCH_BYTES, BATCH_ROWS
from pyspark_jetstream.wire import CRLF, status

DIRECT: Final = "direct"
CONSUMER: Final = "consumer"
ENDS: Final = ("Batch Completed", "Message Size Exceeds MaxBytes")
SIZE_LINE: Final = b"\r\nNats-Msg-Size: "


@dataclass(frozen=True)
class Range:
    """What one task reads: `start` <= sequence < `end`."""

    stream: str
    created: str
    start: int
    end: int
    way: str = DIRECT
    subjects: tuple[str, ...] = ()
    headers_only: bool = False
    same: bool = True  # must it still be the stream that was planned for?
    whole: bool = True  # is it an error when the beginning is gone?


@dataclass
class Rows:
    """Messages in columns. Times are either nanoseconds or texts, as they came."""

    seqs: list[int] = field(default_factory=list)
    subjects: list[bytes] = field(default_factory=list)
    times: list[int] | list[bytes] = field(default_factory=list)
    headers: list[bytes] = field(default_factory=list)
    datas: list[bytes] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.seqs)

    def keep(self, rows: list[int]) -> Rows:
        """These rows only."""
        return Rows(
            [self.seqs[i] for i in rows],
            [self.subjects[i] for i in rows],
            [self.times[i] for i in rows],  # type: ignore[arg-type]
            [self.headers[i] for i in rows],
            [self.datas[i] for i in rows],
        )


def choose(wanted: str, info: api.StreamInfo, patterns: tuple[str, ...], data: bool) -> str:
    """The way to read a stream. Raises `JetStreamError` when none is there that leaves it as it is."""
    queue = info.retention == "workqueue"
    if wanted == CONSUMER or (wanted == "auto" and not info.direct):
        if queue:
            raise JetStreamError(
                f"stream {info.name} is a work queue: a consumer would take its messages away; "
                "set allow_direct in its configuration to read it"
            )
        return CONSUMER
    if not info.direct:
        raise JetStreamError(f"stream {info.name} does not allow direct get; use fetch=consumer")
    # A consumer leaves on the server what is not asked for.
    if wanted == "auto" and not queue and (len(patterns) > 1 or not data):
        return CONSUMER
    return DIRECT


def fetch(link: Connection, span: Range) -> Iterator[Rows]:
    """All that is there of a range, in order."""
    return _consume(link, span) if span.way == CONSUMER else _direct(link, span)


# -- direct get ------------------------------------------------------------------------------------


def _direct(link: Connection, span: Range) -> Iterator[Rows]:
    subject = f"{api.API}DIRECT.GET.{span.stream}".encode()
    matches = subjects.matcher(span.subjects) if len(span.subjects) > 1 else None
    seq = span.start
    while seq < span.end:
        ask: dict[str, object] = {"seq": seq, "batch": min(BATCH_ROWS, span.end - seq)}
        if len(span.subjects) == 1:
            ask["next_by_subj"] = span.subjects[0]
        body = json.dumps(ask | {"max_bytes": BATCH_BYTES}).encode()
        link.send(b"PUB %b %b %d\r\n%b\r\n" % (subject, link.reply(), len(body), body))
        heads, datas = _until_end(link)
        if not heads:
            return
        rows = _direct_rows(heads, datas)
        seq = rows.seqs[-1] + 1
        if seq > span.end:
            rows = rows.keep([i for i, found in enumerate(rows.seqs) if found < span.end])
        if matches:
            rows = rows.keep([i for i, name in enumerate(rows.subjects) if matches(name)])
        if len(rows):
            yield rows


def _until_end(link: Connection) -> tuple[list[bytes], list[bytes]]:
    """One batch: everything before the message that says so."""
    frames = link.frames
    while not (frames.headers and (frames.headers[-1][8:9] == b" ")):
        link.receive()
    heads, datas = frames.headers, frames.datas
    frames.clear()
    code, text = status(heads[-1])
    if code not in (204, 404):
        what = "nobody answers to direct gets" if code == 503 else f"direct get: {code} {text}"
        raise JetStreamError(what)
    return heads[:-1], datas[:-1]


def _direct_rows(heads: list[bytes], datas: list[bytes]) -> Rows:
    """Six headers end each block: stream, subject, sequence, time, and two of the batch."""
    rows = Rows(datas=datas)
    names, times, seqs, blocks = [], [], [], []
    for head in heads:
        lines = head.rsplit(CRLF, 8)
        if len(lines) != 9 or not lines[3].startswith(b"Nats-Sequence: "):
            raise JetStreamError("the server does not know batches of direct get (before 2.11)")
        blocks.append(lines[0])
        names.append(lines[2][14:])
        seqs.append(int(lines[3][15:]))
        times.append(lines[4][17:])
    rows.subjects, rows.seqs, rows.times, rows.headers = names, seqs, times, blocks
    return rows


# -- consumers -------------------------------------------------------------------------------------


def _consume(link: Connection, span: Range) -> Iterator[Rows]:
    name = api.create_consumer(link, span.stream, span.start, span.subjects, span.headers_only)
    try:
        yield from _pulls(link, span, f"{api.API}CONSUMER.MSG.NEXT.{span.stream}.{name}".encode())
    finally:
        link.frames.clear()
        try:
            api.delete_consumer(link, span.stream, name)
        except JetStreamError:
            pass  # the server forgets it by itself; what happened before counts


def _pulls(link: Connection, span: Range, subject: bytes) -> Iterator[Rows]:
    seq, bound = span.start, BATCH_BYTES
    while seq < span.end:
        most = min(BATCH_ROWS, span.end - seq) if bound else 1
        body = json.dumps({"no_wait": True, "batch": most, "max_bytes": bound}).encode()
        reply = link.reply()
        link.send(b"PUB %b %b %d\r\n%b\r\n" % (subject, reply, len(body), body))
        rows, end = _pulled(link, reply, most, span.headers_only)
        if len(rows):
            seq = rows.seqs[-1] + 1
            if seq > span.end:
                rows = rows.keep([i for i, found in enumerate(rows.seqs) if found < span.end])
            if len(rows):
                yield rows
        elif end == 409:
            bound = 0  # a single message is larger: it comes alone
            continue
        if end in (404, 408):
            return
        bound = BATCH_BYTES


def _pulled(link: Connection, reply: bytes, most: int, sizes: bool) -> tuple[Rows, int]:
    """One pull, and the status that ended it: 0 when it is full. Servers send a status after a full pull
    with a bound in bytes, too: it may come with the next one, and is known by its subject."""
    frames = link.frames
    while True:
        if frames.subjects and not frames.replies[0] and frames.subjects[0] != reply:
            for column in (frames.subjects, frames.replies, frames.headers, frames.datas):
                del column[0]
        ended = len(frames) > 0 and not frames.replies[-1]
        if ended or len(frames) >= most:
            break
        link.receive()
    names, replies, heads, datas = frames.subjects, frames.replies, frames.headers, frames.datas
    code, text = status(heads[-1]) if ended else (0, "")
    frames.clear()
    if code not in (0, 404, 408) and text not in ENDS:
        raise JetStreamError(f"pull: {code} {text}")
    if ended:
        names, replies, heads, datas = names[:-1], replies[:-1], heads[:-1], datas[:-1]
    rows = Rows(subjects=names, headers=heads, datas=datas)
    if sizes:
        rows.headers = [_without_size(head) for head in heads]
    # $JS.ACK[.domain.account].stream.consumer.deliveries.seq.dseq.time.pending[.token]
    parts = [reply.split(b".") for reply in replies]
    at = 5 if not parts or len(parts[0]) < 11 else 7
    rows.seqs = [int(part[at]) for part in parts]
    rows.times = [int(part[at + 2]) for part in parts]
    return rows, code


def _without_size(head: bytes) -> bytes:
    """A consumer for headers adds the size of what it leaves out."""
    at = head.rfind(SIZE_LINE)
    return head[:at] if at >= 0 else head
