"""Message tracing: the report on a message, on both servers."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from tests.accounts.support import Actor, Stage, normal, scenario
from tests.support.wire import pub

CONFIG = """
jetstream {store_dir: "js"}
accounts {
  A {
    jetstream: enabled
    users: [
      {user: a, password: a}
      {user: careful, password: careful, permissions: {publish: {deny: "no"}, subscribe: {deny: "part.x"}}}
    ]
    mappings: {in: out}
    exports: [
      {service: "ask"}, {service: "open", allow_trace: true}, {stream: "ev.>"}, {stream: "shut.>"}
      {service: "js.ask"}, {service: "js.open", allow_trace: true}
    ]
    msg_trace: {dest: "own.trace", sampling: 100}
  }
  B {
    jetstream: enabled
    users: [{user: b, password: b}]
    imports: [
      {service: {account: A, subject: "ask"}, to: "help"}
      {service: {account: A, subject: "open"}}
      {stream: {account: A, subject: "ev.>"}, prefix: "fromA", allow_trace: true}
      {stream: {account: A, subject: "shut.>"}}
      {service: {account: A, subject: "js.ask"}}
      {service: {account: A, subject: "js.open"}}
    ]
  }
  C {
    jetstream: {max_mem: 200, max_file: 200}
    users: [{user: c, password: c}]
  }
}
"""
PARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
SUBJECTS = [
    b"one", b"nobody", b"shared", b"in", b"no", b"part.x", b"part.y", b"ev.x", b"shut.x", b"help", b"open",
]  # fmt: skip


def traced(subject: bytes, *headers: bytes, reply: bytes = b"inbox", data: bytes = b"hi") -> bytes:
    block = b"NATS/1.0\r\n" + b"".join(line + b"\r\n" for line in headers) + b"\r\n"
    sizes = b"%d %d" % (len(block), len(block) + len(data))
    return b"HPUB %b %b %b\r\n%b%b\r\n" % (subject, reply, sizes, block, data)


@scenario(config=CONFIG)
@pytest.mark.parametrize("only", [False, True])
@pytest.mark.parametrize("who", ["a", "careful", "b"])
def test_ways_of_a_message(stage: Stage, who: str, only: bool) -> None:
    """nats-server reports when it has time to, so somebody waits for each report."""
    here, there = stage.enter("a", "here"), stage.enter("b", "there")
    sender, reporter = (
        stage.enter(who, "sender"),
        stage.enter("b" if who == "b" else "a", "reporter"),
    )
    here.say(b"SUB one 1\r\nSUB shared g 2\r\nSUB out 3\r\nSUB ask 5\r\nSUB open 6\r\n")
    there.say(b"SUB fromA.> 1\r\nSUB shut.* 2\r\n")
    sender.say(b"SUB inbox 7\r\nSUB part.* 5\r\n")
    reporter.say(b"SUB report 1\r\n")
    headers = [b"Nats-Trace-Dest: report"] + [b"Nats-Trace-Only: true"] * only
    for subject in SUBJECTS:
        sender.say(traced(subject, *headers), any_order=True)
        reporter.wait()
        here.hear(any_order=True)
        there.hear(any_order=True)


@scenario(config=CONFIG)
@pytest.mark.parametrize("only", [False, True])
def test_streams_and_the_api(stage: Stage, only: bool) -> None:
    a, reporter = stage.enter("a"), stage.enter("a", "reporter")
    body = b'{"name":"S","subjects":["js.>"],"storage":"memory"}'
    a.client.exchange(b"SUB made 8\r\n")
    a.client.send(pub(b"$JS.API.STREAM.CREATE.S", body, b"made"))
    a.client.read_frame()
    reporter.say(b"SUB report 1\r\n")
    headers = [b"Nats-Trace-Dest: report"] + [b"Nats-Trace-Only: true"] * only
    for subject in (b"js.a", b"$JS.API.INFO"):
        a.say(traced(subject, *headers, reply=b""))
        reporter.wait()
    a.client.send(pub(b"$JS.API.STREAM.MSG.GET.S", b'{"seq":1}', b"made"))
    stage.note("stored", normal(a.client.read_frame()))
    a.client.send(pub(b"$JS.API.STREAM.DELETE.S", b"", b"made"))
    a.client.read_frame()


@scenario(config=CONFIG)
@pytest.mark.parametrize(
    "header",
    [
        b"Nats-Trace-Dest: a..b", b"Nats-Trace-Dest: report.*", b"Nats-Trace-Dest: trace disabled",
        b"Nats-Trace-Dest:", b"nats-trace-dest: report", b"traceparent: " + PARENT + b"01",
        b"traceparent: " + PARENT + b"00", b"traceparent: nonsense", b"Nats-Trace-Only: true",
    ],
)  # fmt: skip
def test_who_is_traced(stage: Stage, header: bytes) -> None:
    """A second message, whose report has to come, shows that the first has none, or which."""
    a, reporter = stage.enter("a"), stage.enter("a", "reporter")
    a.say(b"SUB one 1\r\n")
    reporter.say(b"SUB own.trace 2\r\nSUB report.> 3\r\nSUB report 4\r\n")
    a.say(traced(b"one", header, reply=b""))
    a.say(traced(b"one", b"Nats-Trace-Dest: report", reply=b""))
    reporter.wait(2 if header.endswith(b"-01") else 1)
    reporter.hear()


@scenario(config=CONFIG)
def test_who_does_not_hear_itself(stage: Stage) -> None:
    silent = stage.enter("a", "silent", echo=False)
    witness = stage.enter("a", "witness")
    witness.say(b"SUB report 1\r\n")
    silent.say(b"SUB one 1\r\n" + traced(b"one", b"Nats-Trace-Dest: report", reply=b""))
    witness.wait()


# -- streams ----------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A traced message to a stream, and how many answers come: when it is delivered, when only traced."""

    subject: bytes
    headers: tuple[bytes, ...] = ()
    answers: tuple[int, int] = (1, 0)
    data: bytes = b"hi"
    reply: bytes = b"answer"


