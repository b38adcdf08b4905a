"""Several accounts on one store."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest

from jetstream_py.app.failure import StartError
from jetstream_py.config.account_options import StreamLimits
from jetstream_py.engine.engine import Stored
from jetstream_py.engine.quota import Tally
from jetstream_py.store import Store
from tests.engine.crowd import FREE, Crowd
from tests.engine.world import World

BOTH = {"A": FREE, "B": FREE}
CONSUMER = {"stream_name": "S", "config": {"durable_name": "C", "ack_policy": "explicit"}}


def test_one_commit_for_all_accounts(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, BOTH)
    for user in BOTH:
        crowd.create(user, "S", subjects=["s"])
    before = crowd.store.commits
    for user in BOTH:
        crowd.client(user).send(b"PUB s _INBOX.a 1\r\n" + user.encode() + b"\r\n")
    crowd.settle()
    assert crowd.store.commits == before + 1
    for user in BOTH:
        assert b'{"stream":"S","seq":1}' in crowd.client(user).read()
    crowd.close()


def test_consumers_wake_for_their_account_only(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, BOTH)
    for user in BOTH:
        crowd.create(user, "S", subjects=["s"])
        crowd.api(user, "CONSUMER.DURABLE.CREATE.S.C", CONSUMER)
        crowd.client(user).send(b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.a 0\r\n\r\n")
    assert b"mine" in crowd.request("A", "s", b"mine")
    assert crowd.client("B").read() == b""
    assert crowd.api("B", "CONSUMER.INFO.S.C")["num_waiting"] == 1
    crowd.close()


@pytest.mark.parametrize("crash", [False, True])
def test_each_account_finds_its_own(tmp_path: Path, crash: bool) -> None:
    crowd = Crowd(tmp_path, BOTH)
    for user in BOTH:
        crowd.create(user, "S", subjects=["s"], description=f"of {user}")
        crowd.ask(user, "s", user.encode())
    crowd.create("B", "only", subjects=["o"])
    crowd.crash() if crash else crowd.close()
    again = Crowd(tmp_path, BOTH)
    assert (again.names("A"), again.names("B")) == (["S"], ["S", "only"])
    for user in BOTH:
        assert again.api(user, "STREAM.INFO.S")["config"]["description"] == f"of {user}"
        found = again.api(user, "STREAM.MSG.GET.S", {"seq": 1})["message"]["data"]
        assert found == {"A": "QQ==", "B": "Qg=="}[user]
    again.close()


def test_streams_from_before_there_were_accounts(tmp_path: Path) -> None:
    """Their record names none: they are the global account's."""
    world = World(tmp_path)
    world.create()
    world.ask("s.a", b"x")
    [sid] = [stream.store.sid for stream in world.js.streams.values()]
    stored = Stored(1, world.js.streams["S"].config)
    record = json.loads(msgspec.json.encode(stored))
    assert record.pop("account") == "$G"
    world.store.save(sid, json.dumps(record).encode())
    world.js.outbox.commit_soon()
    world.close()
    again = World(tmp_path)
    assert again.state()["messages"] == 1
    again.close()
    crowd = Crowd(tmp_path, {"A": FREE})
    assert crowd.names("A") == []
    assert list(crowd.part.engine.parked) == ["$G"]
    crowd.close()


# -- streams without their account -----------------------------------------------------------------


def fill(crowd: Crowd) -> None:
    """Streams in B: on disk, with everything that has a state of its own, and in memory."""
    crowd.create("B", "S", subjects=["s"], allow_msg_ttl=True)
    crowd.create("B", "M", subjects=["m"], storage="memory")
    crowd.api("B", "CONSUMER.DURABLE.CREATE.S.C", CONSUMER)
    for number in range(3):
        crowd.ask("B", "s", b"%d" % number)
    crowd.ask("B", "m", b"x")
    block = b"NATS/1.0\r\nNats-TTL: 10s\r\nNats-Msg-Id: seen\r\n\r\n"
    sizes = b"%d %d" % (len(block), len(block))
    crowd.client("B").send(b"HPUB s _INBOX.a %b\r\n%b\r\n" % (sizes, block))
    crowd.request("B", "$JS.API.CONSUMER.MSG.NEXT.S.C", b'{"batch":2}')
    crowd.settle()


