"""The gear for streams: runs of publishes that all go to one collector, or to one handler's series.

Theory of operation. A bulk publisher of a stream sends `PUB <subject> <reply> <size>` and a payload,
again and again; each reply is new, so no line is ever in the cache. Here such a run is taken apart by a
handful of C-level calls instead of a few calls per message:

* one `split` at CRLF gives lines and payloads in turns, as long as no payload holds a CRLF;
* the lines, joined with a mark (LF) between them and split at blanks, give their fields as columns. When
  there are no other LFs, marks at a regular distance prove that all lines have the same number of fields;
* then whatever the careful parser checks for each line is checked for the column: verbs, sizes against the
  lengths of the payloads, replies, and one route for all subjects.

A publish with headers has more parts: the lines of its block, an empty one, the payload. A run of those that
all have as many as the first is taken apart in the same way, with another stride.

Requests come in such runs, too. A handler that has a series (see `sublist`) is offered them as columns.

A run is proved in pieces. The first piece that fails any proof ends the gear, and the careful one starts
there: it decides what is right or wrong with it, and what the client is told.
"""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from operator import add
from typing import TYPE_CHECKING

from jetstream_py.server import msgtrace, proto
from jetstream_py.server.proto import RESERVED_STARTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jetstream_py.server.collect import Collector
    from jetstream_py.server.router import Route, Router
    from jetstream_py.server.session import Session

_PIECE = 256  # messages that are proved together ...
_LEAST = 16  # ... and below which a piece that fails is not tried in smaller ones
_STRAYS = 4  # lines of another kind that may follow a run
_MARK = b"\n"
_JOINT = b" \n "
_LINES = 64  # of a header block


def suits(session: Session, data: bytes) -> bool:
    """Does the buffer begin with a publish to a collector?"""
    fields = data[: max(0, data.find(b"\r\n"))].split(b" ")
    if fields[0] == b"HPUB" and session.headers:
        del fields[-1]
    elif fields[0] != b"PUB":
        return False
    if not 3 <= len(fields) <= 4 or session.mapper is not None:
        return False
    route = session.account.router.ack_route(fields[1])
    series = route.series
    taken = route.collector or (series is not None and fields[1].startswith(series.prefix))
    return bool(taken) and not route.guarded


