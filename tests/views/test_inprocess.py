"""Without a connection: the account is the bound, and what was acked survives."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats
import pytest

from jetstream_py import kv
from jetstream_py.app import inprocess
from tests.engine.world import World
from tests.views.meeting import Inside
from tests.views.place import Place

ACCOUNTS = """
accounts {
  A { jetstream: enabled, users: [{user: a, password: a}] }
  B { jetstream: enabled, users: [{user: b, password: b}] }
}
"""


def test_a_bucket_is_of_its_account(tmp_path: Path) -> None:
    async def play() -> None:
        server = Inside(tmp_path, ACCOUNTS)
        await server.start()
        broker = server.app.broker
        a, b = (inprocess.jetstream(broker, name) for name in "AB")
        bucket = await kv.create_bucket(a, "secret")
        await bucket.put("key", b"of a")
        assert await kv.list_buckets(b) == []
        with pytest.raises(kv.BucketNotFound):
            await kv.open_bucket(b, "secret")
        await (await kv.create_bucket(b, "secret")).put("key", b"of b")
        address = server.url.removeprefix("nats://")
        for user in "ab":
            connection = await nats.connect(f"nats://{user}:{user}@{address}")
            seen = await (await connection.jetstream().key_value("secret")).get("key")
            assert seen.value == b"of " + user.encode()
            await connection.close()
        await server.close()

    asyncio.run(asyncio.wait_for(play(), 30))


def test_what_was_acked_survives_and_what_is_seen_is_committed(tmp_path: Path) -> None:
    world = World(tmp_path)
    place = Place(world)
    run = world.bench.loop.run_until_complete
    bucket = run(kv.create_bucket(place.js, "b"))

    async def race() -> None:
        write = asyncio.create_task(bucket.put("a", b"acked"))
        read = asyncio.create_task(bucket.get("a"))
        await asyncio.sleep(0)
        assert world.store.dirty  # staged, visible to the engine, and not told to anybody
        assert not read.done()
        await write
        assert (await read).value == b"acked"

    run(asyncio.wait_for(race(), 30))
    world.crash()
    again = World(tmp_path)
    try:
        found = again.bench.loop.run_until_complete(kv.open_bucket(Place(again).js, "b"))
        entry = again.bench.loop.run_until_complete(found.get("a"))
        assert (entry.value, entry.revision) == (b"acked", 1)
    finally:
        again.close()
