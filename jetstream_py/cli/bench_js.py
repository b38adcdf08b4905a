"""Benchmarks of streams and buckets."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

import click
import uvloop

from jetstream_py import kv as views
from jetstream_py.cli.bench_load import Load, Requester, Tally, run
from jetstream_py.cli.bench_options import load_options, loaded, store_options
from jetstream_py.cli.bench_report import print_result
from jetstream_py.cli.bench_wire import Link
from jetstream_py.cli.frame import Group
from jetstream_py.cli.message import check_subject
from jetstream_py.cli.views import View, viewing
from jetstream_py.js.errors import StreamNotFound
from jetstream_py.migrate.connection import Json

timed: Final[Callable[..., Any]] = functools.partial(viewing, loop=uvloop.run)
WINDOW: Final = 500  # publishes without an ack, as the nats command has it
EXPIRES: Final = 30 * 10**9
KEYS: Final = 1000


@asynccontextmanager
async def lent(view: View, name: str, config: Json, keep: bool) -> AsyncIterator[None]:
    """A stream that is there, or one for the time of the benchmark."""
    try:
        await view.js.stream_info(name)
        made = False
    except StreamNotFound:
        await view.js.create_stream(config)
        made = True
    try:
        yield
    finally:
        if made and not keep:
            await view.js.delete_stream(name)


@click.group("js", cls=Group)
def js() -> None:
    """Streams: publishes with their acks, reading by pull."""


@js.command(
    "pub",
    examples="""jetstream-py bench js pub bench.test --msgs 100k
    jetstream-py bench js pub orders.new --stream ORDERS --window 1""",
)
@click.argument("subject")
@click.option("--window", type=click.IntRange(1), default=WINDOW, show_default=True)
@store_options("stream", "BENCH")
@load_options()
@timed
async def pub(
    view: View, subject: str, window: int, stream: str, keep: bool, storage: str, **given: Any
) -> None:
    """Publish to a stream, with at most --window messages on their way to an ack in each client."""
    check_subject(subject)
    load = loaded(view, given)
    config = {"name": stream, "subjects": [subject], "storage": storage}
    async with lent(view, stream, config, keep):
        name = subject.encode()
        await _requests(view, load, "JetStream publisher", "acks", window, lambda number: name)


async def _requests(
    view: View,
    load: Load,
    title: str,
    latency_of: str,
    window: int,
    subject: Callable[[int], bytes],
    body: bytes | None = None,
) -> None:
    """Requests whose subject follows their number."""
    payload = load.payload if body is None else body

    async def play(link: Link, share: int, tally: Tally) -> None:
        requests: Iterator[tuple[bytes, bytes]] = (
            (subject(number), payload) for number in range(share)
        )
        await Requester(link, tally, view.new_inbox(), window).play(requests, load.size)

    print_result(await run(load, title, latency_of, play), view.json)


@js.command("fetch", examples="jetstream-py bench js fetch --stream ORDERS --msgs 100k --batch 500")
@click.option("--batch", type=click.IntRange(1), default=WINDOW, show_default=True)
@click.option("--acks", type=click.Choice(["none", "explicit"]), default="explicit")
@store_options("stream", "BENCH")
@load_options()
@timed
async def fetch(
    view: View, batch: int, acks: str, stream: str, keep: bool, storage: str, **given: Any
) -> None:
    """Read a stream by pull requests; it has to hold --msgs messages. Latencies are those of batches."""
    load = loaded(view, given)
    await view.js.stream_info(stream)
    config = {"ack_policy": acks, "inactive_threshold": 2 * EXPIRES, "max_ack_pending": -1}
    made = await view.api(f"CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": config})
    subject = f"{view.prefix}CONSUMER.MSG.NEXT.{stream}.{made['name']}"

    async def play(link: Link, share: int, tally: Tally) -> None:
        await _pull(link, share, tally, subject, view.new_inbox(), batch, acks == "explicit")

    try:
        result = await run(load, "JetStream fetch", "batches", play)
    finally:
        await view.api(f"CONSUMER.DELETE.{stream}.{made['name']}")
    print_result(result, view.json)


async def _pull(
    link: Link, share: int, tally: Tally, subject: str, inbox: str, batch: int, acks: bool
) -> None:
    await link.subscribe(inbox)
    left = share
    while left > 0:
        size = min(batch, left)
        body = json.dumps({"batch": size, "expires": EXPIRES}).encode()
        begin = time.perf_counter()
        await link.send(
            b"PUB %b %b %d\r\n%b\r\n" % (subject.encode(), inbox.encode(), len(body), body)
        )
        got = 0
        while got < size:
            block = []
            for frames in await link.receive():
                if frames.payload.startswith((b"NATS/1.0 4", b"NATS/1.0 5")):
                    tally.failed(frames.payload)
                    return
                got += frames.times
                tally.add(frames.times, frames.times * frames.size)
                if acks:
                    block.append(b"PUB %b 0\r\n\r\n" % frames.reply)
            if block:
                await link.send(b"".join(block))
        tally.latencies.append(time.perf_counter() - begin)
        left -= size


@click.group("kv", cls=Group)
def kv() -> None:
    """Buckets: puts, and gets of single keys."""


@kv.command("put", examples="jetstream-py bench kv put --msgs 100k --keys 5000")
@click.option("--window", type=click.IntRange(1), default=WINDOW, show_default=True)
@click.option("--keys", type=click.IntRange(1), default=KEYS, show_default=True)
@store_options("bucket", "BENCH")
@load_options()
@timed
async def put(
    view: View, window: int, keys: int, bucket: str, keep: bool, storage: str, **given: Any
) -> None:
    """Set keys of a bucket."""
    load = loaded(view, given)
    async with lent(view, f"KV_{bucket}", _bucket(bucket, storage), keep):
        names = [f"$KV.{bucket}.key-{number}".encode() for number in range(keys)]
        await _requests(view, load, "KV put", "puts", window, lambda at: names[at % keys])


@kv.command("get", examples="jetstream-py bench kv get --msgs 100k --window 10")
@click.option("--window", type=click.IntRange(1), default=WINDOW, show_default=True)
@click.option("--keys", type=click.IntRange(1), default=KEYS, show_default=True)
@store_options("bucket", "BENCH")
@load_options()
@timed
async def get(
    view: View, window: int, keys: int, bucket: str, keep: bool, storage: str, **given: Any
) -> None:
    """Get keys of a bucket; they are set before, where they have no value."""
    load = loaded(view, given)
    async with lent(view, f"KV_{bucket}", _bucket(bucket, storage), keep):
        opened = await views.open_bucket(view.js, bucket)
        names = [f"key-{number}" for number in range(keys)]
        there = await opened.get_many(names)
        for name in names:
            if name not in there:
                await opened.put(name, load.payload)
        api = f"{view.prefix}DIRECT.GET.KV_{bucket}.$KV.{bucket}."
        subjects = [(api + name).encode() for name in names]
        await _requests(view, load, "KV get", "gets", window, lambda at: subjects[at % keys], b"")


def _bucket(name: str, storage: Any) -> Json:
    return views.Bucket(name, storage=storage).stream()
