"""`jetstream-py sub`: messages as they come, or as a stream has them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from nats.aio.msg import Msg

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.frame import DURATION, Command
from jetstream_py.cli.message import (
    PENDING,
    as_json,
    check_subject,
    header_pairs,
    origin,
    print_body,
    print_headers,
)
from jetstream_py.cli.pull import Reading


@click.command(
    "sub",
    cls=Command,
    aliases=("subscribe",),
    examples="""jetstream-py sub 'orders.>'
    jetstream-py sub 'orders.>' --queue workers --count 10 --raw
    jetstream-py sub 'orders.>' --stream ORDERS --since 1h""",
)
@click.argument("subjects", nargs=-1)
@click.option("--queue", default="", help="Queue group")
@click.option("--count", type=click.IntRange(0), default=0, help="End after so many messages")
@click.option("--wait", type=DURATION, default=0, help="End after so long without a message")
@click.option("-r", "--raw", is_flag=True, help="Only bodies")
@click.option("--headers-only", is_flag=True, help="No bodies")
@click.option("--subjects-only", is_flag=True, help="Only subjects")
@click.option("-t", "--timestamp", is_flag=True, help="With the time of arrival")
@click.option(
    "--dump", type=click.Path(file_okay=False, path_type=Path), help="A file for each body"
)
@click.option("-i", "--inbox", is_flag=True, help="Subscribe to an inbox made for it")
@click.option("--ack/--no-ack", default=False, help="Ack messages of a push consumer")
@click.option("--stream", help="Read a stream")
@click.option("--all", "start", flag_value="all", help="From its first message (default)")
@click.option("--new", "start", flag_value="new", help="What comes from now on")
@click.option("--last", "start", flag_value="last", help="From the last message on")
@click.option("--last-per-subject", "start", flag_value="last_per_subject", help="Newest of each")
@click.option("--since", type=DURATION, help="What came in this time")
@click.option("--start-sequence", type=click.IntRange(1), help="From a sequence on")
@click.option("-T", "--terminate-at-end", is_flag=True, help="End when the stream has no more")
@connected
async def command(
    session: Session,
    subjects: tuple[str, ...],
    queue: str,
    count: int,
    wait: int,
    inbox: bool,
    ack: bool,
    stream: str | None,
    start: str | None,
    since: int | None,
    start_sequence: int | None,
    terminate_at_end: bool,
    **look: Any,
) -> None:
    """Show messages of SUBJECTS, or of a stream."""
    if inbox:
        subjects = (*subjects, session.new_inbox())
    if not subjects and not stream:
        raise click.UsageError("say what to subscribe to: SUBJECTS, --stream or --inbox")
    if stream is None and (start or since or start_sequence or terminate_at_end):
        raise click.UsageError("this is for streams: give --stream, too")
    for subject in subjects:
        check_subject(subject, wildcards=True)
    if stream:
        reading = Reading(session, stream, list(subjects), start or "all", since, start_sequence)
        messages = reading.messages(follow=not terminate_at_end)
        show.note(f"Reading stream {stream}")
    else:
        messages = live(session, subjects, queue)
        show.note(f"Subscribing on {', '.join(subjects)}")
    printer = Printer(session.json, **look)
    async with aclosing(messages):  # a consumer made for it goes before the connection does
        async for msg in until(messages, count, wait):
            printer.show(msg)
            if ack and stream is None and origin(msg):
                await session.publish(msg.reply, b"+ACK")
    await session.flush(timeout=10)


async def live(
    session: Session, subjects: tuple[str, ...], queue: str
) -> AsyncGenerator[Msg, None]:
    arrived: asyncio.Queue[Msg] = asyncio.Queue(PENDING)
    for subject in subjects:
        await session.subscribe(subject, queue=queue, cb=arrived.put)
    await session.flush(timeout=10)
    while True:
        yield await arrived.get()


async def until(messages: AsyncIterator[Msg], count: int, wait: int) -> AsyncIterator[Msg]:
    """As many as wanted, as long as they come."""
    got = 0
    while not count or got < count:
        try:
            timeout = wait / units.SECOND if wait else None
            msg = await asyncio.wait_for(anext(messages), timeout)
        except (TimeoutError, StopAsyncIteration):
            return
        got += 1
        yield msg


class Printer:
    """A message on the screen, in the look that was asked for."""

    def __init__(
        self,
        as_json: bool,
        raw: bool,
        headers_only: bool,
        subjects_only: bool,
        timestamp: bool,
        dump: Path | None,
    ) -> None:
        self._json = as_json
        self._raw = raw
        self._headers_only = headers_only
        self._subjects_only = subjects_only
        self._timestamp = timestamp
        self._dump = dump
        self._number = 0

    def show(self, msg: Msg) -> None:
        self._number += 1
        if self._dump:
            self._dump.mkdir(parents=True, exist_ok=True)
            (self._dump / f"{self._number}.json").write_text(json.dumps(as_json(msg), indent=2))
        if self._json:
            show.line(json.dumps(as_json(msg)))
        elif self._raw:
            show.raw(msg.data)
        elif self._subjects_only:
            show.line(show.safe(msg.subject))
        else:
            self._whole(msg)
        sys.stdout.flush()

    def _whole(self, msg: Msg) -> None:
        when = f" @ {datetime.now():%H:%M:%S.%f}" if self._timestamp else ""
        if of := origin(msg):
            show.line(
                f"[#{self._number}]{when} Received JetStream message: stream: {of.stream} "
                f"seq {of.stream_seq} / subject: {show.safe(msg.subject)}"
            )
        else:
            reply = f" with reply {show.safe(msg.reply)}" if msg.reply else ""
            show.line(f"[#{self._number}]{when} Received on {show.safe(msg.subject)}{reply}")
        print_headers(header_pairs(msg))
        if not self._headers_only:
            print_body(msg.data)