def consume(session: Session, data: bytes) -> int:
    """Take as much of the buffer as is proved. Returns how far that is."""
    parts = data.split(b"\r\n")
    stride = 2 if data.startswith(b"PUB") else _stride(parts)
    end = (len(parts) - 1) // stride * stride  # what follows the last CRLF is incomplete
    end = _alike(parts, end, stride)
    pos = size_sum = at = 0
    piece = _PIECE
    while at < end:
        stop = min(at + piece * stride, end)
        lines, bodies = parts[at:stop:stride], parts[at + stride - 1 : stop : stride]
        heads = _heads(parts, at, stop, stride) if stride > 2 else []
        size = _piece(session, lines, heads, bodies) if heads is not None else -1
        if size >= 0:
            size_sum += size
            pos += size + sum(map(len, lines)) + 4 * len(lines)
            at = stop
        elif piece > _LEAST:
            piece = max(min(piece, len(lines)) // 4, _LEAST)  # most of it may still be good
        else:
            break
    if at:
        session.in_msgs += at // stride
        session.in_bytes += size_sum
        session.touch()
    return pos


def _stride(parts: list[bytes]) -> int:
    """How many parts the first message with headers has; others may follow that have as many."""
    try:
        return parts.index(b"", 2, _LINES) + 2
    except ValueError:
        return len(parts)  # as if there were none


def _heads(parts: list[bytes], at: int, stop: int, stride: int) -> list[bytes] | None:
    """The header blocks of messages that all have so many parts; None if they do not."""
    last = stride - 2
    if any(parts[at + last : stop : stride]):
        return None
    join = b"\r\n".join
    return [join(parts[i + 1 : i + last]) + b"\r\n\r\n" for i in range(at, stop, stride)]


def _alike(parts: list[bytes], end: int, stride: int) -> int:
    """The end of the run without a few last lines of another kind: behind the acks of a batch comes the
    request for the next one."""
    blanks = parts[0].count(b" ") if end else 0
    for _ in range(_STRAYS):
        if end <= stride or parts[end - stride].count(b" ") == blanks:
            break
        end -= stride
    return end


def _piece(session: Session, lines: list[bytes], heads: list[bytes], bodies: list[bytes]) -> int:
    """Hand these publishes to their collector and return the size of all payloads; -1: not proved."""
    text = _JOINT.join(lines)
    n, width = len(lines), lines[0].count(b" ") + 2  # of a line's fields and the mark
    headed = bool(heads)
    fields = text.split(b" ")
    if (
        not 4 <= width - headed <= 5
        or len(fields) != n * width - 1
        or text.count(_MARK) != n - 1
        or fields[width - 1 :: width].count(_MARK) != n - 1
        or fields[::width].count(b"HPUB" if headed else b"PUB") != n
        or b"\t" in text
        or max(map(len, lines)) >= session.max_control_line
    ):
        return -1
    lengths = list(map(len, bodies))
    if headed:
        sizes = list(map(len, heads))
        lengths = list(map(add, sizes, lengths))
        if _sizes(session, fields[width - 3 :: width], sizes) < 0:
            return -1
        if msgtrace.may_trace(session, b"".join(heads)):
            return -1
    size = _sizes(session, fields[width - 2 :: width], lengths)
    replies: Iterable[bytes] = repeat(b"")
    if width - headed == 5:
        replies = fields[2::width]
        if not _harmless(replies):
            return -1
    subjects = fields[1::width]
    if subjects.count(subjects[0]) == n:
        subjects = subjects[:1] * n  # one object instead of many: quicker to compare and to hash
    rule = session.publish_rule
    if size < 0 or (rule is not None and not all(map(rule.allows, set(subjects)))):
        return -1
    router = session.account.router
    route = router.shared_route(subjects)
    if route is not None and route.series is not None:
        if headed:
            return -1
        return size if _served(session, route, subjects, replies, bodies) else -1
    collector = _receiver(router, route, subjects)
    if collector is None:
        return -1
    if not collector.items:
        session.broker.collectors.filled.append(collector)
    collector.items.extend(zip(subjects, replies, heads or repeat(b""), bodies, strict=False))
    return size


def _sizes(session: Session, texts: list[bytes], lengths: list[int]) -> int:
    """The sum of the sizes, if they are what the lines say and allowed; else -1."""
    n = len(texts)
    if texts.count(texts[0]) == n:
        size = proto.parse_size(texts[0])
        if lengths.count(size) != n or size > session.max_payload:
            return -1
        return n * size
    sizes = {text: proto.parse_size(text) for text in set(texts)}
    if list(map(sizes.get, texts)) != lengths or max(lengths) > session.max_payload:
        return -1
    return sum(lengths)


def _harmless(replies: list[bytes]) -> bool:
    """No reply is empty or begins like a reserved one."""
    low, high = min(replies), max(replies)
    if low[:2] == high[:2]:  # then so do all between them
        return len(low) > 0 and low[:2] not in RESERVED_STARTS
    return b"" not in replies and not any(reply[:2] in RESERVED_STARTS for reply in replies)


def _served(
    session: Session,
    route: Route,
    subjects: list[bytes],
    replies: Iterable[bytes],
    bodies: list[bytes],
) -> bool:
    """Did the series of this route take them? It sees what was published before."""
    series = route.series
    if series is None or route.guarded or not isinstance(replies, list):
        return False
    for subject in (min(subjects), max(subjects)):  # then so do all between them
        if not subject.startswith(series.prefix):
            return False
    session.broker.collectors.drain()
    if not series.take(subjects, replies, bodies):
        return False
    route.plain[0].msgs += len(subjects)
    return True


def _receiver(router: Router, route: Route | None, subjects: list[bytes]) -> Collector | None:
    """The one collector that all subjects lead to, if nobody else gets them. Counts what it gets.
    `route` is the one that all of them share, if it is known."""
    if route is not None:
        if route.collector is not None and not route.guarded:
            route.plain[0].msgs += len(subjects)
            return route.collector
        return None
    counts = Counter(subjects)
    routes = [router.route(subject) for subject in counts]
    first = routes[0].collector
    if any(route.collector is not first or route.guarded for route in routes):
        return None
    if first is not None:
        for route, count in zip(routes, counts.values(), strict=True):
            route.plain[0].msgs += count
    return first
