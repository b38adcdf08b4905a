"""Chance finds what nobody thought of: many small steps in several accounts at once."""

from __future__ import annotations

import random

import pytest

from tests.accounts.support import Actor, Stage, Theatre
from tests.differential.transcript import assert_same
from tests.support.server import ORACLE, Kind
from tests.support.wire import hpub, pub

CONFIG = """
mappings: {"m.*": "a.$1", "n.*.*": "$2.$1"}
authorization { users: [
  {user: g, password: g}
  {user: h, password: h, permissions: {
    publish: {allow: ["a.>", "m.a", "b"], deny: "a.b"}
    subscribe: {allow: ["a.>", "b", "c.>"], deny: ["a.a", "c.b"]}}}
] }
accounts {
  A {
    users: [
      {user: a, password: a}
      {user: r, password: r, permissions: {publish: "a", subscribe: ">", allow_responses: {max: 2}}}
    ]
    mappings: {"m.*": "a.$1", "m": "b"}
    exports: [{stream: "a.>"}, {stream: "b"}, {service: "c.>"}, {service: "b.*", response_type: stream}]
  }
  B {
    users: [
      {user: b, password: b}
      {user: d, password: d, permissions: {publish: {deny: "c.a"}, subscribe: {deny: ["x.a.b", "b"]}}}
    ]
    imports: [
      {stream: {account: A, subject: "a.>"}, prefix: x}
      {stream: {account: A, subject: "b"}, to: "c.c"}
      {service: {account: A, subject: "c.>"}}
      {service: {account: A, subject: "b.*"}, to: "b.*.b", share: true}
    ]
    exports: [{service: "c.a"}, {stream: "b"}]
  }
  C {
    users: [{user: c, password: c}]
    mappings: {"m": "c.a", "m.*": "a.$1"}
    imports: [
      {service: {account: B, subject: "c.a"}}
      {stream: {account: B, subject: "b"}}
      {stream: {account: A, subject: "a.*"}, to: "c.$1"}
    ]
  }
}
"""

USERS = ["g", "h", "a", "r", "b", "d", "c"]
TOKENS = [b"a", b"b", b"c", b"m", b"x", b"*", b">", b""]
WEIGHTS = [9, 8, 7, 4, 4, 2, 1, 0.3]
BLOCK = b"NATS/1.0\r\nA: b\r\n\r\n"


def subject(chance: random.Random) -> bytes:
    return b".".join(chance.choices(TOKENS, WEIGHTS, k=chance.choice([1, 1, 2, 2, 2, 3]))) or b"a"


def step(chance: random.Random, actor: Actor) -> bytes:
    sid, reply = chance.randint(1, 5), chance.choice([b"", b"", subject(chance), b"inbox.1"])
    payload = chance.choice([b"", b"1", b"22"])
    return chance.choice(
        [
            b"SUB %b %d\r\n" % (subject(chance), sid),
            b"SUB %b %d\r\n" % (subject(chance), sid),
            b"UNSUB %d\r\n" % sid,
            pub(subject(chance), payload, reply),
            pub(subject(chance), payload, reply),
            pub(subject(chance), payload, reply),
            hpub(subject(chance), BLOCK, payload, reply),
            pub(actor.reply or b"a", payload, chance.choice([b"", b"", b"b"])),
            pub(actor.reply or b"a", payload),
        ]
    )


def walk(stage: Stage, seed: int) -> None:
    """Queue groups and limits of deliveries are left out: there chance, or nats-server, decides."""
    chance = random.Random(seed)
    actors = [stage.enter(name, verbose=chance.random() < 0.2) for name in USERS]
    for actor in actors:
        actor.say(b"SUB %b 9\r\nSUB inbox.* 8\r\n" % chance.choice([b">", b"c.>", b"b.*", b"a.>"]))
    for _ in range(60):
        actor = chance.choice(actors)
        actor.say(step(chance, actor), any_order=True)
        for other in actors:
            heard = other.hear(any_order=True)
            replies = {frame.split(b"\r\n")[0].split(b" ")[3] for frame in heard if b"_R_" in frame}
            other.reply = min(replies) if len(replies) == 1 else b""


@pytest.mark.behaviour("AUTH-023", "AUTH-024", "AUTH-025")
@pytest.mark.parametrize("seed", range(20))
def test_walk(kind: Kind, theatre: Theatre, seed: int) -> None:
    expected = theatre.play(theatre.server(ORACLE, CONFIG, ()), lambda stage: walk(stage, seed))
    if kind != ORACLE:
        got = theatre.play(theatre.server(kind, CONFIG, ()), lambda stage: walk(stage, seed))
        assert_same(expected, got)


GROUPS = [b"", b"one", b"two", b"g.a", b"g.a.b"]


def entries(chance: random.Random) -> str:
    """Subjects for a rule, some with a queue group."""
    texts = []
    for _ in range(chance.randint(1, 4)):
        name = b".".join(chance.choices(TOKENS[:6], WEIGHTS[:6], k=chance.randint(1, 3))).decode()
        texts.append(
            name + chance.choice(["", ".>"]) + chance.choice(["", "", " one", " g.*", " *", " >"])
        )
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"


def rules(seed: int) -> str:
    """Users with rules by chance, and one without."""
    chance = random.Random(seed)
    users = ["{user: all, password: all}"]
    for number in range(6):
        parts = [f"allow: {entries(chance)}"] if number != 1 else []
        parts += [f"deny: {entries(chance)}"] if number % 2 else []
        rule = f"permissions: {{subscribe: {{{', '.join(parts)}}}}}"
        users.append(f"{{user: u{number}, password: u{number}, {rule}}}")
    return "authorization { users: [\n" + "\n".join(users) + "\n] }\n"


def subscribe_and_hear(stage: Stage, seed: int) -> None:
    """Each subscription is alone in its group, so that nothing is left to chance."""
    chance = random.Random(seed)
    sender, listeners = stage.enter("all"), [stage.enter(f"u{number}") for number in range(6)]
    for sid in range(1, 21):
        group = chance.choice(GROUPS)
        line = b"SUB %b %b %d\r\n" % (subject(chance), group, sid)
        for listener in listeners:
            listener.say(line)
            sender.client.exchange(b"".join(pub(name) for name in SENT))
            listener.hear(any_order=True)
            listener.say(b"UNSUB %d\r\n" % sid)


SENT = [b"a", b"b", b"a.b", b"b.a", b"c.c", b"x.a", b"a.a.a", b"c.b.a", b"m.x"]


@pytest.mark.behaviour("AUTH-014", "AUTH-015", "AUTH-016", "AUTH-017")
@pytest.mark.parametrize("seed", range(4))
def test_rules(kind: Kind, theatre: Theatre, seed: int) -> None:
    config = rules(seed)
    expected = theatre.play(
        theatre.server(ORACLE, config, ()), lambda stage: subscribe_and_hear(stage, seed)
    )
    if kind != ORACLE:
        server = theatre.server(kind, config, ())
        assert_same(expected, theatre.play(server, lambda stage: subscribe_and_hear(stage, seed)))
