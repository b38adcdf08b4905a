"""Header blocks as bytes: looked into, seldom parsed whole.

A block is `NATS/1.0[ status[ text]]\\r\\n`, then `Name: value\\r\\n` lines, then `\\r\\n`. Names are
compared exactly, as nats-server does.
"""

from __future__ import annotations

from typing import Final

START: Final = b"NATS/1.0"
EMPTY: Final = b"NATS/1.0\r\n\r\n"

PREFIX: Final = b"\r\nNats-"  # no header of ours can be in a block without it
MSG_ID: Final = b"Nats-Msg-Id"
EXPECTED_STREAM: Final = b"Nats-Expected-Stream"
EXPECTED_LAST_SEQ: Final = b"Nats-Expected-Last-Sequence"
EXPECTED_LAST_SUBJECT_SEQ: Final = b"Nats-Expected-Last-Subject-Sequence"
EXPECTED_LAST_SUBJECT_SEQ_SUBJECT: Final = b"Nats-Expected-Last-Subject-Sequence-Subject"
EXPECTED_LAST_MSG_ID: Final = b"Nats-Expected-Last-Msg-Id"
ROLLUP: Final = b"Nats-Rollup"
TTL: Final = b"Nats-TTL"
MARKER_REASON: Final = b"Nats-Marker-Reason"
KV_OPERATION: Final = b"KV-Operation"
INCREMENT: Final = b"Nats-Incr"
COUNTER_SOURCES: Final = b"Nats-Counter-Sources"
BATCH_ID: Final = b"Nats-Batch-Id"
BATCH_SEQUENCE: Final = b"Nats-Batch-Sequence"
BATCH_COMMIT: Final = b"Nats-Batch-Commit"
SCHEDULE: Final = b"Nats-Schedule"
SCHEDULE_TARGET: Final = b"Nats-Schedule-Target"
SCHEDULE_SOURCE: Final = b"Nats-Schedule-Source"
SCHEDULE_TTL: Final = b"Nats-Schedule-TTL"
SCHEDULE_ROLLUP: Final = b"Nats-Schedule-Rollup"
SCHEDULE_TIME_ZONE: Final = b"Nats-Schedule-Time-Zone"
SCHEDULE_NEXT: Final = b"Nats-Schedule-Next"
SCHEDULER: Final = b"Nats-Scheduler"
STREAM_SOURCE: Final = b"Nats-Stream-Source"
STREAM_IDENTITY: Final = b"Nats-Stream-Identity"
REQUIRED_API_LEVEL: Final = b"Nats-Required-Api-Level"
LAST_CONSUMER: Final = b"Nats-Last-Consumer"
LAST_STREAM: Final = b"Nats-Last-Stream"
MSG_SIZE: Final = b"Nats-Msg-Size"
PIN_ID: Final = b"Nats-Pin-Id"
REQUEST_INFO: Final = b"Nats-Request-Info"


def get(block: bytes, name: bytes) -> bytes | None:
    """The first value of a header without the blanks before it; None when it is not there."""
    at = block.find(b"\r\n" + name + b":")
    if at < 0:
        return None
    start = at + len(name) + 3
    end = block.find(b"\r\n", start)
    return block[start : end if end >= 0 else len(block)].lstrip(b" ")


def pairs(block: bytes) -> list[tuple[bytes, bytes]]:
    """All headers in order; a name may come more than once."""
    lines = [line.partition(b":") for line in block.split(b"\r\n")[1:]]
    return [(name, value.lstrip(b" ")) for name, colon, value in lines if colon]


def fields(block: bytes) -> dict[bytes, bytes]:
    """All of `get`'s answers at once, for whoever asks for many."""
    return dict(reversed(pairs(block)))  # the first of a name counts


def without_status(block: bytes) -> bytes:
    """A publish has no status: its first line becomes the plain one, and if that is all, nothing."""
    if block.startswith(START) and block[8:10] != b"\r\n":
        end = block.find(b"\r\n")
        if end > 0:
            rest = START + block[end:]
            return rest if rest != EMPTY else b""
    return block


def without(block: bytes, name: bytes) -> bytes:
    """A block without any header of this name; nothing, if there was no other."""
    if name not in block:
        return block
    start, *lines = block.split(b"\r\n")
    rest = [line for line in lines if not line.startswith(name + b":")]
    return b"\r\n".join([start, *rest]) if any(rest) or start != START else b""


def replaced(block: bytes, name: bytes, value: bytes) -> bytes:
    """A block in which the first header of this name has this value; it is added if there is none."""
    at = block.find(b"\r\n" + name + b":")
    if at < 0:
        return extend(block, (name, value))
    start = at + len(name) + 3
    end = block.find(b"\r\n", start)
    return block[:start] + b" " + value + block[end:]


def status(code: int, text: str) -> bytes:
    """A block that says how a request ended."""
    return b"NATS/1.0 %d %b\r\n\r\n" % (code, text.encode())


def extend(block: bytes, *pairs: tuple[bytes, bytes]) -> bytes:
    """A block with headers added at its end."""
    lines = b"".join(b"%b: %b\r\n" % pair for pair in pairs)
    return (block[:-2] if block else START + b"\r\n") + lines + b"\r\n"
