"""The bytes of a load: subjects, payloads, frames, and the lengths they must arrive with.

Nothing here knows a socket. A load is one *cycle*: a byte string of PUB frames that a publisher
sends over and over. What a subscriber must receive for one cycle is then a number of bytes known
beforehand, so a receiver adds up lengths and never parses:

    received == cycles * delivered_length(cycle) + len(END frame) + 6 * (server PINGs)

Frames vary in length (subjects do), so the sum is exact only over whole cycles; runs are therefore
always whole cycles. The last frame of a run is the END frame, recognised at the tail of a read.

Payloads are drawn from a small pool. Text payloads hold no line breaks, as JSON does not; binary
ones hold every byte. Neither ever holds one of the words of the protocol that receivers look for.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from itertools import cycle as repeated
from itertools import islice
from typing import Final

INBOX: Final = b"_INBOX.hW4KQmZ0xRfTn7Lc2VbYpE"
TOKEN_LENGTH: Final = 8
QUEUE: Final = b"bench-workers"

ONE_SUBJECT: Final = b"bench.orders.eu.created"
ALL_SUBJECTS: Final = b"bench.>"
RARE_SUBJECTS: Final = b"bench.rare.*"
BUCKET_SUBJECTS: Final = b"$KV.BENCH.>"
END_SUBJECT: Final = b"bench-end"
END_PAYLOAD: Final = b"=end-of-run="

SUB_SID: Final = b"1"
END_SID: Final = b"2"

PING: Final = b"PING\r\n"
PONG: Final = b"PONG\r\n"
CONNECT: Final = (
    b'CONNECT {"verbose":false,"pedantic":false,"tls_required":false,"name":"bench",'
    b'"lang":"python3","version":"1.0.0","protocol":1,"echo":true,"headers":true,'
    b'"no_responders":true}\r\n'
)

_CYCLE_BYTES: Final = 256 * 1024
_PAYLOAD_POOL: Final = 64
_ORDER: Final = 4_096  # subjects after which their order repeats, at least
_PINGS_LIMIT: Final = 20
_WORDS_OF_THE_PROTOCOL: Final = (b"MSG", b"PUB", b"PING", b"_INBOX", b"\r\n", b"=end")
_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_TO_TEXT: Final = bytes(_ALPHABET[i % len(_ALPHABET)] for i in range(256))
_REGIONS: Final = (b"eu", b"us-east", b"ap", b"sa-west-2")
_KINDS: Final = (b"created", b"paid", b"shipped", b"rx")


@dataclass(frozen=True)
class Load:
    """What is published: how large, over how many subjects, and what the payloads look like."""

    size: int
    subjects: int
    binary: bool = False
    bucket: bool = False  # The subjects are keys of a key-value bucket.
    rare: int = 0  # Every so manieth message of a stream has a subject of `RARE_SUBJECTS`.


@dataclass(frozen=True)
class Cycle:
    """The frames a publisher repeats, and what one subscriber of all of them receives."""

    data: bytes
    messages: int
    delivered: bytes


def subjects(count: int) -> list[bytes]:
    """`count` distinct subjects of differing lengths; always the same ones, in mixed order."""
    if count == 1:
        return [ONE_SUBJECT]
    names = [
        b"bench.%b.dev-%d.%b" % (_REGIONS[i % 4], i * 7, _KINDS[i // 4 % 4]) for i in range(count)
    ]
    random.Random(count).shuffle(names)
    return names


def names(load: Load) -> list[bytes]:
    """The subjects of a load, those of a bucket with its prefix."""
    prefix = BUCKET_SUBJECTS.removesuffix(b">") if load.bucket else b""
    return [prefix + name for name in subjects(load.subjects)]


def published_names(load: Load, first: int, count: int) -> list[bytes]:
    """The subjects of messages of a stream from number `first` on: mixed, but always the same."""
    pool = names(load)
    order = pool * -(-_ORDER // len(pool))
    random.Random(1).shuffle(order)
    found = from_first(order, first, count)
    if load.rare:
        for at in range(load.rare - 1 - first % load.rare, count, load.rare):
            found[at] = RARE_SUBJECTS.replace(b"*", b"%d" % (first + at))
    return found


def from_first(pool: list[bytes], first: int, count: int) -> list[bytes]:
    """`count` items of an endless repetition of the pool, from number `first` on."""
    start = first % len(pool)
    return list(islice(repeated(pool), start, start + count))


def subscription(count: int) -> bytes:
    """The subject to subscribe to in order to receive all of `subjects(count)`."""
    return ONE_SUBJECT if count == 1 else ALL_SUBJECTS


def payloads(load: Load) -> list[bytes]:
    """The pool of payloads: distinct, of the load's size, free of protocol words."""
    rng = random.Random(load.size)
    pool: list[bytes] = []
    for _ in range(_PAYLOAD_POOL * 16):
        if len(pool) == _PAYLOAD_POOL:
            break
        payload = rng.randbytes(load.size)
        if not load.binary:
            payload = payload.translate(_TO_TEXT)
        if not any(word in payload for word in _WORDS_OF_THE_PROTOCOL):
            pool.append(payload)
    assert pool
    return pool


