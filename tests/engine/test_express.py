"""The straight way of a request for one message gives the bytes of the general way."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py.engine.consumer import Consumer
from tests.engine.world import World
from tests.server.harness import Client
from tests.support.wire import hpub, messages, pub

STRAIGHT, GENERAL = "TT", "GG"  # streams; each has a consumer of its own name
BLOCK: Final = b"NATS/1.0\r\nA: b\r\n\r\n"
BODIES: Final = (
    b"",
    b"1",
    b'{"batch":1,"expires":2000000000}',
    b'{"batch":1,"expires":2000000000,"idle_heartbeat":500000000}',
    b'{"batch":1,"no_wait":true}',
    b'{"batch":1,"no_wait":true,"expires":1000000000}',
    b'{"batch":0}',
    b'{"batch":-2}',
    b'{"batch":3,"expires":1000000000}',
    b'{"batch":1,"max_bytes":100}',
    b'{"batch":1,"expires":-1}',
    b'{"batch":1,"expires":9000000000}',
    b'{"batch":1,"min_pending":1}',
    b"{",
)
STEPS = st.one_of(
    st.tuples(st.just("pull"), st.sampled_from(BODIES), st.sampled_from([b"1", b"2", b"3"])),
    st.tuples(st.just("pull"), st.just(BODIES[2]), st.just(b"1")),
    st.tuples(st.just("next"), st.sampled_from(BODIES[:6]), st.sampled_from([b"1", b"2"])),
    st.tuples(st.just("publish"), st.sampled_from([b"a", b"b"]), st.booleans()),
    st.tuples(st.just("say"), st.sampled_from([b"+ACK", b"-NAK", b"+TERM"]), st.integers(1, 9)),
    st.tuples(st.just("delete"), st.integers(1, 9)),
    st.tuples(st.just("time"), st.integers(1, 6)),
    st.tuples(st.just("pause"), st.booleans()),
    st.tuples(st.just("listen"), st.sampled_from([b"*", b"1"])),
    st.tuples(st.just("bind"), st.booleans()),
)
CONFIGS = st.fixed_dictionaries(
    {"ack_policy": st.sampled_from(["explicit", "explicit", "all", "none"])},
    optional={
        "max_ack_pending": st.sampled_from([1, 2]),
        "max_expires": st.just(3_000_000_000),
        "headers_only": st.just(True),
        "replay_policy": st.just("original"),
        "deliver_policy": st.sampled_from(["new", "last_per_subject"]),
        "filter_subject": st.sampled_from(["{}.a", "{}.*", "{}.none"]),
        "deliver_subject": st.just("{}-in.push"),
    },
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory))
        yield world
        world.close()


class Side:
    """One stream with its consumer, and the client that listens."""

    def __init__(
        self, world: World, name: str, storage: str, retention: str, config: dict[str, Any]
    ) -> None:
        self.world, self.name = world, name
        self.client: Client = world.bench.client()
        self.listening = b""
        self.bind(True)
        self.listen(b"*")
        stream = {"subjects": [f"{name}.*"], "storage": storage, "retention": retention}
        assert "error" not in world.make(name, **stream)
        self.publish(b"a", False)
        self.publish(b"b", True)
        wanted = {"durable_name": name, "ack_wait": 1_000_000_000, **config}
        for key in ("filter_subject", "deliver_subject"):
            if key in config:
                wanted[key] = config[key].format(name)
        if config["ack_policy"] == "none":
            wanted.pop("max_ack_pending", 0)
        if "deliver_subject" in config:
            wanted.pop("max_expires", 0)
        if config.get("deliver_policy") == "last_per_subject":
            wanted.setdefault("filter_subject", f"{name}.>")
        body = {"stream_name": name, "config": wanted}
        answer = world.ask(f"$JS.API.CONSUMER.CREATE.{name}.{name}", json.dumps(body).encode())
        assert "error" not in answer, answer

    @property
    def consumer(self) -> Consumer:
        return self.world.js.streams[self.name].consumers[self.name]

    def publish(self, token: bytes, headers: bool) -> None:
        subject = self.name.encode() + b"." + token
        self.client.send(hpub(subject, BLOCK, b"data") if headers else pub(subject, b"data"))

    def inbox(self, token: bytes) -> bytes:
        return self.name.encode() + b"-in." + token

    def pull(self, body: bytes, token: bytes) -> None:
        subject = b"$JS.API.CONSUMER.MSG.NEXT.%b.%b" % self.consumer.tokens
        self.client.send(pub(subject, body, self.inbox(token)))

    def say(self, word: bytes, seq: int, reply: bytes = b"") -> None:
        subject = b"$JS.ACK.%b.%b.1.%d.%d.17.0" % (*self.consumer.tokens, seq, seq)
        self.client.send(pub(subject, word, reply))

    def next(self, body: bytes, token: bytes) -> None:
        self.say(b"+NXT " + body, 1, self.inbox(token))

    def delete(self, seq: int) -> None:
        self.world.ask(f"$JS.API.STREAM.MSG.DELETE.{self.name}", b'{"seq":%d}' % seq)

    def pause(self, paused: bool) -> None:
        self.consumer.pause(self.world.bench.clock.now_ns() + 1_000_000_000 if paused else 0)

    def listen(self, pattern: bytes) -> None:
        if pattern != self.listening:
            self.listening = pattern
            self.client.send(b"UNSUB 5\r\nSUB %b 5\r\n" % self.inbox(pattern))

    def bind(self, listening: bool) -> None:
        """To the deliver subject of a push consumer."""
        self.client.send(b"UNSUB 6\r\n")
        if listening:
            self.client.send(b"SUB %b 6\r\n" % self.inbox(b"push"))

    def time(self, quarters: int) -> None:
        """It passes for both sides at once."""

    def seen(self) -> dict[str, object]:
        """What was heard, and everything that anybody can see."""
        consumer = self.consumer
        unacked = consumer.unacked
        return {
            "heard": messages(self.client.read().replace(self.name.encode(), b"<>")),
            "owed": dict(unacked.dseq),
            "since": dict(unacked.since),
            "again": dict(unacked.redeliveries),
            "floor": (consumer.ledger.floor_seq, consumer.ledger.floor_stream_seq),
            "next": (consumer.next_dseq, consumer.position.next_seq, consumer.delivered_ns),
            "pending": consumer.num_pending(),
            "waiting": consumer.num_waiting,
            "left": self.world.js.streams[self.name].store.messages,
            "due": (unacked.next_due(), consumer.outlet.next_due()),
        }


def close_express(consumer: Consumer) -> None:
    consumer.pull.express._open = False


@settings(max_examples=100, deadline=None)
@given(
    steps=st.lists(STEPS, min_size=3, max_size=25),
    config=CONFIGS,
    storage=st.sampled_from(["memory", "file"]),
    retention=st.sampled_from(["limits", "limits", "interest"]),
)
def test_straight_is_general(
    world: World, steps: list[tuple[Any, ...]], config: dict[str, Any], storage: str, retention: str
) -> None:
    sides = [Side(world, name, storage, retention, config) for name in (STRAIGHT, GENERAL)]
    close_express(sides[1].consumer)
    try:
        for name, *given_ in steps:
            for side in sides:
                step: Callable[..., None] = getattr(side, name)
                step(*given_)
                world.settle()
            if name == "time":
                world.pass_time(given_[0] / 4)
            assert sides[0].seen() == sides[1].seen()
    finally:
        for side in sides:
            world.ask(f"$JS.API.STREAM.DELETE.{side.name}")
            side.client.drop()


def test_a_single_request_takes_the_straight_way(world: World) -> None:
    side = Side(world, STRAIGHT, "file", "limits", {"ack_policy": "explicit"})
    world.settle()
    side.consumer.dispatcher.serve = side.consumer.serve = pytest.fail  # type: ignore[method-assign]
    side.pull(b'{"batch":1,"expires":2000000000}', b"1")
    heard = messages(side.client.read())
    assert [frame.split(b" ")[3].split(b".")[:6] for frame in heard] == [
        [b"$JS", b"ACK", b"TT", b"TT", b"1", b"1"]
    ]
    world.ask(f"$JS.API.STREAM.DELETE.{STRAIGHT}")
