"""A series: messages that differ in their subject and in a number that counts up.

PubAcks are such: `MSG <reply> <sid> <size>`, `{"stream":"S","seq":<n>}`, by the ten thousand. They are
made with one join for up to a thousand of them: all but the last three digits of the number, and so the
size, are the same, and the last three come from a table.
"""

from __future__ import annotations

from collections.abc import Sequence

_STEP = 1000
_SHORT = [b"%d" % i for i in range(_STEP)]
_LAST = [b"%03d" % i for i in range(_STEP)]


def render(
    subjects: Sequence[bytes], sid: bytes, start: bytes, first: int, end: bytes
) -> tuple[bytes, int]:
    """The messages as one piece without its last LF, and the bytes of all payloads."""
    lead = end + b"\r\nMSG "
    pieces: list[bytes] = []
    at = size_sum = 0
    n = len(subjects)
    while at < n:
        number = first + at
        if number < _STEP:
            high, low, digits = b"", number, _SHORT
            width = len(_SHORT[number])
            stop = 10**width  # from there on it has one digit more
        else:
            thousands, low = divmod(number, _STEP)
            high, digits, width, stop = b"%d" % thousands, _LAST, 3, _STEP
        count = min(n - at, stop - low)
        size = len(start) + len(high) + width + len(end)
        part = [lead, b"", b" %b %d\r\n%b%b" % (sid, size, start, high), b""] * count
        part[1::4] = subjects[at : at + count]
        part[3::4] = digits[low : low + count]
        pieces += part
        at += count
        size_sum += count * size
    pieces[0] = b"MSG "
    pieces.append(end + b"\r")
    return b"".join(pieces), size_sum