REFUSED = 1, 1  # by a check: who only traces is answered, too
BATCH = b"Nats-Batch-Id: x"
STREAMS: dict[str, dict[str, object]] = {
    "S": {"subjects": ["js.>"]},
    "COUNT": {"subjects": ["count.>"], "max_msgs": 1, "discard": "new"},
    "BYTES": {"subjects": ["bytes"], "max_bytes": 100, "discard": "new"},
    "EACH": {
        "subjects": ["each.>"],
        "max_msgs_per_subject": 1,
        "discard": "new",
        "discard_new_per_subject": True,
    },
    "SIZE": {"subjects": ["size"], "max_msg_size": 10},
    "INTEREST": {"subjects": ["interest"], "retention": "interest"},
    "SEALED": {"subjects": ["sealed"]},
    "SILENT": {"subjects": ["silent"], "no_ack": True},
    "RENAMED": {"subjects": ["renamed.*"], "subject_transform": {"src": "*.*", "dest": "to.$2"}},
    "COUNTER": {"subjects": ["counter"], "allow_msg_counter": True},
    "BATCHED": {"subjects": ["batched"], "allow_atomic": True, "allow_batched": True},
    "TIMES": {
        "subjects": ["times.>"],
        "allow_msg_ttl": True,
        "allow_rollup_hdrs": True,
        "allow_msg_schedules": True,
    },
    "MIRROR": {"mirror": {"name": "S"}},
    "SOURCE": {"sources": [{"name": "S"}]},
}
CASES = [
    Case(b"js.a"),
    Case(b"js.a", (b"Nats-Msg-Id: 1",)),
    Case(b"js.a", (b"Nats-Msg-Id: 1",), REFUSED),  # a duplicate is answered as such
    Case(b"js.a", (b"Nats-Expected-Last-Sequence: 99",), REFUSED),
    Case(b"js.a", (b"Nats-Expected-Last-Sequence: none",), REFUSED),
    Case(b"js.a", (b"Nats-Expected-Last-Sequence: +2",), REFUSED),
    Case(b"js.a", (b"Nats-Expected-Last-Subject-Sequence: 99",), REFUSED),
    Case(b"js.a", (b"Nats-Expected-Last-Subject-Sequence-Subject: js.b",), REFUSED),
    Case(b"js.a", (b"Nats-Expected-Stream: X",), REFUSED),
    Case(b"js.a", (b'Nats-Expected-Last-Msg-Id: "\xff',), REFUSED),
    Case(b"js.a", (b"Nats-Rollup: sub",), REFUSED),
    Case(b"js.a", (b"Nats-TTL: 5",), REFUSED),
    Case(b"js.a", (b"Nats-Incr: 1",), REFUSED),
    Case(b"js.a", (b"Nats-Schedule: @at 2030-01-01T00:00:00Z",), REFUSED),
    Case(b"js.a", (BATCH, b"Nats-Batch-Sequence: 1"), REFUSED),
    Case(b"js.a", (b"Nats-Stream-Source: x",), REFUSED),
    Case(b"js.a", (b"Long: " + b"x" * 66_000,), REFUSED),
    Case(b"js.*"),
    Case(b"count.a"),
    Case(b"count.b"),
    Case(b"bytes", data=b"x" * 200),
    Case(b"each.a"),
    Case(b"each.a"),
    Case(b"size", (), REFUSED, b"x" * 20),
    Case(b"interest"),
    Case(b"sealed", (), REFUSED),
    Case(b"silent", (), (0, 0)),
    Case(b"renamed.a"),
    Case(b"counter", (b"Nats-Incr: 1",), data=b""),
    Case(b"counter", (), REFUSED),
    Case(b"batched", (BATCH, b"Nats-Batch-Sequence: 1", b"Nats-Batch-Commit: 1")),
    Case(b"batched", (BATCH, b"Nats-Batch-Sequence: 1", b"Nats-Batch-Commit: no"), REFUSED),
    Case(b"batched", (BATCH, b"Nats-Batch-Sequence: 2"), REFUSED),
    Case(b"times.a", (b"Nats-TTL: 5",)),
    Case(b"times.a", (b"Nats-TTL: no",)),
    Case(b"times.a", (b"Nats-Rollup: sub",)),
    Case(b"times.a", (b"Nats-Rollup: no",), REFUSED),
    Case(b"times.s", (b"Nats-Schedule: no", b"Nats-Schedule-Target: times.t"), REFUSED),
]


