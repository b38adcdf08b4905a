"""How lame duck mode spreads the end of connections, without a server."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from jetstream_py.app.lame_duck import MAX_PAUSE, close_gently
from jetstream_py.server.broker import Broker


class FakeBroker:
    """Sessions, and the times at which they are closed."""

    def __init__(self, count: int, chance: float) -> None:
        self.sessions = {cid: cid for cid in range(5, 5 + count)}
        self.chance = lambda: chance
        self.now = 0.0
        self.closed: dict[int, float] = {}
        self.reasons: set[str] = set()

    def close_session(self, session: int, reason: str) -> None:
        self.closed[session] = self.now
        self.reasons.add(reason)
        del self.sessions[session]

    async def sleep(self, seconds: float) -> None:
        assert 0 < seconds <= MAX_PAUSE
        self.now += seconds

    def run(self, over: float) -> None:
        asyncio.run(close_gently(cast(Broker, self), over, self.sleep))


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
@pytest.mark.parametrize(
    ("count", "over"), [(0, 10.0), (1, 10.0), (3, 110.0), (1000, 110.0), (50_000, 20.0), (7, 0.0)]
)
def test_everyone_is_closed_in_time(count: int, over: float, chance: float) -> None:
    broker = FakeBroker(count, chance)
    broker.run(over)
    assert not broker.sessions
    assert len(broker.closed) == count
    assert broker.now <= over
    assert broker.reasons <= {"Server Shutdown"}


def test_few_clients_do_not_keep_the_operator_waiting() -> None:
    broker = FakeBroker(3, 0.5)
    broker.run(110.0)
    assert broker.now <= 2.0


def test_many_clients_do_not_come_back_at_once() -> None:
    broker = FakeBroker(50_000, 0.5)
    broker.run(20.0)
    second = [at for at in broker.closed.values() if 5.0 <= at < 6.0]
    assert len(second) < 50_000 / 10


def test_who_leaves_meanwhile_is_skipped() -> None:
    broker = FakeBroker(3, 0.5)

    async def leave(seconds: float) -> None:
        broker.sessions.pop(6, None)

    asyncio.run(close_gently(cast(Broker, broker), 10.0, leave))
    assert set(broker.closed) == {5, 7}
