"""A stream with consumers and the model of both, side by side: what is done to one is done to the other.

Every method is a step of a history. After it everything that clients heard has been told to the model, which
judged it; `check` compares the numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from jetstream_py.store import verify
from tests.engine.consumer_model import (
    SECOND,
    Config,
    ConsumerModel,
    Debt,
    Delivery,
    Request,
    RetainedModel,
    State,
)
from tests.engine.model import Limits
from tests.engine.world import World
from tests.server.harness import Client
from tests.support.wire import messages, pub

TICK: Final = 0.25
PUSH: Final = "P"  # the name of the consumer that pushes
PUSH_SID: Final = 9
REMEMBERED: Final = 12  # deliveries of a consumer that clients may still speak of
CONFIRMATION: Final = b"MSG _INBOX.a 1 0\r\n\r\n"


class ConsumerBench:
    """One server on a directory, one stream `S`."""

    def __init__(self, path: Path, storage: str, retention: str) -> None:
        self.path, self.storage, self.retention = path, storage, retention
        self.age = 0.0
        self.sids = 100
        self.open()
        self.begin()

    def open(self) -> None:
        self.world = World(self.path, age=self.age)
        self.client: Client = self.world.bench.client()

    def begin(self) -> None:
        self.model = RetainedModel(self.storage, self.retention)
        self.old: dict[str, list[tuple[bytes, Delivery]]] = {}
        assert "error" not in self.world.create(**self.config())

    def config(self) -> dict[str, object]:
        return {"storage": self.storage, "retention": self.retention, **self.model.limits._asdict()}

    @property
    def now(self) -> float:
        return self.world.bench.clock.monotonic()

    # -- what the client hears ---------------------------------------------------------------------

    def act(self, data: bytes = b"") -> None:
        """Say something, and hear all that comes of it."""
        self.client.send(data)
        self.world.settle()
        self.hear()

    def hear(self) -> None:
        for frame in messages(self.client.read()):
            line, _, rest = frame.partition(b"\r\n")
            words = line.split(b" ")
            if words[-2] == b"%d" % PUSH_SID or words[0] == b"MSG" or b"$JS.ACK." in line:
                self._message(words, rest)
            else:
                self._status(int(words[2]), rest)
        for consumer in self.model.consumers.values():
            consumer.gone()
            consumer.note()

    def _message(self, words: list[bytes], rest: bytes) -> None:
        subject, sid, reply = words[1].decode(), int(words[2]), words[3]
        tokens = reply.decode().split(".")
        name = tokens[3]
        deliveries, seq, dseq, _, pending = map(int, tokens[4:])
        named = Delivery(deliveries, seq, dseq, pending)
        consumer = self.model.consumers[name]
        size = len(words[1]) + len(reply) + int(words[-1])
        stored = self.model.all.get(seq)
        assert stored is not None, f"{seq} is not in the stream"
        assert (subject, rest[:-2]) == (stored.subject, stored.data)
        consumer.delivered(named, size, sid, self.now)
        self.old.setdefault(name, []).append((reply, named))
        del self.old[name][:-REMEMBERED]

    def _status(self, sid: int, rest: bytes) -> None:
        status = rest.split(b"\r\n")[0].removeprefix(b"NATS/1.0 ").decode()
        for consumer in self.model.consumers.values():
            if sid in consumer.requests:
                consumer.ended(sid, status, self.now)
                return
        raise AssertionError(f"a status to no request: {status}")

    # -- the stream --------------------------------------------------------------------------------

    def publish(self, *subjects: str, size: int = 1) -> None:
        """In one tick."""
        data = b"x" * size
        for subject in subjects:
            self.world.send(subject, data)
        expected = [self.model.publish(subject, data)["seq"] for subject in subjects]
        self.world.settle()
        assert [answer["seq"] for answer in self.world.answers()] == expected
        self.gone()
        self.hear()

    def delete(self, seq: int) -> None:
        answer = self.world.ask("$JS.API.STREAM.MSG.DELETE.S", b'{"seq":%d}' % seq)
        assert answer.get("success", False) is self.model.delete(seq)
        self.gone()
        self.hear()

    def purge(self, pattern: str = "", **which: int) -> None:
        """`which` is `seq` or `keep`."""
        expected = self.model.purge(pattern, **which)
        body = {"filter": pattern, **which}
        self.world.send("$JS.API.STREAM.PURGE.S", json.dumps(body).encode())
        while not (answers := self.world.answers()):
            self.world.turn(0.0005)
        assert answers[0]["purged"] == expected
        self.world.settle()
        self.gone(purged=True)
        self.hear()
        self.stand()

    def change_limits(self, new: Limits) -> None:
        self.model.change(new)
        body = {"name": "S", "subjects": ["s.>"], **self.config()}
        answer = self.world.ask("$JS.API.STREAM.UPDATE.S", json.dumps(body).encode())
        assert "error" not in answer
        self.gone()
        self.hear()

    def gone(self, purged: bool = False) -> None:
        for consumer in self.model.consumers.values():
            consumer.gone(purged)

    def stand(self) -> None:
        """After a purge a consumer may stand further on, if it skips nothing by that."""
        for name, consumer in self.model.consumers.items():
            consumer.moved_to(self.info(name)["delivered"]["stream_seq"] + 1)

    # -- consumers ---------------------------------------------------------------------------------

    def create(self, name: str, config: Config) -> None:
        body = {"stream_name": "S", "config": config.body(name)}
        answer = self.ask(f"CONSUMER.DURABLE.CREATE.S.{name}", body)
        assert "error" not in answer, answer
        consumer = self.model.consumers[name] = ConsumerModel(self.model, config)
        consumer.state.next_seq = answer["delivered"]["stream_seq"] + 1
        consumer.floor = (0, answer["ack_floor"]["stream_seq"])
        assert consumer.ahead() == consumer.expected_start
        consumer.written()
        self.hear()

    def delete_consumer(self, name: str) -> None:
        consumer = self.model.consumers.pop(name)
        self.old.pop(name, None)
        assert self.ask(f"CONSUMER.DELETE.S.{name}")["success"]
        statuses = messages(self.client.read())
        assert len(statuses) == len(consumer.requests)
        assert all(b"409 Consumer Deleted" in status for status in statuses)
        self.model.release()
        self.hear()

    def change_filters(self, name: str, filters: tuple[str, ...]) -> None:
        consumer = self.model.consumers[name]
        config = consumer.config._replace(filters=filters)
        body = {"stream_name": "S", "config": config.body(name), "action": "update"}
        answer = self.ask(f"CONSUMER.DURABLE.CREATE.S.{name}", body)
        assert "error" not in answer, answer
        consumer.change(filters)
        self.hear()

    def listen(self) -> None:
        """Somebody listens to the push consumer, or does no more."""
        consumer = self.model.consumers[PUSH]
        consumer.bound = not consumer.bound
        subscribe, unsubscribe = b"SUB deliver.P %d\r\n", b"UNSUB %d\r\n"
        self.act((subscribe if consumer.bound else unsubscribe) % PUSH_SID)

    # -- pulls and acks ----------------------------------------------------------------------------

    def pull(
        self,
        name: str,
        batch: int = 1,
        no_wait: bool = False,
        expires: int = 0,
        max_bytes: int = 0,
    ) -> None:
        consumer = self.model.consumers[name]
        self.sids += 1
        sid = self.sids
        body: dict[str, object] = {"batch": batch}
        if no_wait:
            body["no_wait"] = True
        if expires:
            body["expires"] = expires * SECOND
        if max_bytes:
            body["max_bytes"] = max_bytes
        until = self.now + expires if expires else 0.0
        consumer.requests[sid] = Request(batch, max_bytes, no_wait, until)
        subject = f"$JS.API.CONSUMER.MSG.NEXT.S.{name}".encode()
        inbox = b"_PULL.%d" % sid
        self.act(b"SUB %b %d\r\n" % (inbox, sid) + pub(subject, json.dumps(body).encode(), inbox))

    def desert(self, name: str, sid: int) -> None:
        """The client stops listening to a request's inbox."""
        del self.model.consumers[name].requests[sid]
        self.act(b"UNSUB %d\r\n" % sid)

    def ack(self, name: str, delivery: int, word: bytes = b"", confirmed: bool = False) -> None:
        """`delivery` counts those that are remembered; negative from the newest on."""
        self._say(name, delivery, word, confirmed, ConsumerModel.acked)

    def nak(self, name: str, delivery: int, delay: int = 0, confirmed: bool = False) -> None:
        word = b'-NAK {"delay":%d}' % (delay * SECOND) if delay else b"-NAK"
        self._say(name, delivery, word, confirmed, lambda c, named: c.naked(named, delay, self.now))

    def progress(self, name: str, delivery: int, confirmed: bool = False) -> None:
        self._say(
            name, delivery, b"+WPI", confirmed, lambda c, named: c.progressed(named, self.now)
        )

    def _say(
        self,
        name: str,
        delivery: int,
        word: bytes,
        confirmed: bool,
        meaning: Callable[[ConsumerModel, Delivery], bool],
    ) -> None:
        consumer = self.model.consumers[name]
        subject, named = self.old[name][delivery]
        heard = meaning(consumer, named)
        if not confirmed:
            self.act(pub(subject, word))
            return
        self.client.send(pub(subject, word, b"_INBOX.a"))
        self.world.settle()
        answers = messages(self.world.client.read())
        assert answers == ([CONFIRMATION] if heard else [])
        if heard:
            consumer.written()
        self.hear()

    def ack_run(self, name: str, start: int) -> None:
        """Plain acks of all that is remembered, in one read."""
        run = self.old[name][start:]
        for _, named in run:
            self.model.consumers[name].acked(named)
        self.act(b"".join(pub(subject) for subject, _ in run))

    # -- the server --------------------------------------------------------------------------------

    def pass_time(self, ticks: int) -> None:
        for _ in range(ticks):
            self.age += TICK
            for consumer in self.model.consumers.values():
                consumer.written()
            self.world.bench.clock.advance(TICK)
            for consumer in self.model.consumers.values():
                consumer.tick(self.now)
                consumer.note()
            self.world.bench.broker.timers.run_due()
            self.world.settle()
            self.hear()
            self.judge()

    def restart(self) -> None:
        self.world.close()
        for consumer in self.model.consumers.values():
            consumer.written()
        self._start_again()

    def crash(self) -> None:
        self.world.crash()
        self._start_again()

    def _start_again(self) -> None:
        assert verify(str(self.path)) == []
        self.open()
        if self.storage == "memory":
            self.begin()
        for name, consumer in self.model.consumers.items():
            consumer.restarted(self._found(name))

    def _found(self, name: str) -> State:
        """What the server remembers of a consumer."""
        consumer = self.world.js.streams["S"].consumers[name]
        unacked = consumer.unacked
        again = unacked.redeliveries
        return State(
            consumer.position.next_seq,
            consumer.next_dseq,
            {
                seq: Debt(dseq, again.get(seq, 0) + 1, unacked.since[seq] / SECOND)
                for seq, dseq in unacked.dseq.items()
            },
            {seq: n + 1 for seq, n in again.items() if seq not in unacked.dseq},
        )

    def close(self) -> None:
        self.world.close()
        assert verify(str(self.path)) == []

    # -- what must always hold ---------------------------------------------------------------------

    def ask(self, verb: str, body: object = None) -> Any:
        return self.world.ask(f"$JS.API.{verb}", b"" if body is None else json.dumps(body).encode())

    def info(self, name: str) -> Any:
        return self.ask(f"CONSUMER.INFO.S.{name}")

    def judge(self) -> None:
        for consumer in self.model.consumers.values():
            consumer.idle(self.now)
            consumer.note()

    def check(self) -> None:
        self.judge()
        model = self.model
        state = self.world.state()
        assert state["messages"] == len(model.all), sorted(model.all)
        assert (state["first_seq"], state["last_seq"]) == (model.first_seq, model.last_seq)
        for name, consumer in model.consumers.items():
            info = self.info(name)
            shown = {key: info[key] for key in info if key.startswith("num_")}
            shown["delivered"] = info["delivered"]["consumer_seq"]
            shown["delivered_stream"] = info["delivered"]["stream_seq"]
            assert shown == consumer.info(), name
            floor = info["ack_floor"]
            consumer.check_floor((floor["consumer_seq"], floor["stream_seq"]))
        self._check_interest()

    def _check_interest(self) -> None:
        if self.model.retention == "interest":
            consumers = self.model.consumers.values()
            idle = [
                seq
                for seq in self.model.all
                if not any(c.needs(seq) or seq < c.config.start_seq for c in consumers)
            ]  # an interest that begins later keeps messages, too
            assert not idle, f"{idle} are kept for nobody"
