"""In which order the subscriptions of one connection hear a message that several of them match."""

from __future__ import annotations

import itertools

import pytest

from tests.differential.transcript import Stage, assert_same, play
from tests.support.server import Server
from tests.support.wire import REQUESTER, pub

# No other test names this subject: nats-server remembers who matched what was published before, and
# puts later subscriptions behind.
FILTERS = [b"*.*", b"hear.*", b"hear.order", b"*.order", b">", b"hear.>", b"*.>"]
PAIRS = list(itertools.permutations(FILTERS, 2))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: b",".join(pair).decode())
def test_order_of_deliveries(oracle: Server, ours: Server, pair: tuple[bytes, bytes]) -> None:
    def story(stage: Stage) -> None:
        client = stage.enter("client", REQUESTER)
        client.say(b"SUB %b 1\r\nSUB %b 2\r\n" % pair)
        client.say(pub(b"hear.order", b"x"))
        client.say(pub(b"nobody", b"", b"hear.order"))  # the 503 goes to one of them

    assert_same(play(story, oracle), play(story, ours))
