"""What an ack says: the words clients know, and the subject that names the delivery."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from jetstream_py.config import durations

ACKS: Final = frozenset((b"", b"+ACK", b"+OK"))
NAK: Final = b"-NAK"
PROGRESS: Final = b"+WPI"
NEXT: Final = b"+NXT"
TERM: Final = b"+TERM"

_MAX: Final = (1 << 63) - 1


class Delivery(NamedTuple):
    """The delivery that an ack subject names; what is no number there counts as 0."""

    deliveries: int
    seq: int
    dseq: int


class _Delay(msgspec.Struct):
    delay: int = 0


def delivery(tokens: list[bytes]) -> Delivery | None:
    """From the tokens behind stream and consumer; None when they name nothing."""
    if not tokens[1].isdigit():
        return None
    return Delivery(_number(tokens[0]), int(tokens[1]), _number(tokens[2]))


def _number(token: bytes) -> int:
    return int(token) if token.isdigit() else 0


def nak_delay(data: bytes) -> int:
    """Nanoseconds after which a message is wanted again; what cannot be read is 0."""
    text = data[len(NAK) :].strip()
    if not text:
        return 0
    try:
        if text[:1] == b"{":
            delay = msgspec.json.decode(text, type=_Delay).delay
        else:
            delay = round(durations.seconds(text.decode()) * 1e9)
    except (msgspec.MsgspecError, ValueError):
        return 0
    return min(max(delay, 0), _MAX)
