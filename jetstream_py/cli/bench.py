"""`jetstream-py bench`: how fast a server is, and how long it takes."""

from __future__ import annotations

import asyncio
import functools
import io
import time
from collections.abc import Callable
from typing import Any, Final

import click
import uvloop

from jetstream_py import objstore
from jetstream_py.cli import bench_js, show
from jetstream_py.cli.bench_load import (
    Load,
    Requester,
    Tally,
    answer,
    links,
    publish,
    run,
    subscribe,
    together,
)
from jetstream_py.cli.bench_options import load_options, loaded, store_options
from jetstream_py.cli.bench_report import print_result
from jetstream_py.cli.bench_wire import Link
from jetstream_py.cli.frame import Group
from jetstream_py.cli.message import check_subject
from jetstream_py.cli.views import View, viewing

timed: Final[Callable[..., Any]] = functools.partial(viewing, loop=uvloop.run)


@click.group("bench", cls=Group)
def command() -> None:
    """Measure a server: rates, and latencies by rank.

    The clients are fast ones that do little more than move bytes, all in one process; a figure is that of
    the server as long as `top` shows it busier than them.
    """


for group in (bench_js.js, bench_js.kv):
    command.add_command(group)


@command.command(
    "pub",
    examples="""jetstream-py bench pub test --msgs 1M --size 128
    jetstream-py bench pub test --clients 10 --json""",
)
@click.argument("subject")
@load_options()
@timed
async def pub(view: View, subject: str, **given: Any) -> None:
    """Publish messages without acknowledgements. Latencies are those of blocks of 128 KiB."""
    check_subject(subject)
    load = loaded(view, given)

    async def play(link: Link, share: int, tally: Tally) -> None:
        await publish(link, share, tally, subject, load.payload)

    print_result(await run(load, "Core NATS publisher", "blocks", play), view.json)


@command.command("sub", examples="jetstream-py bench sub test --msgs 1M --clients 4")
@click.argument("subject")
@load_options()
@timed
async def sub(view: View, subject: str, **given: Any) -> None:
    """Receive messages that somebody publishes: each client as many as --msgs."""
    check_subject(subject, wildcards=True)
    load = loaded(view, given)

    async def play(link: Link, share: int, tally: Tally) -> None:
        await subscribe(link, share, tally, subject)

    show.note(f"Subscribing on {subject}; publish there, for example with `jetstream-py bench pub`")
    shares = [load.msgs] * load.clients
    print_result(await run(load, "Core NATS subscriber", "", play, shares), view.json)


@command.command(
    "request",
    examples="""jetstream-py bench request test --echo
    jetstream-py bench request service.echo --msgs 10k --window 100""",
)
@click.argument("subject")
@click.option("--window", type=click.IntRange(1), default=1, help="Requests without an answer [1]")
@click.option("--echo", is_flag=True, help="Answer the requests, too, over another connection")
@load_options()
@timed
async def request(view: View, subject: str, window: int, echo: bool, **given: Any) -> None:
    """Send requests and wait for the answers of whoever listens."""
    check_subject(subject)
    load = loaded(view, given)

    async def play(link: Link, share: int, tally: Tally) -> None:
        frames = ((subject.encode(), load.payload) for _ in range(share))
        await Requester(link, tally, view.new_inbox(), window).play(frames, load.size)

    async with links(load, 1 if echo else 0) as responders:
        ready = asyncio.Event()
        tasks = [asyncio.create_task(answer(link, subject, ready)) for link in responders]
        if tasks:
            await ready.wait()
        try:
            result = await run(load, "Core NATS requests", "requests", play)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    print_result(result, view.json)


@command.group("object", cls=Group)
def objects() -> None:
    """Object stores: whole objects, checked."""


@objects.command("put", examples="jetstream-py bench object put --msgs 20 --size 10MiB")
@store_options("store", "BENCH")
@load_options(msgs=20, size=1024 * 1024)
@timed
async def put(view: View, store: str, keep: bool, storage: Any, **given: Any) -> None:
    """Store objects of --size, one behind the other in each client."""
    await _objects(view, loaded(view, given, True), store, storage, keep, reading=False)


@objects.command("get", examples="jetstream-py bench object get --msgs 20 --size 10MiB")
@store_options("store", "BENCH")
@load_options(msgs=20, size=1024 * 1024)
@timed
async def get(view: View, store: str, keep: bool, storage: Any, **given: Any) -> None:
    """Read an object of --size over and over."""
    await _objects(view, loaded(view, given, True), store, storage, keep, reading=True)


async def _objects(
    view: View, load: Load, name: str, storage: Any, keep: bool, reading: bool
) -> None:
    async with bench_js.lent(
        view,
        f"OBJ_{name}",
        objstore.Store(name, storage=storage).stream(),
        keep,
    ):
        store = await objstore.open_store(view.js, name)
        if reading:
            await store.put("bench", load.payload)
        title = f"Object store {'get' if reading else 'put'}"
        with show.progress(title, load.msgs, wanted=load.progress) as advance:
            tally = Tally(advance)
            tally.begin = time.perf_counter()

            async def play(client: int, share: int) -> None:
                for number in range(share):
                    begin = time.perf_counter()
                    if reading:
                        await store.get_into("bench", io.BytesIO())
                    else:
                        await store.put(f"bench-{client}-{number}", load.payload)
                    tally.latencies.append(time.perf_counter() - begin)
                    tally.add(1, load.size)

            await together([play(*each) for each in enumerate(load.shares())])
            result = tally.result(title, load.clients, "objects")
        print_result(result, view.json)