def pub(subject: bytes, payload: bytes) -> bytes:
    return b"PUB %b %d\r\n%b\r\n" % (subject, len(payload), payload)


def msg(subject: bytes, sid: bytes, payload: bytes) -> bytes:
    return b"MSG %b %b %d\r\n%b\r\n" % (subject, sid, len(payload), payload)


def cycle_messages(load: Load) -> int:
    """How many messages one cycle has, without building it."""
    frame = len(pub(ONE_SUBJECT, bytes(load.size)))
    return load.subjects * max(1, -(-_CYCLE_BYTES // (frame * load.subjects)))


def cycle(load: Load) -> Cycle:
    """One cycle: every subject equally often, in mixed order, about 256 KiB or more."""
    pool = payloads(load)
    names = subjects(load.subjects)
    order = names * (cycle_messages(load) // len(names))
    if len(names) > 1:
        random.Random(1).shuffle(order)
    pairs = [(name, pool[i % len(pool)]) for i, name in enumerate(order)]
    return Cycle(
        data=b"".join(pub(name, payload) for name, payload in pairs),
        messages=len(pairs),
        delivered=b"".join(msg(name, SUB_SID, payload) for name, payload in pairs),
    )


def end_pub() -> bytes:
    return pub(END_SUBJECT, END_PAYLOAD)


def end_msg() -> bytes:
    return msg(END_SUBJECT, END_SID, END_PAYLOAD)


def tokens(count: int) -> list[bytes]:
    """`count` distinct reply tokens that look like a client's: eight base-62 characters."""
    rng = random.Random(count)
    side = int(count**0.5) + 1
    lefts, rights = _words(rng, side), _words(rng, side)
    made = [left + right for left in lefts for right in rights]
    rng.shuffle(made)
    return made[:count]


def _words(rng: random.Random, count: int) -> list[bytes]:
    found: dict[bytes, None] = {}
    while len(found) < count:
        found[bytes(rng.choices(_ALPHABET, k=TOKEN_LENGTH // 2))] = None
    return list(found)


def stray_pings(received: int, expected: int) -> int:
    """How many server PINGs explain the bytes beyond `expected`; raises when nothing does."""
    pings, rest = divmod(received - expected, len(PING))
    if rest or not 0 <= pings <= _PINGS_LIMIT:
        raise ValueError(f"received {received} bytes where {expected} were due")
    return pings


def incomplete(frame: re.Pattern[bytes], verb: bytes, data: bytes) -> bytes:
    """The start of a frame at the end of `data`, whose rest has not come yet."""
    last = data.rfind(verb)
    if last < 0:
        return data
    whole = frame.match(data, last)
    return data[whole.end() :] if whole else data[last:]
