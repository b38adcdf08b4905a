"""What a user may not publish, the server does not publish for it.

Each way by which a client makes the server send something, taken by users who may not publish to that
subject themselves, on both servers. Where nats-server sends (replies, and what streams and consumers are
configured to do: who may use that API is the permission), so do we; traces are refused.
"""

from __future__ import annotations

import pytest

from tests.accounts.support import Actor, Stage, scenario
from tests.support.wire import hpub, pub

CONFIG = """
accounts {
  A {
    users: [
      {user: jail, password: jail, permissions: {
         publish: {allow: ["ok.>", "$SYS.REQ.USER.INFO", "help"]}
         subscribe: {allow: ["_INBOX.>", "ok.>"]} }}
      {user: deny, password: deny, permissions: {publish: {deny: ["secret.>", "secret", "$SYS.x"]}}}
      {user: boss, password: boss}
    ]
    imports: [{service: {account: S, subject: help}}]
    msg_trace: {dest: "secret.account", sampling: 100}
  }
  S {
    users: [{user: servant, password: servant}]
    exports: [{service: help, latency: {sampling: 100, subject: "secret.latency"}}]
  }
}
"""
PARENT = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACES = {
    "denied": "Nats-Trace-Dest: secret.t",
    "only": "Nats-Trace-Dest: secret.t\r\nNats-Trace-Only: true",
    "system": "Nats-Trace-Dest: $SYS.x",
    "of the account": PARENT,
    "wildcard": "Nats-Trace-Dest: secret.*",
    "lower case": "nats-trace-dest: secret.t",
}
USERS = pytest.mark.parametrize("user", ["jail", "deny"])


def boss(stage: Stage) -> Actor:
    found = stage.enter("boss")
    found.say(b"SUB secret.> 1\r\nSUB ok.> 2\r\nSUB $SYS.x 3\r\nSUB no 4\r\n")
    return found


def subjects(stage: Stage, who: Actor, count: int = 0) -> None:
    """Note where something arrived; the texts are the matter of other tests. What nats-server answers
    itself comes in its own time, and may be overtaken: then `count` tells how much has to come."""
    lines = list(stage.lines)
    frames = who.wait(count) + who.hear()
    got = sorted(frame.split(b" ")[1].decode() for frame in frames if b"MSG " in frame[:5])
    stage.lines[:] = [*lines, f"{who.name} heard {got}"]


@scenario(config=CONFIG)
@USERS
@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("trace", TRACES)
def test_traces(stage: Stage, user: str, trace: str, verbose: bool) -> None:
    listener, client = boss(stage), stage.enter(user, verbose=verbose)
    for subject in (b"ok.x", b"no"):
        client.say(hpub(subject, f"NATS/1.0\r\n{TRACES[trace]}\r\n\r\n".encode(), b"hi"))
        subjects(stage, listener)


@scenario(config=CONFIG)
@USERS
def test_replies_of_the_server(stage: Stage, user: str) -> None:
    listener, client = boss(stage), stage.enter(user)
    for subject in (b"$SYS.REQ.USER.INFO", b"help", b"ok.nobody"):
        client.say(pub(subject, b"", b"secret.reply"))
        client.hear()
    subjects(stage, listener, 2)


@scenario(config=CONFIG)
@USERS
def test_replies_of_services(stage: Stage, user: str) -> None:
    """The answer and the latency go where the configuration and the request say."""
    listener, client, servant = boss(stage), stage.enter(user), stage.enter("servant")
    servant.say(b"SUB help 1\r\n")
    client.say(pub(b"help", b"?", b"secret.reply"))
    servant.hear()
    servant.answer(b"!")
    subjects(stage, servant)
    subjects(stage, listener)
    client.say(pub(b"help", b"?", b"_R_.abcdef.ghijkl"))
    client.say(pub(b"secret.latency", b"forged"))
    subjects(stage, servant)
    subjects(stage, listener)
