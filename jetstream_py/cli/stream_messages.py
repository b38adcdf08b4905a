"""`jetstream-py stream view`, `get` and `rmm`: a stream's messages."""

from __future__ import annotations

import base64
import json
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final

import click
from nats.aio.msg import Msg

from jetstream_py.cli import ask, show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.frame import DURATION, Command, force_option
from jetstream_py.cli.message import (
    as_json,
    body_json,
    decoded,
    grouped,
    header_pairs,
    origin,
    print_body,
    print_headers,
)
from jetstream_py.cli.names import pick_stream, stream_argument
from jetstream_py.cli.pull import Reading
from jetstream_py.migrate.connection import Json


@click.command(
    "get",
    cls=Command,
    examples="""jetstream-py stream get ORDERS 42
    jetstream-py stream get ORDERS --last-for orders.new --raw""",
)
@stream_argument
@click.argument("seq", required=False, type=click.IntRange(1))
@click.option("-S", "--last-for", metavar="SUBJECT", help="The newest of a subject")
@click.option("--next-for", metavar="SUBJECT", help="The first of a subject, from SEQ on")
@click.option("-r", "--raw", is_flag=True, help="Only the body")
@connected
async def get(
    session: Session,
    stream: str | None,
    seq: int | None,
    last_for: str | None,
    next_for: str | None,
    raw: bool,
) -> None:
    """Show one message of STREAM, by sequence or subject."""
    name = await pick_stream(session, stream)
    if last_for:
        body: Json = {"last_by_subj": last_for}
    elif next_for:
        body = {"seq": seq or 1, "next_by_subj": next_for}
    else:
        body = {"seq": seq or ask.parsed("Sequence", "SEQ", _sequence, "1")}
    found = (await session.api(f"STREAM.MSG.GET.{name}", body))["message"]
    payload = base64.b64decode(found.get("data", ""))
    pairs = decoded(base64.b64decode(found.get("hdrs", "")))
    if session.json:
        heads = {"headers": grouped(pairs)} if pairs else {}
        fields = {field: found[field] for field in ("subject", "seq", "time")}
        show.data({"stream": name, **fields, **heads, **body_json(payload)})
    elif raw:
        show.raw(payload)
    else:
        subject = show.safe(found["subject"])
        show.line(f"Item: {name}#{found['seq']} received {found['time']} on subject {subject}\n")
        print_headers(pairs)
        print_body(payload)


def _sequence(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ValueError(f"{text!r} is no sequence")
    return int(text)


@click.command(
    "view",
    cls=Command,
    examples="""jetstream-py stream view ORDERS
    jetstream-py stream view ORDERS 5 --id 100 --subject 'orders.*'
    jetstream-py stream view ORDERS --since 10m --json""",
)
@stream_argument
@click.argument("size", type=click.IntRange(1, 1000), default=10)
@click.option("--id", "sequence", type=click.IntRange(1), help="Begin at a sequence")
@click.option("--since", type=DURATION, help="What came in this time")
@click.option("--subject", help="Only messages of a subject")
@click.option("-r", "--raw", is_flag=True, help="Only bodies")
@connected
async def view(
    session: Session,
    stream: str | None,
    size: int,
    sequence: int | None,
    since: int | None,
    subject: str | None,
    raw: bool,
) -> None:
    """Show messages of STREAM, a page of SIZE at a time.

    On a terminal it asks before the next page; a pipe gets all of them.
    """
    name = await pick_stream(session, stream)
    reading = Reading(session, name, [subject] if subject else [], "all", since, sequence)
    shown = 0
    async with aclosing(reading.messages()) as messages:
        async for msg in messages:
            if shown and shown % size == 0 and not _next_page():
                break
            shown += 1
            print_stored(session, msg, raw)
    if not shown and not session.json:
        show.note("No messages")


def _next_page() -> bool:
    if not (ask.possible() and show.terminal()):
        return True
    return ask.text("Next page?", "SIZE", "yes").lower() in ("y", "yes")


def print_stored(session: Session, msg: Msg, raw: bool) -> None:
    of = origin(msg)
    if session.json or of is None:
        show.line(json.dumps(as_json(msg)))
    elif raw:
        show.raw(msg.data)
    else:
        when = datetime.fromtimestamp(of.time / units.SECOND, UTC).astimezone()
        subject = show.safe(msg.subject)
        show.line(f"[{of.stream_seq}] Subject: {subject} Received: {when:%Y-%m-%d %H:%M:%S}")
        print_headers(header_pairs(msg))
        print_body(msg.data)


@click.command("rmm", cls=Command, examples="jetstream-py stream rmm ORDERS 42 -f")
@stream_argument
@click.argument("seq", required=False, type=click.IntRange(1))
@click.option("--erase/--no-erase", default=True, help="Overwrite it on disk")
@force_option
@connected
async def remove_message(
    session: Session, stream: str | None, seq: int | None, erase: bool, force: bool
) -> None:
    """Remove one message of STREAM."""
    name = await pick_stream(session, stream)
    wanted = seq or ask.parsed("Sequence", "SEQ", _sequence, "1")
    ask.confirm(f"Really remove message {wanted} from stream {name}?", force)
    body = {"seq": wanted, "no_erase": not erase}
    answer = await session.api(f"STREAM.MSG.DELETE.{name}", body)
    if session.json:
        show.data(answer)
    else:
        show.line(f"Removed message {wanted} from {name}")


VERBS: Final = (view, get, remove_message)
