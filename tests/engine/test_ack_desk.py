"""Acks that come together are settled together, with the same result as one by one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jetstream_py.engine.consumer import Consumer
from jetstream_py.engine.shared import Item
from tests.engine.world import World
from tests.support.wire import messages, pub

DELIVERED = 8
TOGETHER, ALONE = "TT", "AA"  # streams; each has a consumer of its own name
WORDS = st.sampled_from(
    [b"-NAK", b'-NAK {"delay":1000}', b"+TERM", b"+WPI", b"+TERM why", b"what", b"+NXT", b" +ACK"]
)
ACKS = st.sampled_from([b"", b"", b"+ACK", b"+OK"])
SEQS = st.integers(0, DELIVERED + 2).map(str)
NUMBERS = st.sampled_from(["1", "7", "0", "x", "", "-1"])
REPLIES = st.sampled_from([b"", b"_INBOX.a"])
START = "$JS.ACK.{0}.{0}."
PLAIN = st.builds(
    lambda seq, word: (f"{START}1.{seq}.{seq}.17.0", b"", word), st.integers(1, DELIVERED), ACKS
)
ODD = st.one_of(
    st.builds(
        lambda n, seq, dseq, word, reply: (f"{START}{n}.{seq}.{dseq}.17.0", reply, word),
        NUMBERS,
        SEQS | NUMBERS,
        SEQS | NUMBERS,
        ACKS | WORDS,
        REPLIES,
    ),
    st.builds(
        lambda tokens, reply: (START + ".".join(tokens), reply, b""),
        st.lists(SEQS | st.sampled_from(["$JS", "ACK", "x"]), min_size=1, max_size=8),
        REPLIES,
    ),
)
LISTS = st.one_of(
    st.lists(PLAIN, min_size=1, max_size=12),
    st.lists(PLAIN | ODD, min_size=1, max_size=12),
    st.tuples(st.lists(PLAIN, min_size=4, max_size=8), ODD).map(lambda both: [*both[0], both[1]]),
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory))
        yield world
        world.close()


def begin(world: World, name: str, retention: str, repeated: bool) -> Consumer:
    """A stream whose first messages are delivered, some of them twice if that is wanted."""
    subject = f"{name}.a"
    config = {"name": name, "subjects": [subject], "storage": "memory", "retention": retention}
    world.ask(f"$JS.API.STREAM.CREATE.{name}", json.dumps(config).encode())
    body = {"stream_name": name, "config": {"durable_name": name, "ack_policy": "explicit"}}
    world.ask(f"$JS.API.CONSUMER.DURABLE.CREATE.{name}.{name}", json.dumps(body).encode())
    for _ in range(DELIVERED + 1):
        world.ask(subject, b"x")
    pull(world, name, DELIVERED)
    consumer = world.js.streams[name].consumers[name]
    if repeated:
        world.client.send(pub(f"$JS.ACK.{name}.{name}.1.2.2.17.0".encode(), b"-NAK"))
        pull(world, name, 1)
    return consumer


def pull(world: World, name: str, batch: int) -> None:
    body = b'{"batch":%d,"no_wait":true}' % batch
    world.client.send(pub(f"$JS.API.CONSUMER.MSG.NEXT.{name}.{name}".encode(), body, b"_INBOX.p"))
    world.settle()
    assert len(messages(world.client.read())) == batch


def items(said: list[tuple[str, bytes, bytes]], name: str) -> list[Item]:
    return [(text.format(name).encode(), reply, b"", word) for text, reply, word in said]


def outcome(world: World, consumer: Consumer) -> dict[str, Any]:
    """Everything that anybody can see of it."""
    world.settle()
    unacked = consumer.unacked
    heard = messages(world.client.read().replace(consumer.tokens[0], b"<>"))
    queue = []
    while seq := unacked.next_again():
        queue.append(seq)
    return {
        "owed": unacked.dseq,
        "since": unacked.since,
        "redeliveries": unacked.redeliveries,
        "queue": queue,
        "floor": (consumer.ledger.floor_seq, consumer.ledger.floor_stream_seq),
        "acked": consumer.ledger.acked_ns,
        "left": [seq for seq in range(DELIVERED + 3) if consumer.stream.store.get(seq)],
        "heard": sorted(heard),  # what nobody answers is told before what waits for the disk
    }


# The tenth token of one subject stands where the next one should begin.
SHIFTED = [
    (START + "1.2.2.17.0", b"", b""),
    (START + "1.3.3.17.0", b"", b""),
    (START + "1.5.5.17.0.$JS", b"", b""),
    (START + "1.6.6.17", b"", b""),
]


@settings(max_examples=120, deadline=None)
@example(
    lists=[SHIFTED],
    retention="workqueue",
    repeated=False,
)
@given(
    lists=st.lists(LISTS, min_size=1, max_size=3),
    retention=st.sampled_from(["limits", "workqueue"]),
    repeated=st.booleans(),
)
def test_together_is_one_by_one(
    world: World,
    lists: list[list[tuple[str, bytes, bytes]]],
    retention: str,
    repeated: bool,
) -> None:
    together = begin(world, TOGETHER, retention, repeated)
    alone = begin(world, ALONE, retention, repeated)
    try:
        for said in lists:
            together.desk.take(items(said, TOGETHER))
            found = outcome(world, together)
            for item in items(said, ALONE):
                alone.desk._one_by_one(len(alone.desk._start), [item], exact=True)
                alone.serve()
            assert found == outcome(world, alone)
    finally:
        for name in (TOGETHER, ALONE):
            world.ask(f"$JS.API.STREAM.DELETE.{name}")
