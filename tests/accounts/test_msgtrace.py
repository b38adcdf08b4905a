"""Message tracing: the report on a message, on both servers."""

from __future__ import annotations

import pytest

from tests.accounts.support import Stage, normal, scenario
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
    ]
    msg_trace: {dest: "own.trace", sampling: 100}
  }
  B {
    users: [{user: b, password: b}]
    imports: [
      {service: {account: A, subject: "ask"}, to: "help"}
      {service: {account: A, subject: "open"}}
      {stream: {account: A, subject: "ev.>"}, prefix: "fromA", allow_trace: true}
      {stream: {account: A, subject: "shut.>"}}
    ]
  }
}
"""
PARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
SUBJECTS = [
    b"one", b"nobody", b"shared", b"in", b"no", b"part.x", b"part.y", b"ev.x", b"shut.x", b"help", b"open",
]  # fmt: skip


def traced(subject: bytes, *headers: bytes, reply: bytes = b"inbox") -> bytes:
    block = b"NATS/1.0\r\n" + b"".join(line + b"\r\n" for line in headers) + b"\r\n"
    sizes = b"%d %d" % (len(block), len(block) + 2)
    return b"HPUB %b %b %b\r\n%bhi\r\n" % (subject, reply, sizes, block)


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