class Set(NamedTuple):
    """Streams, who publishes to them and who hears what comes of it."""

    sender: Actor
    listener: Actor

    def ask(self, verb: str, body: object = None) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        self.sender.client.send(pub(b"$JS.API." + verb.encode(), data, b"made"))
        while not (frame := self.sender.client.read_frame()).startswith(b"MSG made"):
            pass
        return frame

    def make(self, name: str, **config: object) -> None:
        answer = self.ask(f"STREAM.CREATE.{name}", {"name": name, "storage": "memory"} | config)
        assert b'"error"' not in answer, answer

    def trace(self, case: Case, only: bool = False, reports: int = 1) -> None:
        headers = [b"Nats-Trace-Dest: report"] + [b"Nats-Trace-Only: true"] * only
        message = traced(case.subject, *headers, *case.headers, reply=case.reply, data=case.data)
        self.sender.say(message)
        self.listener.wait(reports + case.answers[only])


def open_set(stage: Stage, user: str = "a") -> Set:
    sender, listener = stage.enter(user), stage.enter(user, f"{user} hears")
    sender.client.exchange(b"SUB made 8\r\n")
    sender.sids.append(b"8")
    listener.say(b"SUB report 1\r\nSUB answer 2\r\n")
    return Set(sender, listener)


@scenario(config=CONFIG)
def test_streams_tell_what_became_of_a_message(stage: Stage) -> None:
    set_ = open_set(stage)
    for name, config in STREAMS.items():
        set_.make(name, **config)
    set_.ask(
        "STREAM.UPDATE.SEALED",
        {"name": "SEALED", "subjects": ["sealed"], "storage": "memory", "sealed": True},
    )
    for case in CASES:
        set_.trace(case)
        set_.trace(case, only=True)
    for name, config in STREAMS.items():
        if "subjects" not in config:
            continue  # copies have their own time
        state = json.loads(set_.ask(f"STREAM.INFO.{name}").split(b"\r\n")[1])["state"]
        stage.note(name, [state[key] for key in ("messages", "first_seq", "last_seq")])
    for name in STREAMS:
        set_.ask(f"STREAM.DELETE.{name}")


