"""The reply subject of a fast batch's message, where its control data is.

    <prefix>.<batch>.<flow>.<gap>.<seq>.<op>.$FI

The prefix is what the publisher listens to. `flow` is how many messages it wants between two acks at most,
`gap` whether it can live with lost messages (`ok`) or not (`fail`), `seq` the number of the message in the
batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from jetstream_py import limits

SUFFIX: Final = b".$FI"
_APPEND_END: Final = b".1.$FI"
_NO_SEQUENCE: Final = (1 << 64) - 1  # nor is anything above
_GAPS: Final = {b"ok": True, b"fail": False}


class Op(IntEnum):
    """What to do with the message."""

    START = 0
    APPEND = 1
    COMMIT = 2  # store it, and that was all
    END = 3  # that was all before it
    PING = 4


_OPS: Final[dict[int | None, Op]] = {int(op): op for op in Op}


class Reply(NamedTuple):
    """What a reply says."""

    batch: bytes
    flow: int
    ok: bool
    seq: int
    op: Op


def parse_reply(reply: bytes) -> Reply | None:
    """None if it is malformed."""
    tokens = reply.rsplit(b".", 6)
    if len(tokens) != 7:
        return None
    _, batch, flow, gap, seq, op, _ = tokens
    ok, number, asked = _GAPS.get(gap), _number(seq), _OPS.get(_number(op))
    if ok is None or asked is None or not number or number >= _NO_SEQUENCE:
        return None
    if (asked is Op.START and number != 1) or (asked in (Op.APPEND, Op.END) and number == 1):
        return None
    most = _number(flow) or limits.FAST_BATCH_DEFAULT
    return Reply(batch, min(most, limits.FAST_BATCH_MOST), ok, number, asked)


def parse_run(replies: Sequence[bytes]) -> Reply | None:
    """What the first one says, if all others only count up from it; None if they do not."""
    first = parse_reply(replies[0])
    if first is None or first.op is not Op.APPEND:
        return None
    start = replies[0].rsplit(b".", 3)[0]
    end = first.seq + len(replies)
    counted = (b"%b.%d%b" % (start, seq, _APPEND_END) for seq in range(first.seq, end))
    return first if all(map(bytes.__eq__, counted, replies)) else None


def _number(text: bytes) -> int | None:
    digits = text.isdigit() and len(text) <= limits.BATCH_DIGITS
    return int(text) if digits else None