def whole(crowd: Crowd) -> None:
    """B is as `fill` left it."""
    assert crowd.names("B") == ["S"]
    assert crowd.api("B", "STREAM.INFO.S")["state"]["messages"] == 4
    consumer = crowd.api("B", "CONSUMER.INFO.S.C")
    assert (consumer["num_ack_pending"], consumer["num_pending"]) == (2, 2)
    assert crowd.ask("B", "s", b"new") == {"stream": "S", "seq": 5}
    timers = crowd.bench.broker.timers
    for _ in range(48):
        crowd.bench.clock.advance(0.25)
        timers.run_due()
    crowd.settle()
    assert crowd.api("B", "STREAM.INFO.S")["state"]["messages"] == 4  # the TTL is known, too


def test_an_account_loses_jetstream_and_gets_it_back(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, BOTH)
    fill(crowd)
    crowd.reload({"A": FREE, "B": None})
    assert crowd.api("B", "INFO")["error"]["err_code"] == 10039
    assert b" 503\r\n" in crowd.request("B", "s", b"x")
    assert list(crowd.part.accounts) == ["A"]
    crowd.reload(BOTH)
    whole(crowd)
    crowd.close()


def test_an_account_goes_and_comes_back(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, BOTH)
    fill(crowd)
    crowd.reload({"A": FREE})
    assert [part.js.account for part in crowd.part.accounts.values()] == ["A"]
    crowd.reload(BOTH)
    whole(crowd)
    crowd.close()


def test_a_start_without_the_account(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, BOTH)
    fill(crowd)
    crowd.crash()
    for limits in ({"A": FREE}, {"A": FREE, "B": None}):
        without = Crowd(tmp_path, limits)
        assert [each.stored.config.name for each in without.part.engine.parked["B"]] == ["S"]
        assert without.create("A", "S", subjects=["s"])["config"]
        without.close()
    again = Crowd(tmp_path, BOTH)
    assert again.names("A") == ["S"]
    assert again.part.engine.parked == {}
    again.close()


def test_what_was_changed_comes_back_changed(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, BOTH)
    crowd.create("B", "S", subjects=["s"])
    crowd.reload({"A": FREE, "B": None})
    crowd.reload(BOTH)
    changed = {"name": "S", "subjects": ["other"], "description": "changed"}
    assert "error" not in crowd.api("B", "STREAM.UPDATE.S", changed)
    crowd.reload({"A": FREE, "B": None})
    crowd.reload(BOTH)
    assert crowd.api("B", "STREAM.INFO.S")["config"]["description"] == "changed"
    assert crowd.ask("B", "other", b"x") == {"stream": "S", "seq": 1}
    crowd.close()


