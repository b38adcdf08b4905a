"""Several connections at once: both servers must tell the same story."""

from __future__ import annotations

import random

import pytest

from tests.differential.transcript import Scenario, Stage, assert_same, play
from tests.support.server import Server
from tests.support.wire import QUIET, REQUESTER, connect, hpub, pub

BLOCK = b"NATS/1.0\r\nA: b\r\n\r\n"


def request_and_reply(stage: Stage) -> None:
    service, client = stage.enter("service"), stage.enter("client", REQUESTER)
    client.say(b"SUB inbox.* 1\r\n")
    client.say(pub(b"time", b"?", b"inbox.1"))
    service.say(b"SUB time 1\r\n")
    client.say(pub(b"time", b"?", b"inbox.2"))
    service.hear()
    service.say(pub(b"inbox.2", b"noon"))
    client.hear()
    service.leave()
    client.say(b"SUB gone 2\r\nUNSUB 2\r\n")


def headers_for_mixed_receivers(stage: Stage) -> None:
    modern = stage.enter("modern", connect(headers=True))
    plain, sender = stage.enter("plain"), stage.enter("sender", REQUESTER)
    modern.say(b"SUB a.* 1\r\n")
    plain.say(b"SUB a.> 1\r\n")
    for line in [
        hpub(b"a.b", BLOCK, b"x", b"r"), hpub(b"a.b", BLOCK), b"HPUB a.b 0 1\r\nx\r\n",
        b"HPUB a.b 03 005\r\n123hi\r\n", pub(b"a.b", b"y"), hpub(b"a.b", b"junk", b"junk"),
    ]:  # fmt: skip
        sender.say(line)
        modern.hear()
        plain.hear()


def queue_group_shrinks(stage: Stage) -> None:
    last, first, sender = stage.enter("last"), stage.enter("first"), stage.enter("sender")
    last.say(b"SUB job q 1\r\n")
    sender.say(pub(b"job", b"1"))
    last.hear()
    first.say(b"SUB job q 1\r\nUNSUB 1\r\n")
    sender.say(pub(b"job", b"2") * 3)
    first.hear()
    last.hear()
    last.say(b"UNSUB 1 5\r\n")
    sender.say(pub(b"job", b"3") * 3)
    last.hear()


def error_of_one_leaves_others_alone(stage: Stage) -> None:
    bad, good = stage.enter("bad", connect(verbose=True)), stage.enter("good")
    bad.say(b"SUB a 1\r\n")
    good.say(b"SUB a 1\r\n" + pub(b"a", b"1"))
    bad.say(pub(b"a", b"2") + b"FOO\r\n" + pub(b"a", b"3"))
    good.say(pub(b"a", b"4"))


def verbose_and_quiet_share_a_subject(stage: Stage) -> None:
    loud, quiet = stage.enter("loud", b"CONNECT {}\r\n"), stage.enter("quiet")
    loud.say(b"SUB a.* 1\r\n")
    quiet.say(b"SUB a.* 1\r\n")
    loud.say(pub(b"a.*", b"odd"))
    quiet.hear()
    quiet.say(pub(b"a.*", b"odd"))
    loud.hear()


def no_echo_between_two(stage: Stage) -> None:
    opening = connect(echo=False, headers=True, no_responders=True)
    one, two = stage.enter("one", opening), stage.enter("two", opening)
    one.say(b"SUB a 1\r\nSUB r 2\r\n" + pub(b"a", b"alone", b"r"))
    two.say(b"SUB a q 1\r\nSUB r 2\r\n" + pub(b"a", b"from two", b"r"))
    one.hear()
    one.say(pub(b"a", b"from one", b"r"))
    two.hear()


def second_connect_in_the_middle(stage: Stage) -> None:
    client, witness = stage.enter("client"), stage.enter("witness")
    client.say(b"SUB a 1\r\nSUB b q 2\r\n")
    witness.say(pub(b"a") + pub(b"b"))
    client.hear()
    client.say(connect(verbose=True) + b"SUB b 1\r\n")
    witness.say(pub(b"a") + pub(b"b"))
    client.hear()
    client.say(b"CONNECT {]\r\n")
    witness.say(pub(b"b"))


SCENARIOS: list[Scenario] = [
    request_and_reply,
    headers_for_mixed_receivers,
    queue_group_shrinks,
    error_of_one_leaves_others_alone,
    verbose_and_quiet_share_a_subject,
    no_echo_between_two,
    second_connect_in_the_middle,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_scenario(oracle: Server, ours: Server, scenario: Scenario) -> None:
    assert_same(play(scenario, oracle), play(scenario, ours))


TOKENS = [b"a", b"b", b"c", b"*", b">", b"*x", b"", b"\xc3\xa9"]
WEIGHTS = [6, 6, 3, 2, 1, 1, 1, 1]
OPENINGS = [QUIET, connect(verbose=True), REQUESTER, connect(echo=False), connect(headers=True)]


def random_walk(seed: int) -> Scenario:
    """Three connections that subscribe, publish and unsubscribe by chance.

    There are no queue groups in it, because who gets a message is then chance on the server too,
    and nobody is pedantic, because nats-server repeats that error when a publish reaches it in two
    reads.
    """

    def subject(chance: random.Random) -> bytes:
        return b".".join(chance.choices(TOKENS, WEIGHTS, k=chance.randint(1, 3)))

    def line(chance: random.Random) -> bytes:
        sid = chance.randint(1, 6)
        reply = chance.choice([b"", b"", subject(chance)])
        payload = bytes(chance.choices(range(256), k=chance.randint(0, 20)))
        return chance.choice(
            [
                b"SUB %b %d\r\n" % (subject(chance) or b"a", sid),
                b"SUB %b %d\r\n" % (subject(chance) or b"a", sid),
                b"UNSUB %d\r\n" % sid,
                b"UNSUB %d %d\r\n" % (sid, chance.randint(1, 4)),
                pub(subject(chance) or b"a", payload, reply),
                pub(subject(chance) or b"a", payload, reply),
                pub(subject(chance) or b"a", payload, reply),
            ]
        )

    def walk(stage: Stage) -> None:
        chance = random.Random(seed)
        actors = [stage.enter(name, chance.choice(OPENINGS)) for name in ("ann", "bob", "cat")]
        for _ in range(30):
            lines = [line(chance) for _ in range(chance.randint(1, 4))]
            chance.choice(actors).say(b"".join(lines), any_order=True)
            for actor in actors:
                actor.hear(any_order=True)

    return walk


@pytest.mark.parametrize("seed", range(12))
def test_random_walk(oracle: Server, ours: Server, seed: int) -> None:
    walk = random_walk(seed)
    assert_same(play(walk, oracle), play(walk, ours))
