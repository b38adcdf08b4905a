"""`jetstream-py events`: what servers tell of their own accord, a line for each."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, Final

import click

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.frame import Command
from jetstream_py.cli.sub import live

ADVISORIES: Final = "$JS.EVENT.ADVISORY.>"
METRICS: Final = "$JS.EVENT.METRIC.>"
AUDIT: Final = "$JS.EVENT.ADVISORY.API"  # each request: only for those who want to see all
SYSTEM: Final = (
    "$SYS.ACCOUNT.*.CONNECT",
    "$SYS.ACCOUNT.*.DISCONNECT",
    "$SYS.SERVER.*.CLIENT.AUTH.ERR",
    "$SYS.SERVER.*.LAMEDUCK",
    "$SYS.SERVER.*.SHUTDOWN",
)
# What a line tells of an event, if it is there: its name, the way to it.
PARTS: Final = (
    ("", "action"),
    ("stream", "stream"),
    ("consumer", "consumer"),
    ("group", "group"),
    ("subject", "subject"),
    ("stream_seq", "stream_seq"),
    ("consumer_seq", "consumer_seq"),
    ("deliveries", "deliveries"),
    ("ack_time", "ack_time"),
    ("paused", "paused"),
    ("pause_until", "pause_until"),
    ("batch", "batch"),
    ("dropped", "dropped"),
    ("account", "client.acc"),
    ("user", "client.user"),
    ("client", "client.name"),
    ("host", "client.host"),
    ("cid", "client.id"),
    ("reason", "reason"),
    ("error", "error"),
    ("server", "server.name"),
    ("domain", "domain"),
)


def _compiled(ctx: click.Context, param: click.Parameter, value: str) -> re.Pattern[str]:
    try:
        return re.compile(value)
    except re.error as error:
        raise click.BadParameter(f"no regular expression: {error}") from None


@click.command(
    "events",
    cls=Command,
    examples="""jetstream-py events
    jetstream-py events --all --filter ORDERS
    jetstream-py events --creds sys.creds --json | jq .type""",
)
@click.option("-a", "--all", "everything", is_flag=True, help="Metrics and API requests, too")
@click.option("--js-advisory/--no-js-advisory", default=True, help="Streams and consumers [yes]")
@click.option("--js-metric", is_flag=True, help="Samples of acks")
@click.option("--srv-advisory/--no-srv-advisory", default=True, help="Clients and servers [yes]")
@click.option("--subjects", multiple=True, metavar="SUBJECT", help="These subjects instead")
@click.option(
    "--filter",
    "wanted",
    default="",
    metavar="REGEX",
    callback=_compiled,
    help="Events that hold this",
)
@click.option("--count", type=click.IntRange(1), help="End after so many")
@connected
async def command(
    session: Session,
    everything: bool,
    js_advisory: bool,
    js_metric: bool,
    srv_advisory: bool,
    subjects: tuple[str, ...],
    wanted: re.Pattern[str],
    count: int | None,
) -> None:
    """Show advisories of streams and consumers, and what servers tell the system account.

    Clients that come and go are seen by users of the system account alone. Ctrl-C ends it.
    """
    listened = list(subjects)
    if not listened:
        listened += [ADVISORIES] if js_advisory else []
        listened += [METRICS] if js_metric or everything else []
        listened += SYSTEM if srv_advisory else []
    if not session.json:
        show.note(f"Listening on {', '.join(listened)}")
    seen = 0
    async for msg in live(session, tuple(listened), ""):
        if msg.subject.startswith(AUDIT) and not (everything or subjects):
            continue
        text = msg.data.decode("utf-8", "replace")
        if wanted.search(text):
            seen += 1
            show.line(text_json(msg.subject, text) if session.json else line(msg.subject, text))
        if seen == count:
            return


def text_json(subject: str, text: str) -> str:
    """On one line, whatever came."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return json.dumps({"subject": subject, "data": text}, ensure_ascii=False)


def line(subject: str, text: str) -> str:
    """The time, what it is, and what is known of it."""
    try:
        event = json.loads(text)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        return show.safe(f"[{_clock('')}] {subject}: {text}")
    parts = []
    for name, way in PARTS:
        value = _at(event, way)
        if value not in (None, ""):
            shown = units.duration(value) if name == "ack_time" else show.safe(value)
            parts.append(f"{name}={shown}" if name else shown)
    title = _title(str(event.get("type", "")), subject)
    return show.safe(f"[{_clock(str(event.get('timestamp', '')))}] {title}: {' '.join(parts)}")


def _title(kind: str, subject: str) -> str:
    """`io.nats.jetstream.advisory.v1.stream_action` → Stream Action."""
    words = kind.rpartition(".")[2] if kind else subject.rpartition(".")[2].lower()
    return words.replace("_", " ").title()


def _clock(stamp: str) -> str:
    when = units.parse_stamp(stamp) if stamp else datetime.now(UTC)
    return f"{(when or datetime.now(UTC)).astimezone():%H:%M:%S}"


def _at(event: dict[str, Any], way: str) -> Any:
    found: Any = event
    for name in way.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str | int | float) else None