def test_requests_that_wait_when_jetstream_goes(tmp_path: Path) -> None:
    """Commits and deliveries under way do no harm."""
    crowd = Crowd(tmp_path, BOTH)
    crowd.create("B", "S", subjects=["s"])
    crowd.api("B", "CONSUMER.DURABLE.CREATE.S.C", CONSUMER)
    crowd.client("B").send(b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.a 0\r\n\r\n")
    crowd.client("B").send(b"PUB s _INBOX.a 1\r\nx\r\n" * 100)
    crowd.reload({"A": FREE, "B": None})
    crowd.reload(BOTH)
    assert crowd.client("B").read().count(b'"seq":') == 100
    assert crowd.api("B", "STREAM.INFO.S")["state"]["messages"] == 100
    assert b"MSG s " in crowd.request("B", "$JS.API.CONSUMER.MSG.NEXT.S.C")
    crowd.close()


def test_purge_of_what_an_account_left_behind(tmp_path: Path) -> None:
    """Nothing of it stays in the store, not even the records of its consumers."""
    crowd = Crowd(tmp_path, BOTH)
    fill(crowd)
    crowd.reload({"A": FREE})
    crowd.part._parts["$SYS"].api.request(b"$JS.API.ACCOUNT.PURGE.B", b"", b"", b"", None)
    crowd.settle()
    assert crowd.part.engine.parked == {}
    assert crowd.store.meta_items(b"") == []
    crowd.close()
    assert Store(str(tmp_path), lambda action: None).streams() == {}


# -- limits ----------------------------------------------------------------------------------------


def test_accounts_share_what_the_server_has(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, BOTH, {"max_memory_store": 1000, "max_file_store": 1000})
    for storage, refusal in (("memory", 10028), ("file", 10047)):
        first = crowd.create("A", storage, storage=storage, max_bytes=600)
        assert "error" not in first
        second = crowd.create("B", storage, storage=storage, max_bytes=401)
        assert second["error"]["err_code"] == refusal
        assert "error" not in crowd.create("B", storage, storage=storage, max_bytes=400)
    crowd.close()


def test_the_bytes_of_one_account_are_not_those_of_another(tmp_path: Path) -> None:
    limits = StreamLimits(max_store=200, max_memory=200)
    crowd = Crowd(tmp_path, {"A": limits, "B": limits})
    for user in ("A", "B"):
        for storage in ("file", "memory"):
            crowd.create(user, storage, subjects=[storage], storage=storage)
            answer = crowd.ask(user, storage, b"x" * 150)
            assert answer == {"stream": storage, "seq": 1}
            assert crowd.ask(user, storage, b"x" * 50)["error"]["err_code"] == 10002
    assert crowd.part.engine.used("file") == 2 * (4 + 150 + 30)
    crowd.close()


def test_a_run_is_cut_where_the_account_is_full(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, {"A": StreamLimits(max_store=31 * 7)})
    crowd.create("A", "s")
    crowd.client("A").send(b"PUB s _INBOX.a 0\r\n\r\n" * 10)
    crowd.settle()
    answers = crowd.client("A").read()
    assert answers.count(b'"seq":0') == 3
    assert crowd.api("A", "STREAM.INFO.s")["state"]["messages"] == 7
    crowd.close()


def test_streams_that_are_gone_are_not_counted(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, {"A": StreamLimits(max_store=100)}, {"max_file_store": 1000})
    for number in range(20):
        crowd.create("A", f"S{number}", subjects=["s"])
        assert crowd.ask("A", "s", b"x" * 69) == {"stream": f"S{number}", "seq": 1}
        crowd.api("A", f"STREAM.DELETE.S{number}")
    js = crowd.part.accounts["A"].js
    assert js._quota._own._seen == crowd.part.engine.tally._seen == {}
    crowd.close()


def test_promises_above_what_the_server_has(tmp_path: Path) -> None:
    half = StreamLimits(max_store=501)
    with pytest.raises(StartError, match="insufficient storage resources available"):
        Crowd(tmp_path, {"A": half, "B": half}, {"max_file_store": 1000})


class _Config:
    def __init__(self, storage: str) -> None:
        self.storage = storage


class _Bytes:
    bytes = 0


class FakeStream:
    """As much of a stream as is counted."""

    def __init__(self, storage: str) -> None:
        self.config = _Config(storage)
        self.store = _Bytes()


@pytest.mark.parametrize("seed", range(20))
def test_the_tally_is_never_wrong(seed: int) -> None:
    """Against sums that are made anew each time, while streams grow, shrink, come and go."""
    chance = random.Random(seed)
    streams = [FakeStream(chance.choice(("file", "memory"))) for _ in range(4)]
    tally = Tally(lambda: streams)  # type: ignore[arg-type, return-value]
    for _ in range(500):
        stream = chance.choice(streams)
        used = sum(
            each.store.bytes for each in streams if each.config.storage == stream.config.storage
        )
        size = chance.randrange(50)
        fits = used + size <= 300
        assert tally.takes(stream, size, 300) is fits  # type: ignore[arg-type]
        if fits:
            stream.store.bytes += size
        if chance.random() < 0.3:
            stream.store.bytes = chance.randrange(stream.store.bytes + 1)
        if chance.random() < 0.05:
            streams.remove(stream)
            tally.forget(stream)  # type: ignore[arg-type]
            streams.append(FakeStream(chance.choice(("file", "memory"))))
