"""The checksum of nats-server's files: a published value, lengths, steps."""

from __future__ import annotations

import random
import struct

from jetstream_py.backup import highway

KEY = struct.pack("<4Q", 1, 2, 3, 4)


def test_known_value() -> None:
    """By the documentation of Digest::HighwayHash."""
    assert (
        int.from_bytes(highway.digest(highway.start(KEY), b"hello"), "little")
        == 11956820856122239241
    )


def test_steps_make_no_difference() -> None:
    data = random.Random(1).randbytes(100_003)
    state = highway.start(KEY)
    assert len(list(highway.in_steps(state, data))) == 3
    assert highway.digest(state, data) == highway.digest(state, bytes(data))


def test_every_byte_counts() -> None:
    """Of any length up to two packets and a rest."""
    state = highway.start(KEY)
    for size in range(70):
        good = highway.digest(state, bytes(size))
        assert highway.digest(state, bytes(size + 1)) != good
        for at in range(size):
            assert highway.digest(state, bytes(at) + b"\1" + bytes(size - at - 1)) != good
