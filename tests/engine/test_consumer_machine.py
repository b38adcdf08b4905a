"""Whole histories of a stream and its consumers through the wire protocol, against a model that judges every
delivery and every number (see `consumer_model`): pulls, acks, time, purges, restarts, crashes.

A crash loses what was not committed. The consumer's state is then one that it had since it was last
written: at the last confirmed ack, or a moment ago. So what was confirmed never comes back, and what was
not acked comes again.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jetstream_py import limits
from jetstream_py.store import failpoints, verify
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
from tests.store.support import TINY
from tests.support.wire import messages, pub

TICK: Final = 0.25
SUBJECTS = st.sampled_from(["s.a", "s.b", "s.c.1", "s.c.2"])
PATTERNS = st.sampled_from(["", ">", "s.a", "s.*", "s.c.>", "s.nobody"])
PICK = st.integers(0, 1 << 16)
# Work queues need filters that do not overlap: everywhere a name has its own choice of them.
FILTERS: Final = {
    "limits": ((), ("s.a",), ("s.a", "s.b"), ("s.c.>",), ("s.*", "s.c.1"), ("s.>",)),
    "interest": ((), ("s.a",), ("s.a", "s.b"), ("s.c.>",), ("s.*", "s.c.1"), ("s.>",)),
}
QUEUE_FILTERS: Final = {"A": ("s.a",), "B": ("s.b", "s.c.1"), "C": ("s.c.2",), "P": ("s.d",)}
NAMES = st.sampled_from("ABC")
LIMITS = st.builds(
    Limits,
    max_msgs=st.sampled_from([-1, -1, 3, 12]),
    max_bytes=st.just(-1),
    max_msgs_per_subject=st.sampled_from([-1, -1, 2]),
    discard=st.just("old"),
)
CONFIGS = st.builds(
    Config,
    filters=st.just(()),
    start_seq=st.just(0),
    push=st.just(False),
    ack=st.sampled_from(["explicit", "explicit", "explicit", "all", "none"]),
    wait=st.sampled_from([0.5, 1.0, 3.0]),
    backoff=st.sampled_from([(), (), (0.5, 1.5)]),
    max_deliver=st.sampled_from([-1, -1, 1, 2, 3]),
    max_pending=st.sampled_from([1000, 1000, 1, 3]),
    start=st.sampled_from(
        ["all", "all", "all", "new", "last", "by_start_sequence", "last_per_subject"]
    ),
)
PUSH_SID: Final = 9
PARTIAL_FILTERED_PURGES: Final = False


class ConsumerMachine(RuleBasedStateMachine):
    """Rules for any stream; storage and retention are the subclass's."""

    storage = ""
    retention = ""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="consumers-"))
        self.saved = {name: getattr(limits, name) for name in TINY}
        for name, value in TINY.items():
            setattr(limits, name, value)
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

    def seq(self, pick: int) -> int:
        return pick % (self.model.last_seq + 3)

    def pick(self, pick: int) -> tuple[str, ConsumerModel]:
        names = sorted(self.model.consumers)
        name = names[pick % len(names)]
        return name, self.model.consumers[name]

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
        del self.old[name][:-12]

    def _status(self, sid: int, rest: bytes) -> None:
        status = rest.split(b"\r\n")[0].removeprefix(b"NATS/1.0 ").decode()
        for consumer in self.model.consumers.values():
            if sid in consumer.requests:
                consumer.ended(sid, status, self.now)
                return
        raise AssertionError(f"a status to no request: {status}")

    # -- the stream --------------------------------------------------------------------------------

    @rule(subjects=st.lists(SUBJECTS, min_size=1, max_size=8), size=st.sampled_from([1, 40, 300]))
    def publish(self, subjects: list[str], size: int) -> None:
        data = b"x" * size
        for subject in subjects:
            self.world.send(subject, data)
        expected = [self.model.publish(subject, data)["seq"] for subject in subjects]
        self.world.settle()
        assert [answer["seq"] for answer in self.world.answers()] == expected
        self.gone()
        self.hear()

    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        seq = self.seq(pick)
        answer = self.world.ask("$JS.API.STREAM.MSG.DELETE.S", b'{"seq":%d}' % seq)
        assert answer.get("success", False) is self.model.delete(seq)
        self.gone()
        self.hear()

    @rule(pattern=PATTERNS, pick=PICK, how=st.sampled_from(["", "seq", "keep"]))
    def purge(self, pattern: str, pick: int, how: str) -> None:
        if pattern and not PARTIAL_FILTERED_PURGES:
            how = ""
        number = {"seq": self.seq(pick), "keep": pick % 5}.get(how, 0)
        expected = self.model.purge(pattern, **({how: number} if how else {}))
        body = {"filter": pattern, how: number} if how else {"filter": pattern}
        self.world.send("$JS.API.STREAM.PURGE.S", json.dumps(body).encode())
        while not (answers := self.world.answers()):
            self.world.turn(0.0005)
        assert answers[0]["purged"] == expected
        self.world.settle()
        self.gone()
        self.stand()
        self.hear()

    @rule(new=LIMITS)
    def change_limits(self, new: Limits) -> None:
        self.model.change(new)
        body = {"name": "S", "subjects": ["s.>"], **self.config()}
        answer = self.world.ask("$JS.API.STREAM.UPDATE.S", json.dumps(body).encode())
        assert "error" not in answer
        self.gone()
        self.hear()

    def gone(self) -> None:
        for consumer in self.model.consumers.values():
            consumer.gone()

    def stand(self) -> None:
        """After a purge a consumer may stand further on, if it skips nothing by that."""
        for name, consumer in self.model.consumers.items():
            consumer.moved_to(self.info(name)["delivered"]["stream_seq"] + 1)

    # -- consumers ---------------------------------------------------------------------------------

    @initialize(config=CONFIGS, pick=PICK)
    def first(self, config: Config, pick: int) -> None:
        self.create("A", config._replace(start="all"), pick)

    @rule(name=NAMES, config=CONFIGS, pick=PICK)
    def create_pull(self, name: str, config: Config, pick: int) -> None:
        if name not in self.model.consumers:
            self.create(name, config, pick)

    @rule(config=CONFIGS, pick=PICK)
    def create_push(self, config: Config, pick: int) -> None:
        if "P" not in self.model.consumers:
            self.create("P", config._replace(push=True, max_pending=1000), pick)

    def create(self, name: str, config: Config, pick: int) -> None:
        config = self.fit(name, config, pick)
        body = {"stream_name": "S", "config": config.body(name)}
        answer = self.ask(f"CONSUMER.DURABLE.CREATE.S.{name}", body)
        assert "error" not in answer, answer
        consumer = self.model.consumers[name] = ConsumerModel(self.model, config)
        consumer.state.next_seq = answer["delivered"]["stream_seq"] + 1
        consumer.floor = (0, answer["ack_floor"]["stream_seq"])
        assert consumer.ahead() == consumer.expected_start
        consumer.written()
        self.hear()

    def fit(self, name: str, config: Config, pick: int) -> Config:
        """What the stream allows."""
        if self.retention == "workqueue":
            ack = "explicit"
            config = config._replace(filters=QUEUE_FILTERS[name], ack=ack, start="all")
        else:
            choice = FILTERS[self.retention]
            config = config._replace(filters=choice[pick % len(choice)])
        if config.start == "last_per_subject" and not config.filters:
            config = config._replace(filters=("s.>",))
        if config.start == "by_start_sequence":
            config = config._replace(start_seq=self.seq(pick) or 1)
        if 0 < config.max_deliver < len(config.backoff) or config.ack == "none":
            config = config._replace(backoff=())
        if config.ack == "none":
            config = config._replace(max_deliver=-1)
        return config

    @precondition(lambda self: self.model.consumers)
    @rule(pick=PICK)
    def delete_consumer(self, pick: int) -> None:
        name, consumer = self.pick(pick)
        if pick % 3:
            return  # they should live for a while
        del self.model.consumers[name]
        self.old.pop(name, None)
        assert self.ask(f"CONSUMER.DELETE.S.{name}")["success"]
        statuses = messages(self.client.read())
        assert len(statuses) == len(consumer.requests)
        assert all(b"409 Consumer Deleted" in status for status in statuses)
        self.model.release()
        self.hear()

    @precondition(lambda self: self.model.consumers and self.retention == "limits")
    @rule(pick=PICK)
    def change_filters(self, pick: int) -> None:
        name, consumer = self.pick(pick)
        if consumer.config.start == "last_per_subject":
            return
        choice = FILTERS[self.retention]
        config = consumer.config._replace(filters=choice[pick // 8 % len(choice)])
        body = {"stream_name": "S", "config": config.body(name), "action": "update"}
        answer = self.ask(f"CONSUMER.DURABLE.CREATE.S.{name}", body)
        assert "error" not in answer, answer
        consumer.change(config.filters)
        self.hear()

    @precondition(lambda self: "P" in self.model.consumers)
    @rule()
    def listen(self) -> None:
        """Somebody listens to the push consumer, or does no more."""
        consumer = self.model.consumers["P"]
        consumer.bound = not consumer.bound
        self.act(
            b"SUB deliver.P %d\r\n" % PUSH_SID if consumer.bound else b"UNSUB %d\r\n" % PUSH_SID
        )

    # -- pulls and acks ----------------------------------------------------------------------------

    @precondition(lambda self: self.model.consumers)
    @rule(
        pick=PICK,
        batch=st.sampled_from([1, 1, 2, 5, 30]),
        no_wait=st.booleans(),
        expires=st.sampled_from([0, 0, 1, 4]),
        max_bytes=st.sampled_from([0, 0, 0, 150, 600]),
    )
    def pull(self, pick: int, batch: int, no_wait: bool, expires: int, max_bytes: int) -> None:
        name, consumer = self.pick(pick)
        if consumer.config.push:
            return
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

    @precondition(lambda self: any(c.requests for c in self.model.consumers.values()))
    @rule(pick=PICK)
    def desert(self, pick: int) -> None:
        """The client stops listening to a request's inbox."""
        open_requests = [(c, sid) for c in self.model.consumers.values() for sid in c.requests]
        consumer, sid = open_requests[pick % len(open_requests)]
        del consumer.requests[sid]
        self.act(b"UNSUB %d\r\n" % sid)

    def say(
        self,
        pick: int,
        word: bytes,
        confirmed: bool,
        meaning: Callable[[ConsumerModel, Delivery], bool],
    ) -> None:
        """A word about a delivery that a client has seen, lately or a while ago."""
        name, consumer = self.pick(pick)
        seen = self.old.get(name)
        if not seen or consumer.config.ack == "none":
            return
        subject, named = seen[pick // 8 % len(seen)]
        heard = meaning(consumer, named)
        if confirmed:
            self.client.send(pub(subject, word, b"_INBOX.a"))
            self.world.settle()
            answers = messages(self.world.client.read())
            assert answers == ([b"MSG _INBOX.a 1 0\r\n\r\n"] if heard else [])
            if heard:
                consumer.written()
            self.hear()
        else:
            self.act(pub(subject, word))

    @precondition(lambda self: self.model.consumers)
    @rule(pick=PICK, word=st.sampled_from([b"", b"+ACK", b"+TERM"]), confirmed=st.booleans())
    def ack(self, pick: int, word: bytes, confirmed: bool) -> None:
        self.say(pick, word, confirmed, ConsumerModel.acked)

    @precondition(lambda self: self.model.consumers)
    @rule(pick=PICK, delay=st.sampled_from([0, 0, 1, 4]), confirmed=st.booleans())
    def nak(self, pick: int, delay: int, confirmed: bool) -> None:
        word = b'-NAK {"delay":%d}' % (delay * SECOND) if delay else b"-NAK"
        self.say(pick, word, confirmed, lambda c, named: c.naked(named, delay, self.now))

    @precondition(lambda self: self.model.consumers)
    @rule(pick=PICK, confirmed=st.booleans())
    def progress(self, pick: int, confirmed: bool) -> None:
        self.say(pick, b"+WPI", confirmed, lambda c, named: c.progressed(named, self.now))

    @precondition(lambda self: self.model.consumers)
    @rule(pick=PICK, skip=st.integers(0, 3))
    def ack_run(self, pick: int, skip: int) -> None:
        """Many plain acks in one read."""
        name, consumer = self.pick(pick)
        if consumer.config.ack == "none":
            return
        run = self.old.get(name, [])[skip:]
        for _, named in run:
            consumer.acked(named)
        self.act(b"".join(pub(subject, b"") for subject, _ in run))

    # -- the server --------------------------------------------------------------------------------

    @rule(ticks=st.sampled_from([1, 2, 4, 9]))
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

    @rule()
    def restart(self) -> None:
        self.world.close()
        for consumer in self.model.consumers.values():
            consumer.written()
        self.start_again()

    def start_again(self) -> None:
        self.open()
        self.begin()

    # -- what must always hold ---------------------------------------------------------------------

    def ask(self, verb: str, body: object = None) -> Any:
        return self.world.ask(f"$JS.API.{verb}", b"" if body is None else json.dumps(body).encode())

    def info(self, name: str) -> Any:
        return self.ask(f"CONSUMER.INFO.S.{name}")

    def judge(self) -> None:
        for consumer in self.model.consumers.values():
            consumer.idle(self.now)
            consumer.note()

    @invariant()
    def numbers(self) -> None:
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

    @invariant()
    def holds_what_is_needed(self) -> None:
        if self.model.retention == "interest":
            consumers = self.model.consumers.values()
            idle = [seq for seq in self.model.all if not any(c.needs(seq) for c in consumers)]
            assert not idle, f"{idle} are kept for nobody"

    def teardown(self) -> None:
        failpoints.disarm()
        self.world.close()
        complaints = verify(str(self.path))
        for name, value in self.saved.items():
            setattr(limits, name, value)
        shutil.rmtree(self.path)
        assert complaints == []


class FileMachine(ConsumerMachine):
    """A disk remembers: the stream all that was answered, the consumers what was written."""

    storage = "file"

    @rule()
    def crash(self) -> None:
        self.world.crash()
        self.start_again()

    def start_again(self) -> None:
        assert verify(str(self.path)) == []
        self.open()
        for name, consumer in self.model.consumers.items():
            consumer.restarted(self.found(name))
            consumer.floor = (0, 0)

    def found(self, name: str) -> State:
        """What the server remembers of a consumer."""
        consumer = self.world.js.streams["S"].consumers[name]
        unacked = consumer.unacked
        again = unacked.redeliveries
        return State(
            consumer.position.next_seq,
            consumer.next_dseq,
            {seq: Debt(dseq, again.get(seq, 0) + 1, 0.0) for seq, dseq in unacked.dseq.items()},
            {seq: n for seq, n in again.items() if seq not in unacked.dseq},
        )


class FileLimits(FileMachine):
    retention = "limits"


class FileInterest(FileMachine):
    retention = "interest"


class FileQueue(FileMachine):
    retention = "workqueue"


class MemoryLimits(ConsumerMachine):
    storage = "memory"
    retention = "limits"


QUICK = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
for machine in (FileLimits, FileInterest, FileQueue, MemoryLimits):
    machine.TestCase.settings = QUICK
TestFileLimits: type = FileLimits.TestCase
TestFileInterest: type = FileInterest.TestCase
TestFileQueue: type = FileQueue.TestCase
TestMemoryLimits: type = MemoryLimits.TestCase
