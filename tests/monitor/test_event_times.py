"""When events come by themselves, on a clock that tests turn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import pytest

from jetstream_py.config.account_options import AccountOptions, User
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.secret import Secret
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.system import System
from jetstream_py.server.system.events import next_statistics
from tests.server.harness import Bench, Client
from tests.support.wire import connect, frames

USERS = (
    User(name="s", password=Secret("s"), account="$SYS"),
    User(name="a", password=Secret("a"), account="A"),
)


class World(Bench):
    def __init__(self) -> None:
        accounts = (AccountOptions("A"), AccountOptions("$SYS"))
        super().__init__(Options(accounts=accounts, authorization=Authorization(users=USERS)))
        self.system = System(self.broker, MonitorState(), lambda: "")

    def login(self, user: str) -> Client:
        return self.client(connect(user=user, **{"pass": user}))

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.broker.timers.run_due()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


def subjects(client: Client) -> list[str]:
    """Of the messages that came, the server's id left out."""
    data = client.read()
    found = [frame.split()[1].decode() for frame in frames(data) if frame.startswith(b"MSG")]
    return [subject.replace(client.bench.broker.server_id, "ID") for subject in found]


def test_statistics_of_a_young_server_come_close_together() -> None:
    ages = list(accumulate(range(9), lambda age, _: next_statistics(age), initial=0.0))[1:9]
    assert ages == [0.25, 1.25, 3.25, 7.25, 15.25, 25.25, 35.25, 45.25]
    assert next_statistics(1e9) == 1e9 + 5.25


def test_statistics_follow_the_schedule(world: World) -> None:
    listener = world.login("s")
    listener.ask(b"SUB $SYS.SERVER.*.STATSZ 1\r\n")
    came = []
    for _ in range(4 * 26):
        world.wait(0.25)
        came += [(world.clock.now_ns() - world.broker.started_ns) / 1e9] * len(subjects(listener))
    assert came == [0.25, 1.25, 3.25, 7.25, 15.25, 25.25]


def test_an_old_server_goes_on_with_its_schedule(world: World) -> None:
    world.wait(1000.0)
    listener = world.login("s")
    listener.ask(b"SUB $SYS.SERVER.*.STATSZ 1\r\n")
    world.wait(5.0)
    assert subjects(listener) == []
    world.wait(0.25)  # 15.25 + 99 * 10 seconds after the start
    assert subjects(listener) == ["$SYS.SERVER.ID.STATSZ"]


def test_connections_of_an_account_are_told_again(world: World) -> None:
    listener = world.login("s")
    listener.ask(b"SUB $SYS.ACCOUNT.A.SERVER.CONNS 1\r\n")
    first = world.login("a")
    assert subjects(listener) == ["$SYS.ACCOUNT.A.SERVER.CONNS"]
    world.wait(20.0)
    second = world.login("a")
    assert len(subjects(listener)) == 1
    world.wait(20.0)  # 30 seconds count from the last time
    assert subjects(listener) == []
    world.wait(10.0)
    assert len(subjects(listener)) == 1
    for client in (first, second):
        client.drop()
    assert len(subjects(listener)) == 2
    world.wait(100.0)
    assert subjects(listener) == []


def test_without_connections_there_is_no_timer(world: World) -> None:
    client = world.login("a")
    client.drop()
    world.wait(100.0)
    world.wait(100.0)
    assert world.broker.timers.next_due() is None


def test_nothing_is_written_for_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(System, "_notices", property(lambda self: pytest.fail("written")))
    client = world.login("a")
    client.drop()
    stranger = Client(world)
    stranger.send(connect(user="x", **{"pass": "y"}))
    world.wait(100.0)
    world.system.events.lame_duck()
    world.system.events.shutdown()


def test_a_new_account_is_served_after_a_reload(world: World) -> None:
    options = Options(
        accounts=(AccountOptions("A"), AccountOptions("B"), AccountOptions("$SYS")),
        authorization=Authorization(
            users=(*USERS, User(name="b", password=Secret("b"), account="B"))
        ),
    )
    world.broker.apply(options)
    world.system.attach()
    client = world.login("b")
    client.ask(b"SUB inbox 1\r\n")
    answer = client.ask(b"PUB $SYS.REQ.USER.INFO inbox 0\r\n\r\n")
    assert b'"data":{"user":"b","account":"B","account_name":"B"}' in answer
