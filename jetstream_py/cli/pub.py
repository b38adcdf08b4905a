"""`jetstream-py pub`: publish, with templates, from standard input, with PubAcks."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import click

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.failure import api_failure
from jetstream_py.cli.frame import DURATION, Command
from jetstream_py.cli.message import Requests, header_block, publish
from jetstream_py.cli.templates import expand

FEW: Final = 20  # messages that get a line each; more of them a bar and a sum

NO_STREAM: Final = (
    "no stream takes this subject; `jetstream-py stream ls` shows the streams there are"
)

Decorator = Callable[[Any], Any]


class Times(click.IntRange):
    """How often; -1 has no end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return -1 if value in (-1, "-1") else super().convert(value, param, ctx)


@dataclass(frozen=True)
class Body:
    """What to send, from the line or from standard input."""

    text: str | None
    newline: bool
    templates: bool

    def payloads(self, count: int) -> Iterator[bytes]:
        """`count` times the body (-1: for ever), or each line of standard input `count` times."""
        if self.text is None and self.newline:
            for number, line in enumerate(sys.stdin.buffer, 1):
                for _ in range(abs(count)):
                    yield self._expanded(line.rstrip(b"\r\n"), number)
            return
        body = _stdin() if self.text is None else self.text.encode("utf-8", "surrogateescape")
        for number in itertools.count(1) if count < 0 else range(1, count + 1):
            yield self._expanded(body, number)

    def _expanded(self, body: bytes, number: int) -> bytes:
        if not self.templates or b"{{" not in body:
            return body
        return expand(body.decode("utf-8", "surrogateescape"), number).encode(
            "utf-8", "surrogateescape"
        )


def _stdin() -> bytes:
    if sys.stdin.isatty():
        show.note("Reading the body from standard input, Ctrl-D ends it")
    return sys.stdin.buffer.read()


def body_options(function: Any) -> Any:
    """What `pub` and `request` take alike."""
    options: list[Decorator] = [
        click.argument("subject"),
        click.argument("body", required=False),
        click.option(
            "-H", "--header", multiple=True, metavar="K:V", help="Header; may be repeated"
        ),
        click.option("--count", type=Times(1), default=1, help="How many messages; -1: no end"),
        click.option(
            "--send-on",
            type=click.Choice(["eof", "newline"]),
            default="eof",
            help="Standard input as one message, or a message for each line",
        ),
        click.option(
            "--templates/--no-templates", default=True, help="Expand {{Count}} and the like"
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


TEMPLATES: Final = """Without BODY it comes from standard input. Body and headers may hold templates:

\b
  {{Count}}           number of the message
  {{TimeStamp}}       time as 2026-01-31T10:00:00Z
  {{Time}}            time as 10:00AM
  {{Unix}}            seconds since 1970
  {{UnixNano}}        nanoseconds since 1970
  {{ID}}              a unique id
  {{Random MIN MAX}}  letters and digits, MIN to MAX of them"""


@click.command(
    "pub",
    cls=Command,
    aliases=("publish",),
    help=f"Publish messages to SUBJECT.\n\n{TEMPLATES}",
    examples="""jetstream-py pub orders.new 'a book'
    jetstream-py pub orders.new 'order {{Count}} at {{TimeStamp}}' --count 10 --sleep 1s
    jetstream-py pub orders.new -H Nats-Msg-Id:42 -J 'a book'
    jetstream-py pub files.log --send-on newline < access.log""",
)
@body_options
@click.option("--reply", default="", metavar="SUBJECT", help="Where answers shall go")
@click.option("--sleep", type=DURATION, default=0, metavar="DURATION", help="Wait between messages")
@click.option("-J", "--jetstream", is_flag=True, help="Wait until a stream has stored each message")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when it went well")
@connected
async def command(
    session: Session,
    subject: str,
    body: str | None,
    header: tuple[str, ...],
    count: int,
    send_on: str,
    templates: bool,
    reply: str,
    sleep: int,
    jetstream: bool,
    quiet: bool,
) -> None:
    if jetstream and reply:
        raise click.UsageError("--reply and --jetstream exclude each other: the ack is the reply")
    publisher = Publisher(session, jetstream, quiet, single=count <= FEW and send_on == "eof")
    await publisher.open()
    source = Body(body, send_on == "newline", templates)
    total = count if send_on == "eof" and count > 0 else None
    with show.progress(f"Publishing to {subject}", total) as advance:
        for number, payload in enumerate(source.payloads(count), 1):
            if sleep and number > 1:
                await asyncio.sleep(sleep / units.SECOND)
            heads = header_block([expand(text, number) if templates else text for text in header])
            to = expand(subject, number) if templates else subject
            await publisher.send(to, reply, heads, payload)
            if not publisher.single:
                advance(number)
    await session.flush(timeout=10)
    publisher.sum_up(subject)


class Publisher:
    """Sends, and says what became of it."""

    def __init__(self, session: Session, jetstream: bool, quiet: bool, single: bool) -> None:
        self._session = session
        self._jetstream = jetstream
        self._quiet = quiet
        self.single = single
        self._requests = Requests(session)
        self._sent = self._bytes = 0

    async def open(self) -> None:
        if self._jetstream:
            await self._requests.open()

    async def send(self, subject: str, reply: str, block: bytes, payload: bytes) -> None:
        size = len(payload)
        told: dict[str, object] = {"subject": subject, "size": size}
        if self._jetstream:
            answer = await self._requests.one(subject, block, payload, NO_STREAM)
            ack = json.loads(answer.data)
            if error := ack.get("error"):
                raise api_failure(
                    error.get("code", 0), error.get("err_code", 0), error.get("description", "")
                )
            told |= ack
        else:
            await publish(self._session, subject, reply, block, payload)
        self._sent += 1
        self._bytes += size
        if self._session.json and not self._quiet:
            show.line(json.dumps(told))
        elif self.single and not self._quiet:
            show.line(f"Published {size:,} bytes to {show.safe(subject)}{_stored(told)}")

    def sum_up(self, subject: str) -> None:
        if not (self.single or self._quiet or self._session.json):
            size = units.size(self._bytes)
            show.line(f"Published {self._sent:,} messages ({size}) to {show.safe(subject)}")


def _stored(ack: dict[str, object]) -> str:
    if "stream" not in ack:
        return ""
    again = ", a duplicate" if ack.get("duplicate") else ""
    return f", stored in {ack['stream']} as {ack['seq']}{again}"