@scenario(config=CONFIG)
@pytest.mark.parametrize("only", [False, True])
def test_batches_are_reported_when_they_end(stage: Stage, only: bool) -> None:
    """Of a message that waits for the rest of its batch there is no report."""
    set_ = open_set(stage)
    set_.make("BATCHED", **STREAMS["BATCHED"])
    for number in (1, 2):
        case = Case(b"batched", (BATCH, b"Nats-Batch-Sequence: %d" % number), (1, 1))
        set_.trace(case, only, reports=0)
    last = (BATCH, b"Nats-Batch-Sequence: 3", b"Nats-Batch-Commit: 1")
    set_.trace(Case(b"batched", last), only)
    set_.ask("STREAM.DELETE.BATCHED")


@scenario(config=CONFIG)
@pytest.mark.parametrize("only", [False, True])
def test_streams_of_other_accounts(stage: Stage, only: bool) -> None:
    here, there, poor = (open_set(stage, user) for user in "abc")
    here.make("S", subjects=["js.>"])
    there.make("EVENTS", subjects=["fromA.>"])
    there.make("SHUT", subjects=["shut.>"])
    poor.make("POOR", subjects=["poor"])
    here.trace(Case(b"ev.x", (), (0, 0), reply=b""), only)
    here.trace(Case(b"shut.x", (), (0, 0), reply=b""), only)
    there.trace(Case(b"js.open"), only)
    there.trace(Case(b"js.open", (b"Nats-Expected-Last-Sequence: 9",)), only)
    there.trace(Case(b"js.ask", (), (1, 0)), only)
    for _ in range(4):
        poor.trace(Case(b"poor", data=b"x" * 50), only)
    for owner, name in ((here, "S"), (there, "EVENTS"), (there, "SHUT"), (poor, "POOR")):
        state = json.loads(owner.ask(f"STREAM.INFO.{name}").split(b"\r\n")[1])["state"]
        stage.note(name, [state[key] for key in ("messages", "first_seq", "last_seq")])
        owner.ask(f"STREAM.DELETE.{name}")


@scenario(config=CONFIG)
@pytest.mark.parametrize("only", [False, True])
def test_requests_to_streams_and_consumers(stage: Stage, only: bool) -> None:
    """They are done even if they are only traced; what the system account serves is not."""
    set_ = open_set(stage)
    set_.make("S", subjects=["js.>"], allow_direct=True)
    set_.trace(Case(b"js.a", (b"Nats-Msg-Id: 1",)))
    set_.ask(
        "CONSUMER.CREATE.S.C",
        {"stream_name": "S", "config": {"name": "C", "ack_policy": "explicit"}},
    )
    done = 1, 1
    set_.trace(Case(b"$JS.API.CONSUMER.MSG.NEXT.S.C", (), done, b"1"), only)
    set_.trace(Case(b"$JS.ACK.S.C.1.1.1.1700000000000000000.0", (), done, b"+ACK"), only)
    set_.trace(Case(b"$JS.API.DIRECT.GET.S.js.a", (), done, b""), only)
    set_.trace(Case(b"$JS.API.DIRECT.GET.none", (), (0, 0), b""), only)
    set_.trace(Case(b"$JS.API.STREAM.NAMES", (), data=b""), only)
    set_.trace(Case(b"$SYS.REQ.USER.INFO", (), data=b""), only)
    set_.ask("STREAM.DELETE.S")
