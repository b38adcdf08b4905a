"""`jetstream-py consumer next` and `sub`: messages through a consumer, with acks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final

import click
from nats.aio.msg import Msg

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import DURATION, Command
from jetstream_py.cli.message import (
    PENDING,
    as_json,
    header_pairs,
    origin,
    print_body,
    print_headers,
    status,
)
from jetstream_py.cli.names import consumer_arguments, pick_consumer, pick_stream
from jetstream_py.cli.pull import EXPIRES, Puller
from jetstream_py.migrate.connection import Json

WORDS: Final = {"ack": b"+ACK", "nak": b"-NAK", "term": b"+TERM"}
DONE: Final = {
    "ack": "Acknowledged message",
    "nak": "Refused message",
    "term": "Terminated message",
}


class Desk:
    """Shows messages and tells the server what became of them; waits until it knows."""

    def __init__(self, session: Session, word: str, raw: bool) -> None:
        self._session = session
        self._word = word
        self._raw = raw

    async def handle(self, msg: Msg) -> None:
        self._show(msg)
        if self._word and msg.reply:
            await self._session.ask(msg.reply, WORDS[self._word])
            if not (self._raw or self._session.json):
                show.line(f"{DONE[self._word]}\n")

    def _show(self, msg: Msg) -> None:
        of = origin(msg)
        if self._session.json:
            show.line(json.dumps(as_json(msg)))
        elif self._raw:
            show.raw(msg.data)
        else:
            subject = show.safe(msg.subject)
            more = (
                f" / tries: {of.tries} / cons seq: {of.consumer_seq} / str seq: {of.stream_seq}"
                f" / pending: {of.pending:,}"
                if of
                else ""
            )
            show.line(f"[{datetime.now():%H:%M:%S}] subj: {subject}{more}\n")
            print_headers(header_pairs(msg))
            print_body(msg.data)


@click.command(
    "next",
    cls=Command,
    examples="""jetstream-py consumer next ORDERS WORKER
    jetstream-py consumer next ORDERS WORKER --count 10 --no-ack --raw""",
)
@consumer_arguments
@click.option("--ack", "word", flag_value="ack", default="ack", help="Done (default)")
@click.option("--no-ack", "word", flag_value="", help="Say nothing: it comes again")
@click.option("--nak", "word", flag_value="nak", help="Refused: it comes again at once")
@click.option("--term", "word", flag_value="term", help="Never again")
@click.option("--count", type=click.IntRange(1), default=1, help="How many messages")
@click.option("--wait", type=DURATION, help="How long to wait for them [--timeout]")
@click.option("-r", "--raw", is_flag=True, help="Only bodies")
@connected
async def next_messages(
    session: Session,
    stream: str | None,
    consumer: str | None,
    word: str,
    count: int,
    wait: int | None,
    raw: bool,
) -> None:
    """Fetch messages from a pull CONSUMER of STREAM, and ack them."""
    target = await pick_stream(session, stream)
    name = await pick_consumer(session, target, consumer)
    info = await session.api(f"CONSUMER.INFO.{target}.{name}")
    if info["config"].get("deliver_subject"):
        raise Failure(
            f"{target} > {name} is a push consumer", "`jetstream-py consumer sub` shows it"
        )
    desk = Desk(session, _word(info, word), raw)
    got = 0
    expires = wait or int(session.settings.seconds * units.SECOND)
    async for msg in Puller(session, target, name).batch(count, expires):
        await desk.handle(msg)
        got += 1
    if not got:
        raise Failure(f"no message for {target} > {name} within {units.duration(expires)}")


def _word(info: Json, word: str) -> str:
    """A consumer without acks gets none."""
    return "" if info["config"]["ack_policy"] == "none" else word


@click.command(
    "sub",
    cls=Command,
    examples="""jetstream-py consumer sub ORDERS WORKER
    jetstream-py consumer sub ORDERS MONITOR --no-ack --raw --count 5""",
)
@consumer_arguments
@click.option("--ack/--no-ack", default=True, help="Ack messages")
@click.option("--count", type=click.IntRange(0), default=0, help="End after so many messages")
@click.option("--deliver-group", default="", help="Queue group, when it is not the consumer's")
@click.option("-r", "--raw", is_flag=True, help="Only bodies")
@connected
async def subscribe(
    session: Session,
    stream: str | None,
    consumer: str | None,
    ack: bool,
    count: int,
    deliver_group: str,
    raw: bool,
) -> None:
    """Show messages of CONSUMER of STREAM as they come, push or pull."""
    target = await pick_stream(session, stream)
    name = await pick_consumer(session, target, consumer)
    info = await session.api(f"CONSUMER.INFO.{target}.{name}")
    desk = Desk(session, _word(info, "ack" if ack else ""), raw)
    got = 0
    async for msg in _messages(session, info, deliver_group):
        await desk.handle(msg)
        got += 1
        if got == count:
            return


async def _messages(session: Session, info: Json, group: str) -> AsyncIterator[Msg]:
    config = info["config"]
    if config.get("deliver_subject"):
        async for msg in _pushed(session, config, group or config.get("deliver_group") or ""):
            yield msg
        return
    puller = Puller(session, info["stream_name"], info["name"])
    while True:
        async for msg in puller.batch(1, EXPIRES):  # one at a time: what we fetch we show
            yield msg


async def _pushed(session: Session, config: Json, group: str) -> AsyncIterator[Msg]:
    """Answers flow control; heartbeats are not shown."""
    arrived: asyncio.Queue[Msg] = asyncio.Queue(PENDING)
    await session.subscribe(config["deliver_subject"], queue=group, cb=arrived.put)
    while True:
        msg = await arrived.get()
        if not status(msg):
            yield msg
        elif msg.reply:
            await session.publish(msg.reply)


VERBS: Final = (next_messages, subscribe)
