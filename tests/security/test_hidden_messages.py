"""Messages of streams on a denied subject: who has a wildcard around it does not get them by a consumer."""

from __future__ import annotations

import json

import pytest

from tests.accounts.support import Actor, Stage, scenario
from tests.support.wire import pub

CONFIG = """
jetstream {store_dir: "js"}
accounts { A { jetstream: enabled, users: [
  {user: boss, password: boss}
  {user: plain, password: plain, permissions: {subscribe: {deny: "a.x"}}}
  {user: member, password: member, permissions: {subscribe: {deny: "a.x g"}}}
] } }
"""


def ask(boss: Actor, verb: str, body: object = None) -> dict[str, object]:
    data = b"" if body is None else json.dumps(body).encode()
    boss.client.send(pub(b"$JS.API." + verb.encode(), data, b"made"))
    while not (frame := boss.client.read_frame()).startswith(b"MSG made"):
        pass
    answer: dict[str, object] = json.loads(frame.split(b"\r\n")[1])
    assert "error" not in answer, answer
    return answer


@scenario(config=CONFIG)
@pytest.mark.parametrize("wildcard", [b"", b"SUB a.* 9\r\n"])
@pytest.mark.parametrize("user", ["plain", "member"])
def test_pulled_and_pushed(stage: Stage, user: str, wildcard: bytes) -> None:
    """What is held back counts as delivered."""
    boss, client = stage.enter("boss"), stage.enter(user)
    boss.client.exchange(b"SUB made 8\r\n")
    boss.sids.append(b"8")
    ask(boss, "STREAM.CREATE.S", {"name": "S", "storage": "memory", "subjects": ["a.>"]})
    boss.client.exchange(pub(b"a.x", b"1") + pub(b"a.y", b"2"))
    client.say(wildcard + b"SUB in.* 1\r\nSUB d.x g 2\r\n")
    pull = {"durable_name": "Q", "ack_policy": "explicit"}
    push = {"durable_name": "P", "deliver_subject": "d.x", "deliver_group": "g"}
    for config in (pull, push):
        body = {"stream_name": "S", "config": {**config, "ack_wait": 10**12}}
        ask(boss, f"CONSUMER.CREATE.S.{config['durable_name']}", body)
    hidden = bool(wildcard)
    client.wait(1 if hidden else 2)  # pushed
    client.client.send(pub(b"$JS.API.CONSUMER.MSG.NEXT.S.Q", b"2", b"in.q"))
    client.wait(1 if hidden and user == "plain" else 2)
    for name in "PQ":
        stage.note(name, ask(boss, f"CONSUMER.INFO.S.{name}")["delivered"])
    ask(boss, "STREAM.DELETE.S")
